"""Requests as the endpoint hands them on, for tests of the verbs themselves."""

from __future__ import annotations

from typing import Any

from liyagent.entry.a2a.caller import Asked, Caller
from liyagent.entry.a2a.wire import Version
from runs.stream import Rights


def asked(username: str = "ann", **params: Any) -> Asked:
    """A request as the endpoint hands it on."""
    is_dora = username == "dora"
    return Asked(
        agent_key="triage",
        caller=Caller(username=username, sees_all=is_dora, reads_words=False, decides=is_dora),
        version=Version.V10,
        rpc_id=1,
        params=params,
        mission="",
        request_id="",
        traceparent="",
        last_event=None,
        rights_now=lambda: Rights(may_listen=True, with_words=False),
        base_url="",
    )
