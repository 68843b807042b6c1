"""What each process does for the ways in, again and again; imported when the process starts."""

from liyagent.entry.arrive import ARRIVAL
from liyagent.entry.begin import TO_BEGIN, begin_due
from liyagent.entry.forget import forget_old
from liyagent.entry.models import Arrival
from liyagent.jobs.after_end import OWED, do_after_end, owing
from liyagent.jobs.end import forget_jobs
from liyagent.jobs.sources.due import DUE, sync_due
from liyagent.jobs.take import TO_TAKE
from liyagent.jobs.work import values_to_take, values_to_take_long, work_due, work_long
from runs.rounds import ROUNDS, Round
from runs.sealed_rows import SEALED_ROWS, SealedRows

ROUNDS["arrivals"] = Round(look=begin_due, due=f"EXISTS ({TO_BEGIN})")
ROUNDS["old deliveries"] = Round(look=forget_old)
# Two threads: a job that waits for a slow other end does not hold up all others.
ROUNDS["jobs"] = ROUNDS["more jobs"] = Round(
    look=work_due, due=f"EXISTS ({TO_TAKE})", values=values_to_take
)
# Of its own: what keeps its turn may take an hour, and other jobs are not to wait for it.
ROUNDS["long jobs"] = Round(look=work_long, due=f"EXISTS ({TO_TAKE})", values=values_to_take_long)
ROUNDS["due syncs"] = Round(look=sync_due, due=f"EXISTS ({DUE})")
# Of its own: it asks other ends, and may wait long for them.
ROUNDS["ended jobs"] = Round(look=do_after_end, due=f"EXISTS ({OWED})", values=lambda: [owing()])
ROUNDS["old jobs"] = Round(look=forget_jobs)
SEALED_ROWS.append(SealedRows(model=Arrival, kind=ARRIVAL))
