"""What each process does for cohort replays; imported when the process starts."""

from liyagent.replays.forget import forget_replays
from liyagent.replays.left import end_left
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.verdict import FORMAT as VERDICT_FORMAT
from liyagent.replays.verdict import SEALED
from liyagent.replays.words import FORMAT, KIND
from runs.rounds import ROUNDS, Round
from runs.sealed_rows import SEALED_ROWS, SealedRows

ROUNDS["left replays"] = Round(look=end_left)
ROUNDS["old replays"] = Round(look=forget_replays)
SEALED_ROWS += [
    SealedRows(model=Replayed, kind=KIND, of="cohort_id", number="number", format_number=FORMAT),
    SealedRows(model=CohortReplay, kind=SEALED, of="id", format_number=VERDICT_FORMAT),
]
