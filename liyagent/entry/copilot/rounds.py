"""What each process does for conversations; imported when the process starts."""

from liyagent.entry.copilot.forget import forget_old
from runs.rounds import ROUNDS, Round

ROUNDS["old conversations"] = Round(look=forget_old)
