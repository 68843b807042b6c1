"""`python -m liyagent.launcher up` and `... with-postgres -- COMMAND`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from liyagent.core.errors import LiyagentError
from liyagent.launcher.ephemeral import with_postgres
from liyagent.launcher.state import State
from liyagent.launcher.supervisor import Plan, Supervisor

BASE_DIR = Path(__file__).resolve().parents[2]
DEFAULT_PORTS = (8000, 8001)
LAST_PORT = 65_535


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with exit code 2."""

    def error(self, message: str) -> NoReturn:
        """End with the message alone; `--help` shows the usage."""
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: list[str]) -> int:
    """Do what the arguments say and return the exit code; an error of ours is one line on stderr."""
    parser = Parser(prog="python -m liyagent.launcher")
    verbs = parser.add_subparsers(dest="verb", required=True)
    wrap = verbs.add_parser("with-postgres", help="run a command with an ephemeral PostgreSQL")
    wrap.add_argument("command", nargs="+", metavar="COMMAND")
    up = verbs.add_parser("up", help="run the product: PostgreSQL, demo vendors, app processes")
    up.add_argument(
        "--port", type=port_number, action="append", help="one for each app process (8000 and 8001)"
    )
    up.add_argument("--vendors-port", type=port_number, default=8090, help="8090")
    asked = parser.parse_args(arguments)
    plan = plan_of(asked) if asked.verb == "up" else None
    if plan is not None and (twice := asked_twice(plan)):
        up.error(f"port {twice} is asked for twice; each process wants its own")
    try:
        if plan is not None:
            return Supervisor(plan).run()
        return with_postgres(asked.command)
    except LiyagentError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return 1


def plan_of(asked: argparse.Namespace) -> Plan:
    """Return the plan for `up`: this checkout, and the state directory the settings would read."""
    root = Path(os.environ.get("LIYAGENT_STATE_DIR") or BASE_DIR / ".liyagent").absolute()
    return Plan(
        base_dir=BASE_DIR,
        state=State(root=root),
        ports=tuple(asked.port or DEFAULT_PORTS),
        vendors_port=asked.vendors_port,
    )


def port_number(text: str) -> int:
    """Return the port that `text` names. Raises `ArgumentTypeError` where a port cannot have that number."""
    if not text.isdecimal() or not 1 <= int(text) <= LAST_PORT:
        raise argparse.ArgumentTypeError(f"is {text!r}; it wants 1 to {LAST_PORT}")
    return int(text)


def asked_twice(plan: Plan) -> int | None:
    """Return a port that two processes of the plan would listen on, the vendors' included; None without one."""
    ports = (*plan.ports, plan.vendors_port)
    return next((port for port in ports if ports.count(port) > 1), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
