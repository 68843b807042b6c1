"""What each process does for tasks of other agents; imported when the process starts."""

from liyagent.entry.a2a.deliver import send_push
from liyagent.entry.a2a.forget import forget_old
from liyagent.entry.a2a.receive import WAY
from liyagent.entry.ways import SENDERS
from runs.rounds import ROUNDS, Round

SENDERS[WAY] = send_push
ROUNDS["old a2a tasks"] = Round(look=forget_old)
