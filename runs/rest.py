"""A run that rests until a time holds no thread and no lease: a call of our own, whose answer is that the time has come."""

from __future__ import annotations

from datetime import datetime

from liyagent.gateway.outcome import Call, Contract, Effect, Fate, Outcome, Posture, Verdict
from liyagent.providers.types import ToolCall
from runs.scope import RunScope
from runs.suspend import pause

# The server that nobody can declare: its calls are looks at what this house keeps, and leave nowhere.
SERVER = "workflow"
REST_NAME = f"{SERVER}/wait"
REST = Contract(server=SERVER, tool="wait", effect=Effect.READ)
UNTIL = "until"


def rest_call(call_id: str, until: datetime) -> ToolCall:
    """Return the call that is answered once it is `until`, by the database's clock; fixed when its step is written."""
    return ToolCall(id=call_id, name=REST_NAME, arguments_text="", args={UNTIL: until.isoformat()})


def rest(scope: RunScope, call: Call) -> Outcome:
    """Answer it. Raises `HandedBack` before its time."""
    until = datetime.fromisoformat(call.args[UNTIL])
    if scope.checkpoint.database_time() < until:
        raise pause(scope.checkpoint, until=until)
    return answered(scope, call, Outcome(fate=Fate.DONE, result={UNTIL: call.args[UNTIL]}))


def answered(scope: RunScope, call: Call, outcome: Outcome) -> Outcome:
    """Settle a call of our own, and return what it came to."""
    scope.settle(Verdict(call=call, posture=Posture.POSTURE), None, outcome)
    return outcome
