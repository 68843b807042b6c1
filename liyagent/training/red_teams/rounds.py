"""What each process does for red teams; imported when the process starts."""

from liyagent.training.red_teams.models import Finding
from liyagent.training.red_teams.report import forget_findings
from liyagent.training.red_teams.trial import FORMAT
from runs.rounds import ROUNDS, Round
from runs.sealed_rows import SEALED_ROWS, SealedRows

ROUNDS["old findings"] = Round(look=forget_findings)
SEALED_ROWS.append(
    SealedRows(model=Finding, kind="finding", of="job_id", number="number", format_number=FORMAT)
)
