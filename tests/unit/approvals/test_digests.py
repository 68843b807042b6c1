"""The digest that is decided about differs wherever what it covers differs, and in nothing else (ruling 23, FL-57)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.approvals.digests import approval_digest
from liyagent.core.canonical import canonical
from liyagent.gateway.outcome import Asker, Call, Payload, Posture, Rights, Verdict

KEY = "the-key-of-the-approval"
names = st.text(max_size=12)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
PARTS = ("server", "tool", "args", "agent", "run_as", "policy")
calls = st.fixed_dictionaries(
    {
        name: st.dictionaries(names, values, max_size=4) if name == "args" else names
        for name in PARTS
    }
)


def digest_of(parts: dict[str, Any], *, key: str = KEY, extra: dict[str, Any] | None = None) -> str:
    asker = Asker(
        agent=parts["agent"],
        tool_patterns=(),
        write_posture="hold",
        run_as=parts["run_as"],
        rights=Rights(principal=parts["run_as"], is_active=True),
        entry="api",
        mission="",
    )
    call = Call(
        server=parts["server"],
        tool=parts["tool"],
        args=parts["args"],
        index=0,
        provider_call_id="",
        contract=None,
        asker=asker,
    )
    payload = Payload(
        server=parts["server"],
        tool=parts["tool"],
        args={**parts["args"], **(extra or {})},
        key=key,
        mission="",
        is_write=True,
        timeout_seconds=1,
        limit_bytes=1,
    )
    verdict = Verdict(call=call, posture=Posture.HELD, policy_fingerprint=parts["policy"])
    return approval_digest(verdict, payload)


@given(one=calls, other=calls)
def test_two_requests_have_the_same_digest_only_where_every_part_is_the_same(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    is_same = canonical([one[it] for it in PARTS]) == canonical([other[it] for it in PARTS])
    assert (digest_of(one) == digest_of(other)) is is_same


@given(parts=calls, change=calls)
@pytest.mark.parametrize("name", PARTS)
def test_each_part_alone_makes_another_digest(
    name: str, parts: dict[str, Any], change: dict[str, Any]
) -> None:
    changed = {**parts, name: change[name]}
    is_same = canonical(parts[name]) == canonical(change[name])
    assert (digest_of(parts) == digest_of(changed)) is is_same


@given(parts=calls)
def test_neither_the_order_of_names_nor_our_own_key_makes_another_digest(
    parts: dict[str, Any],
) -> None:
    turned = {**parts, "args": dict(reversed(list(parts["args"].items())))}
    spaced = {**parts, "args": json.loads(json.dumps(parts["args"], indent=4))}
    keyed = digest_of(parts, key="another", extra={"client key": "another"})
    assert digest_of(parts) == digest_of(turned) == digest_of(spaced)
    if "client key" not in parts["args"]:
        assert keyed == digest_of(parts)


def test_values_that_python_holds_equal_are_told_apart() -> None:
    parts = {"server": "v", "tool": "t", "args": {"n": 1}, "agent": "a", "run_as": "", "policy": ""}
    for other in (True, "1", None, [1]):
        assert digest_of(parts) != digest_of({**parts, "args": {"n": other}})
