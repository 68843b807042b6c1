"""What each process does for the record again and again: seal what was appended. Imported when the process starts."""

from events.seal_heads import DUE, due_values, seal_due
from runs.rounds import ROUNDS, Round

ROUNDS["seals"] = Round(look=seal_due, due=DUE, values=due_values)
