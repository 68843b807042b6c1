"""Whether a port is free, and who has it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection

from liyagent.launcher.errors import PortTaken
from liyagent.launcher.processes import command_of, listener_on

LAST_PORT = 65_535


def check_free(port: int, *, option: str, asked: Collection[int] = ()) -> None:
    """Raise `PortTaken` if something listens on `port`: who does, and which port `option` could name instead.

    None of those `asked` for is proposed.
    """
    reason = _refusal(port)
    if reason is None:
        return
    if reason.errno != errno.EADDRINUSE:
        raise PortTaken(f"port {port} cannot be used ({reason.strerror}); give another: {option}")
    others = (it for it in range(port + 1, LAST_PORT) if it not in asked)
    instead = next((it for it in others if _refusal(it) is None), None)
    raise PortTaken(
        f"port {port} is taken by {_holder(port)}; end it, or give another"
        + (f": {option} {instead}" if instead else f" with {option}")
    )


def _holder(port: int) -> str:
    pid = listener_on(port)
    if pid is None:
        return "a process that cannot be seen from here"
    command = command_of(pid)
    return f"process {pid}" + (f" ({command})" if command else "")


def _refusal(port: int) -> OSError | None:
    with socket.socket() as probe:
        # A connection of a stopped server that lingers is no listener.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error
    return None
