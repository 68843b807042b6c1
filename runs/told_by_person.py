"""What a run that waited because of an unknown write is told of it, once a person has said that it happened."""

from __future__ import annotations

from liyagent.core.plain import json_bytes
from liyagent.core.seal import KeyMissing, SealBroken
from runs.checkpoint import sealer_of, stored_rows
from runs.hot import GiveUp
from runs.marks import open_outcome
from runs.models import Call, Run

# The gate of a request for what an earlier call may have done already (ruling 8).
SAME_INTENT = "same_intent"
# The newest first: a person may have said it of several.
SAID = (
    "correlation_id = %s AND intent_digest = %s AND fate = 'done' AND settlement = 'by_person'"
    " ORDER BY settled_at DESC LIMIT 1"
)
TOLD = " The earlier call did take effect; do not ask for it again. It returned: {result}"


def result_told(held: Call, *, give_up: GiveUp) -> str:
    """Return what the earlier call of the same intent returned, as a person said; "" where nobody did.

    `held` is the call that waited. Raises `LostLease`.
    """
    values = (held.correlation_id, held.intent_digest)
    for earlier in stored_rows(Call, SAID, values, give_up=give_up):
        for run in stored_rows(Run, "id = %s", (earlier.run_id,), give_up=give_up):
            try:
                result = open_outcome(sealer_of(run), earlier).result
            except (KeyMissing, SealBroken):
                return TOLD.format(result="it cannot be opened here")
            shown = result if isinstance(result, str) else json_bytes(result).decode()
            return TOLD.format(result=shown)
    return ""
