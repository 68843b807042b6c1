"""What each process does for red teams; imported when the process starts."""

from liyagent.training.red_teams.report import forget_findings
from runs.rounds import ROUNDS, Round

ROUNDS["old findings"] = Round(look=forget_findings)
