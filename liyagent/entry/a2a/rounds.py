"""What each process does for tasks of other agents; imported when the process starts."""

from liyagent.entry.a2a.deliver import send_push
from liyagent.entry.a2a.forget import forget_old
from liyagent.entry.a2a.receive import WAY
from liyagent.entry.hand_on import hand_on_by
from runs.rounds import ROUNDS, Round

hand_on_by(WAY, send_push)
ROUNDS["old a2a tasks"] = Round(look=forget_old)
