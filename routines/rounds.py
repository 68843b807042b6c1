"""What each process does for routines; imported when the process starts."""

from routines.daily import mine_daily
from runs.rounds import ROUNDS, Round

ROUNDS["daily mining"] = Round(look=mine_daily)
