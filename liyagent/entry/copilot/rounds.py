"""What each process does for conversations; imported when the process starts."""

from liyagent.entry.copilot.forget import forget_old
from liyagent.entry.copilot.models import Turn
from liyagent.entry.copilot.words import ASKED
from runs.rounds import ROUNDS, Round
from runs.sealed_rows import SEALED_ROWS, SealedRows

ROUNDS["old conversations"] = Round(look=forget_old)
SEALED_ROWS.append(SealedRows(model=Turn, kind=ASKED))
