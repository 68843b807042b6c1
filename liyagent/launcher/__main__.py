"""`python -m liyagent.launcher up` and `... with-postgres -- COMMAND`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from liyagent.core.errors import LiyagentError
from liyagent.launcher.ephemeral import with_postgres
from liyagent.launcher.state import State
from liyagent.launcher.supervisor import Plan, Supervisor

BASE_DIR = Path(__file__).resolve().parents[2]
DEFAULT_PORTS = (8000, 8001)


def main(arguments: list[str]) -> int:
    """Do what the arguments say and return the exit code; an error of ours is one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m liyagent.launcher")
    verbs = parser.add_subparsers(dest="verb", required=True)
    wrap = verbs.add_parser("with-postgres", help="run a command with an ephemeral PostgreSQL")
    wrap.add_argument("command", nargs="+", metavar="COMMAND")
    up = verbs.add_parser("up", help="run the product: PostgreSQL, demo vendors, app processes")
    up.add_argument(
        "--port", type=int, action="append", help="one for each app process (8000 and 8001)"
    )
    up.add_argument("--vendors-port", type=int, default=8090, help="8090")
    asked = parser.parse_args(arguments)
    try:
        if asked.verb == "up":
            return Supervisor(plan_of(asked)).run()
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
