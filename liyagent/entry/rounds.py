"""What each process does for the ways in, again and again; imported when the process starts."""

from liyagent.entry.begin import begin_due
from liyagent.entry.forget import forget_old
from runs.rounds import ROUNDS, Round

ROUNDS["arrivals"] = Round(look=begin_due, is_waited_for=True)
ROUNDS["old deliveries"] = Round(look=forget_old)
