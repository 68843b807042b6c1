"""A stand-in for the product's command line: `up` is tested with it, without Django's start-up time.

It writes what it was asked into `asked` beside itself; `serve` answers /health/ready until SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

HERE = Path(__file__).parent


class Health(BaseHTTPRequestHandler):
    """Answers 200 to everything, and to /die by dying."""

    def do_GET(self) -> None:
        """Answer, or die."""
        if self.path == "/die":
            os.kill(os.getpid(), signal.SIGKILL)
        self.send_response(200)
        self.end_headers()


def main(arguments: list[str]) -> int:
    """Do as `manage.py` would: migrate and seed end well, serve stays."""
    verb = arguments[0]
    with (HERE / "asked").open("a") as asked:
        asked.write(
            f"{verb} {os.environ['DATABASE_URL']} {os.environ['LIYAGENT_ADMIN_PASSWORD']}\n"
        )
    if verb == "serve":
        server = HTTPServer(("127.0.0.1", int(arguments[2])), Health)
        end = signal.SIG_IGN if (HERE / "deaf").exists() else lambda *_: sys.exit(0)
        signal.signal(signal.SIGTERM, end)
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
