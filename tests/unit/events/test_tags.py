"""A tag beside each event: who wrote it had a key of ours, in which attempt, as the how-manieth."""

from __future__ import annotations

from uuid import UUID

import pytest

from events.tags import BESIDE, SEPARATOR, Tagger, is_of, read_tag, record_key
from liyagent.core.canonical import canonical

CHAIN = UUID("0190f5fe-7c00-7a00-8000-000000000001")
RUN = UUID("0190f5fe-7c00-7a00-8000-000000000002")
OTHER = UUID("0190f5fe-7c00-7a00-8000-000000000003")
KEY, ANOTHER = record_key(b"k" * 32), record_key(b"o" * 32)


def tagger(*, attempt: int = 3) -> Tagger:
    return Tagger(key=KEY, correlation_id=CHAIN, run_id=RUN, mission="INC-1", attempt=attempt)


def taken_apart(line: str) -> tuple[str, bytes]:
    content, _, tag = line.partition(SEPARATOR)
    return content, bytes.fromhex(tag)


@pytest.mark.promise("EV-02")
def test_a_tag_names_its_writer_and_counts_its_events() -> None:
    of = tagger()
    tags = [read_tag(taken_apart(of.line("step", "{}"))[1]) for _ in range(3)]
    assert [(it.attempt, it.ordinal) for it in tags if it] == [(3, 0), (3, 1), (3, 2)]
    assert {it.fingerprint for it in tags if it} == {KEY.fingerprint}


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize(
    "edited",
    [
        {"correlation_id": OTHER},
        {"run_id": OTHER},
        {"kind": "tool.call"},
        {"mission": "INC-2"},
        {"content": '{"fate":"failed"}'},
    ],
)
def test_no_tag_fits_another_event(edited: dict[str, object]) -> None:
    content, tag = taken_apart(tagger().line("step", '{"fate":"done"}'))
    facts: dict[str, object] = {
        "correlation_id": CHAIN, "run_id": RUN, "kind": "step", "mission": "INC-1", "content": content,
    }  # fmt: skip
    read = read_tag(tag)
    assert read is not None
    assert is_of(read, [ANOTHER, KEY], **facts) is True  # type: ignore[arg-type]
    assert is_of(read, [ANOTHER, KEY], **{**facts, **edited}) is False  # type: ignore[arg-type]


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize("place", range(4, 28))
def test_a_tag_that_was_changed_anywhere_does_not_fit(place: int) -> None:
    content, tag = taken_apart(tagger().line("step", "{}"))
    changed = bytearray(tag)
    changed[place] ^= 1
    read = read_tag(bytes(changed))
    assert read is not None
    assert not is_of(
        read, [KEY], correlation_id=CHAIN, run_id=RUN, kind="step", mission="INC-1", content=content
    )


def test_a_key_that_is_not_here_says_nothing() -> None:
    content, tag = taken_apart(tagger().line("step", "{}"))
    read = read_tag(tag)
    assert read is not None
    told = is_of(
        read,
        [ANOTHER],
        correlation_id=CHAIN,
        run_id=RUN,
        kind="step",
        mission="INC-1",
        content=content,
    )
    assert told is None
    assert read_tag(b"") is None
    assert read_tag(tag + b"x") is None


def test_who_writes_beside_an_attempt_gives_each_event_a_number_of_its_own() -> None:
    of = tagger(attempt=BESIDE)
    tags = [read_tag(taken_apart(of.line("call.settled", "{}"))[1]) for _ in range(50)]
    assert len({it.ordinal for it in tags if it}) == 50


def test_no_content_holds_what_parts_it_from_its_tag() -> None:
    content, tag = taken_apart(
        tagger().line("step", canonical({"text": "a\x1fb\x00\x1e"}).decode())
    )
    assert content == canonical({"text": "a\x1fb\x00\x1e"}).decode()
    assert len(tag) == 28
