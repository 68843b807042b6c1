"""What each process does for cron; imported when the process starts."""

from liyagent.entry.cron.fire import fire_due
from runs.rounds import ROUNDS, Round

ROUNDS["cron"] = Round(look=fire_due, is_waited_for=True)
