"""What each process does for cron; imported when the process starts."""

from liyagent.entry.cron.fire import fire_due
from runs.rounds import ROUNDS, Round

DUE = "EXISTS (SELECT 1 FROM cron_crontrigger WHERE next_slot <= (SELECT liyagent_now()) AND problem = '')"

ROUNDS["cron"] = Round(look=fire_due, due=DUE)
