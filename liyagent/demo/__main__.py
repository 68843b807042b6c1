"""`python -m liyagent.demo`: kill a process in the middle of writes, see the other finish, judge from the ledgers.

Exit code 0 if the promise held, else 1. Nothing is left behind.
"""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from liyagent.core.errors import LiyagentError
from liyagent.demo.play import play
from liyagent.demo.show import Screen
from liyagent.demo.stage import stage

HELP = (
    "Start twelve runs on process A, kill it in the middle of writes, see process B finish them, and judge from "
    "the vendors' ledgers. It takes about a minute. Exit code 0 if the promise held, else 1; nothing is left behind."
)


def main(arguments: list[str]) -> int:
    """Set the stage, play, and clear up; an error of ours is one line. It takes no arguments but `--help`."""
    parser = argparse.ArgumentParser(prog="python -m liyagent.demo", description=HELP)
    parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    screen = Screen(sys.stdout)
    try:
        with stage(screen.say) as set_up:
            return 0 if play(set_up, screen) else 1
    except LiyagentError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 1


def _stop(_number: int, _frame: FrameType | None) -> None:
    # As Ctrl-C: what was started is taken away on the way out.
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
