"""`python -m liyagent.launcher up` and `... with-postgres -- COMMAND`."""

from __future__ import annotations

import argparse
import sys

from liyagent.core.errors import LiyagentError
from liyagent.launcher.ephemeral import with_postgres


def main(arguments: list[str]) -> int:
    """Do what the arguments say and return the exit code; an error of ours is one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m liyagent.launcher")
    verbs = parser.add_subparsers(dest="verb", required=True)
    wrap = verbs.add_parser("with-postgres", help="run a command with an ephemeral PostgreSQL")
    wrap.add_argument("command", nargs="+", metavar="COMMAND")
    asked = parser.parse_args(arguments)
    try:
        return with_postgres(asked.command)
    except LiyagentError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
