"""Whatever a caller sends, the answer is one of the protocol's, and never that something went wrong here."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from liyagent.entry.a2a.api import METHODS_BY_NAME
from tests.fakes.a2a_shapes import check_error, check_result
from tests.unit.entry.a2a.conftest import PATH, Rpc, message
from tests.unit.runs.carrying.conftest import World, says

TASK = "the task"
NAMES = (
    *("id", "taskId", "message", "configuration", "metadata", "_meta", "url", "token", "status"),
    *("historyLength", "pageSize", "pageToken", "contextId", "parts", "data", "text", "kind"),
    *("pushNotificationConfig", "pushNotificationConfigId", "authentication", "schemes", "role"),
    *("messageId", "decision", "approval", "digest", "blocking", "returnImmediately", "scheme"),
)
SCALARS = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(),
    some.floats(allow_nan=False, allow_infinity=False),
    some.text(max_size=20),
    some.sampled_from([TASK, "https://e.com", "ROLE_USER", "user", "approve", str(uuid4())]),
)
ANYTHING = some.recursive(
    SCALARS,
    lambda inner: some.one_of(
        some.lists(inner, max_size=3),
        some.dictionaries(some.sampled_from(NAMES), inner, max_size=5),
    ),
    max_leaves=12,
)
PARAMS = some.dictionaries(some.sampled_from(NAMES), ANYTHING, max_size=6)
REFUSALS = {404, 429, 503}


@pytest.mark.timeout(300)
def test_anything_at_all_is_answered_by_the_protocol(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task_id = rpc.send()["id"]

    @settings(
        max_examples=150,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(method=some.sampled_from(sorted(METHODS_BY_NAME)), params=PARAMS, base=some.booleans())
    def ask(method: str, params: dict[str, Any], base: bool) -> None:
        if base:
            params = {"message": message(), "id": task_id, "taskId": task_id, **params}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": known(params, task_id)}
        answer = rpc.api.post(PATH, body)
        if answer.status in REFUSALS:
            return
        assert answer.status == 200, (method, params, answer.data)
        if "error" in answer.data:
            check_error(answer.data["error"])
            assert answer.data["error"]["code"] != -32603, answer.data
        else:
            check_result(method, answer.data["result"])

    ask()


def known(value: Any, task_id: str) -> Any:
    """The same with the id of a task that there is."""
    if isinstance(value, dict):
        return {name: known(it, task_id) for name, it in value.items()}
    if isinstance(value, list):
        return [known(it, task_id) for it in value]
    return task_id if value == TASK else value
