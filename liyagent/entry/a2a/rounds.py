"""What each process does for tasks of other agents; imported when the process starts."""

from liyagent.entry.a2a.deliver import receiver_of, send_push
from liyagent.entry.a2a.forget import forget_old
from liyagent.entry.a2a.models import PushConfig, Task
from liyagent.entry.a2a.push import CREDENTIALS
from liyagent.entry.a2a.receive import WAY
from liyagent.entry.a2a.tell import MESSAGE
from liyagent.entry.hand_on import hand_on_by
from runs.rounds import ROUNDS, Round
from runs.sealed_rows import SEALED_ROWS, SealedRows

hand_on_by(WAY, send_push, receiver=receiver_of)
ROUNDS["old a2a tasks"] = Round(look=forget_old)
SEALED_ROWS.append(SealedRows(model=Task, kind=MESSAGE))
SEALED_ROWS.append(SealedRows(model=PushConfig, kind=CREDENTIALS, of="task_id"))
