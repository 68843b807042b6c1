"""`python -m liyagent.demo.vendors --port P --ledger DIR`: serve the vendors until SIGTERM.

Prints `ready` on standard output once it listens. A busy port is one line and exit code 1.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from liyagent.demo.vendors.app import build_app

HOST = "127.0.0.1"


class VendorServer(uvicorn.Server):
    """uvicorn that says `ready` and ends with 0 on SIGTERM instead of raising the signal again."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen and say so."""
        await super().startup(sockets=sockets)
        if self.started:
            sys.stdout.write("ready\n")
            sys.stdout.flush()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def main() -> None:
    """Read the command line and serve."""
    options = _options()
    listener = _listen(options.port)
    config = uvicorn.Config(
        build_app(options.ledger, before_ms=options.before_ms, after_ms=options.after_ms),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    asyncio.run(VendorServer(config).serve(sockets=[listener]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m liyagent.demo.vendors", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument(
        "--ledger", type=Path, required=True, help="directory of the vendors' ledgers"
    )
    parser.add_argument(
        "--before-ms", type=float, default=25.0, help="wait before a write takes effect"
    )
    parser.add_argument("--after-ms", type=float, default=25.0, help="wait before it is answered")
    return parser.parse_args()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        sys.exit(f"cannot listen on {HOST}:{port}: {error.strerror}")
    return listener


if __name__ == "__main__":
    main()
