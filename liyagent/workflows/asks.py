"""What a workflow asks this house itself for: to wait, for a signal, for a person's word, for its branches."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.gateway.outcome import Contract, Effect
from runs.rest import REST, REST_NAME, SERVER

SIGNAL, APPROVE, PARALLEL = (f"{SERVER}/{name}" for name in ("signal", "approve", "parallel"))
OWN: Mapping[str, Contract] = {
    REST_NAME: REST,
    **{
        name: Contract(server=SERVER, tool=name.partition("/")[2], effect=Effect.READ)
        for name in (SIGNAL, APPROVE, PARALLEL)
    },
}
