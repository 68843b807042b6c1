"""Hand-offs over the API: opened, revised, read, and never changed."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import uuid4

import pytest

from handoffs.content import MOST_BYTES
from handoffs.heads import MOST_REVISED
from handoffs.models import Reading, Snapshot, Version
from liyagent.audit.models import AuditRow
from tests.databases import FreshDatabase
from tests.flows.conftest import Answer, Api, api_of, make_user

ALL = "/api/handoffs"
GIVEN = {
    "from": "agent:triage",
    "to": "ann",
    "kind": "question",
    "body": {"ask": "Reboot mail-eu?"},
}
ACTOR = ("agents.operate", "runs.view_run", "transcripts.content.read")


@pytest.fixture
def olga(fresh_db: FreshDatabase) -> Api:
    """One who hands over, and reads what was."""
    return api_of(make_user("olga", *ACTOR))


def opened(api: Api, **given: Any) -> dict[str, Any]:
    answer = api.post(ALL, {**GIVEN, **given})
    assert answer.status == 201, answer.data
    found: dict[str, Any] = answer.data
    return found


def revised(api: Api, thread: str, expected: int, body: Any, **given: Any) -> Answer:
    values = {"expected_version": expected, "body": body, **given}
    return api.post(f"{ALL}/{thread}/versions", values)


@pytest.mark.promise("HO-05")
@pytest.mark.promise("HO-01")
def test_what_is_handed_over_is_shown_as_it_was(olga: Api) -> None:
    first = opened(olga)
    assert (first["version"], first["parent"], first["author"]) == (1, "", "olga")
    second = revised(olga, first["thread"], 1, {"ask": "Reboot mail-us?"})
    assert (second.status, second.data["version"], second.data["parent"]) == (
        201,
        2,
        first["digest"],
    )
    shown = olga.get(f"{ALL}/{first['thread']}").data
    assert (shown["chain_holds"], shown["problems"]) == (True, [])
    one, two = shown["versions"]
    assert {name: one[name] for name in GIVEN} == GIVEN
    assert two["body"] == {"ask": "Reboot mail-us?"}
    assert (two["from"], two["to"], two["kind"]) == ("agent:triage", "ann", "question")
    assert all(it["verified"] and not it["problem"] and not it["withheld"] for it in (one, two))
    text = json.dumps(GIVEN, sort_keys=True, separators=(",", ":"))
    assert first["digest"] == hashlib.sha256(text.encode()).hexdigest()
    snapshot = olga.get(f"/api/handoff-snapshots/{first['digest']}").data
    assert (snapshot["content"], snapshot["verified"], snapshot["body"]) == (
        text,
        True,
        GIVEN["body"],
    )
    assert [(it["thread"], it["version"]) for it in snapshot["versions"]] == [(first["thread"], 1)]


@pytest.mark.promise("HO-04")
def test_each_version_is_audited_without_its_words(olga: Api) -> None:
    first = opened(olga)
    revised(olga, first["thread"], 1, "Never mind.")
    rows = list(AuditRow.objects.filter(action="agent.handoff").order_by("id"))
    assert [(it.actor, it.detail["version"]) for it in rows] == [("olga", 1), ("olga", 2)]
    assert rows[0].detail == {
        "thread": first["thread"], "version": 1, "digest": first["digest"], "kind": "question",
        "from": "agent:triage", "to": "ann",
    }  # fmt: skip
    assert rows[0].mission == rows[1].mission == first["mission"]
    assert rows[0].request_id
    assert rows[0].address == "127.0.0.1"


def test_a_mission_that_is_named_is_kept(olga: Api) -> None:
    first = olga.post(ALL, GIVEN, **{"X-Liyagent-Mission": "INC-7"}).data
    assert first["mission"] == "INC-7"
    assert revised(olga, first["thread"], 1, "x").data["mission"] == "INC-7"
    opened(olga)
    (row,) = olga.get(f"{ALL}?mission=INC-7").data["handoffs"]
    assert (row["thread"], row["versions"]) == (first["thread"], 2)


@pytest.mark.promise("HO-02")
@pytest.mark.field("FL-96")
def test_only_the_newest_version_can_be_revised(olga: Api) -> None:
    thread = opened(olga)["thread"]
    second = revised(olga, thread, 1, "two").data
    for expected in (1, 3, 2**31 - 2):
        stale = revised(olga, thread, expected, "other")
        assert (stale.status, stale.data["code"]) == (409, "handoff.stale")
        assert stale.data["facts"]["head"] == "2"
        assert stale.data["facts"]["head_digest"] == second["digest"]
    assert revised(olga, thread, 0, "other").status == 400
    assert Version.objects.count() == Snapshot.objects.count() == 2


@pytest.mark.promise("HO-02")
@pytest.mark.field("FL-96")
def test_a_revise_whose_answer_was_lost_is_the_same_version(olga: Api) -> None:
    thread = opened(olga)["thread"]
    first = revised(olga, thread, 1, {"a": 1, "b": 2}, to="bob")
    again = revised(olga, thread, 1, {"b": 2, "a": 1.0}, to="bob")
    assert (first.status, again.status, again.data) == (201, 200, first.data)
    assert again.headers["Idempotent-Replay"] == "true"
    assert revised(olga, thread, 1, {"a": 1, "b": 2}).status == 409
    otto = api_of(make_user("otto", *ACTOR))
    assert revised(otto, thread, 1, {"a": 1, "b": 2}, to="bob").status == 409
    assert AuditRow.objects.filter(action="agent.handoff").count() == 2
    shown = olga.get(f"{ALL}/{thread}").data
    assert (shown["chain_holds"], [it["version"] for it in shown["versions"]]) == (True, [1, 2])


@pytest.mark.field("FL-96")
def test_a_version_that_says_what_the_newest_says_is_refused(olga: Api) -> None:
    thread = opened(olga)["thread"]
    same = revised(olga, thread, 1, {"ask": "Reboot mail-eu?"}, to="ann")
    assert (same.status, same.data["errors"][0]["field"]) == (400, "body")
    assert "says this already" in same.data["detail"]
    assert revised(olga, thread, 1, {"ask": "Reboot mail-eu?"}, to="bob").status == 201


def test_what_was_said_before_can_be_said_again(olga: Api) -> None:
    thread = opened(olga, body="a")["thread"]
    revised(olga, thread, 1, "b")
    third = revised(olga, thread, 2, "a")
    assert third.status == 201
    assert olga.get(f"{ALL}/{thread}").data["chain_holds"]
    snapshot = olga.get(f"/api/handoff-snapshots/{third.data['digest']}").data
    assert [it["version"] for it in snapshot["versions"]] == [1, 3]


def test_the_same_key_opens_one_thread(olga: Api) -> None:
    key = {"Idempotency-Key": "k-1"}
    first, again = olga.post(ALL, GIVEN, **key), olga.post(ALL, GIVEN, **key)
    assert (first.status, again.status, again.data) == (201, 200, first.data)
    revised(olga, first.data["thread"], 1, "more")
    assert olga.post(ALL, GIVEN, **key).data == first.data
    other = olga.post(ALL, {**GIVEN, "body": "x"}, **key)
    assert (other.status, other.data["code"]) == (409, "handoff.key_reused")
    otto = api_of(make_user("otto", *ACTOR))
    assert otto.post(ALL, GIVEN, **key).data["thread"] != first.data["thread"]
    assert olga.post(ALL, GIVEN, **{"Idempotency-Key": "with space"}).status == 400
    assert AuditRow.objects.filter(action="agent.handoff").count() == 3
    assert not Snapshot.objects.filter(body='"x"').exists()


DEEP = b'{"from":"a","to":"b","kind":"c","body":' + b"[" * 101 + b"]" * 101 + b"}"
DEEPEST = b'{"from":"a","to":"b","kind":"c","body":' + b"[" * 90_000 + b"]" * 90_000 + b"}"


def raw(body: str) -> bytes:
    return b'{"from":"a","to":"b","kind":"c","body":' + body.encode() + b"}"


@pytest.mark.parametrize(
    ("sent", "field", "told"),
    [
        (raw('{"a":[1,NaN]}'), "body.a.1", "NaN"),
        (raw('{"a":-Infinity}'), "body.a", "Infinity"),
        (raw("1e400"), "body", "too large"),
        (raw("9" * 5000), "body", "too large"),
        (raw('{"a":{"b":1,"b":2}}'), "body.a.b", "twice"),
        (raw('["\\ud800"]'), "body.0", "surrogates"),
        (raw("null"), "body", "null"),
        (raw(f'"{"x" * MOST_BYTES}"'), "body", str(MOST_BYTES)),
        (raw(f'"{"x" * (3 << 20)}"'), "body", "too large"),
        (DEEP, "body" + ".0" * 100, "deeper than 100"),
        (DEEPEST, "body", "nested too deeply"),
        (b'{"from":', "body", "not JSON"),
        (b"", "from", "required"),
        (b'{"from":"\xff"}', "body", "not UTF-8"),
        (b'{"from":"a","from":"b","to":"b","kind":"c","body":1}', "from", "twice"),
        (b'{"\\ud800":1}', "\\ud800", "no field"),
        (b"[1]", "body", ""),
        (b'{"from":"\\ud800","to":"b","kind":"c","body":1}', "from", "urrogate"),
        (b'{"from":"","to":"b","kind":"c","body":1}', "from", ""),
        (b'{"from":" a","to":"b","kind":"c","body":1}', "from", "cannot be seen"),
        (b'{"from":"a","to":"b\\n","kind":"c","body":1}', "to", "cannot be seen"),
        (b'{"from":"a","to":7,"kind":"c","body":1}', "to", ""),
        (b'{"from":"a","to":"b","kind":"No Word","body":1}', "kind", "a word"),
        (b'{"from":"a","to":"b","kind":"delegation","body":1}', "kind", "runs"),
        (b'{"from":"a","to":"b","kind":"saga","body":1}', "kind", "runs"),
        (b'{"from":"a","to":"b","kind":"c"}', "body", "required"),
        (b'{"from":"a","to":"b","kind":"c","body":1,"boby":2}', "boby", "unknown"),
    ],
)  # fmt: skip
def test_what_cannot_be_handed_over_is_refused_with_its_path(
    olga: Api, sent: bytes, field: str, told: str
) -> None:
    answer = olga.post(ALL, sent)
    assert answer.status == 400, answer.data
    assert answer.data["errors"][0]["field"] == field
    assert told in answer.data["errors"][0]["detail"]
    assert not Version.objects.exists()
    assert not Snapshot.objects.exists()


def test_a_revise_is_refused_with_its_path_too(olga: Api) -> None:
    thread = opened(olga)["thread"]
    refused = olga.post(f"{ALL}/{thread}/versions", b'{"expected_version":1,"body":{"a":NaN}}')
    assert (refused.status, refused.data["errors"][0]["field"]) == (400, "body.a")
    assert revised(olga, thread, 1, "x", kind="saga").status == 400
    assert revised(olga, thread, 1, "x", to="").status == 400
    assert revised(olga, str(uuid4()), 1, "x").data["code"] == "handoff.not_found"
    assert olga.get(f"{ALL}/{uuid4()}").data["code"] == "handoff.not_found"
    assert (
        olga.get(f"/api/handoff-snapshots/{'0' * 64}").data["code"] == "handoff.snapshot_not_found"
    )
    assert olga.get("/api/handoff-snapshots/x").status == 404


def test_a_body_is_kept_to_the_letter(olga: Api) -> None:
    body = {"nul": "\x00", "big": 2**70, "half": 0.5, "z": [], "\U0001f600": "\uffff"}
    thread = opened(olga, body=body)["thread"]
    (shown,) = olga.get(f"{ALL}/{thread}").data["versions"]
    assert (shown["body"], shown["verified"]) == (body, True)


@pytest.mark.promise("HO-05")
def test_who_may_not_read_words_sees_digests_and_facts(olga: Api) -> None:
    first = opened(olga)
    vera = api_of(make_user("vera", "runs.view_run"))
    (shown,) = vera.get(f"{ALL}/{first['thread']}").data["versions"]
    assert (shown["body"], shown["verified"], shown["digest"]) == (None, True, first["digest"])
    assert "transcripts.content.read" in shown["withheld"]
    snapshot = vera.get(f"/api/handoff-snapshots/{first['digest']}").data
    assert (snapshot["body"], snapshot["content"], snapshot["verified"]) == (None, None, True)
    assert vera.post(ALL, GIVEN).status == 403
    assert revised(vera, first["thread"], 1, "x").status == 403
    assert vera.post(f"{ALL}/{first['thread']}/readings", {"version": 1}).status == 403
    stan = api_of(make_user("stan", "agents.operate"))
    assert stan.get(ALL).status == stan.get(f"{ALL}/{first['thread']}").status == 403


def test_who_read_which_is_told(olga: Api) -> None:
    first = opened(olga)
    thread = first["thread"]
    second = revised(olga, thread, 1, "more").data
    said = {"version": 2, "digest": second["digest"]}
    path = f"{ALL}/{thread}/readings"
    read = olga.post(path, said)
    assert (read.status, read.data["reader"], read.data["run_id"]) == (201, "olga", None)
    assert olga.post(path, said).status == 200
    wrong = olga.post(path, {"version": 2, "digest": first["digest"]})
    assert (wrong.status, wrong.data["code"]) == (409, "handoff.other_digest")
    assert olga.post(path, {"version": 3, "digest": first["digest"]}).status == 404
    assert olga.post(path, {"version": 1, "digest": "x"}).status == 400
    shown = olga.get(f"{ALL}/{thread}").data
    assert shown["readings"] == [read.data]
    assert shown["chain_holds"]
    assert Reading.objects.count() == 1
    assert [it.actor for it in AuditRow.objects.filter(action="agent.handoff.read")] == ["olga"]


def test_a_thread_takes_so_many_versions_and_no_more(olga: Api) -> None:
    thread = opened(olga, body=0)["thread"]
    for number in range(1, MOST_REVISED):
        assert revised(olga, thread, number, number).status == 201
    full = revised(olga, thread, MOST_REVISED, "x")
    assert (full.status, full.data["code"]) == (409, "handoff.full")
    shown = olga.get(f"{ALL}/{thread}").data
    assert (shown["chain_holds"], len(shown["versions"])) == (True, MOST_REVISED)


def test_bodies_that_are_too_long_for_one_answer_are_read_one_by_one(olga: Api) -> None:
    words = "x" * (MOST_BYTES - 10)
    thread = opened(olga, body=f"0{words}")["thread"]
    for number in range(1, 5):
        revised(olga, thread, number, f"{number}{words}")
    shown = olga.get(f"{ALL}/{thread}").data
    first, *others = shown["versions"]
    assert (first["body"], first["verified"]) == (None, True)
    assert "handoff-snapshots" in first["withheld"]
    assert [it["body"][0] for it in others] == ["1", "2", "3", "4"]
    assert shown["chain_holds"]
    assert olga.get(f"/api/handoff-snapshots/{first['digest']}").data["body"] == f"0{words}"


def test_threads_are_listed_the_newest_first_a_page_at_a_time(olga: Api) -> None:
    mission = {"X-Liyagent-Mission": "INC-7"}
    threads = [
        olga.post(ALL, {**GIVEN, "body": number}, **mission).data["thread"] for number in range(5)
    ]
    revised(olga, threads[0], 1, "again")
    for query in ("?limit=2", "?limit=2&mission=INC-7"):
        found, path = [], f"{ALL}{query}"
        while path:
            page = olga.get(path).data
            found += [it["thread"] for it in page["handoffs"]]
            path = page["next"]
        assert found == threads[::-1]
    last = olga.get(ALL).data["handoffs"][-1]
    assert (last["from"], last["to"], last["kind"], last["versions"]) == (
        "agent:triage",
        "ann",
        "question",
        2,
    )
    assert "Reboot" not in str(last)
    assert olga.get(f"{ALL}?mission=INC-8").data == {"handoffs": [], "next": None}
    for bad in ("?limit=0", "?cursor=x", "?mission=-x", "?kind=x", "?limit=1&limit=2"):
        assert olga.get(f"{ALL}{bad}").status == 400


@pytest.mark.promise("HO-02")
@pytest.mark.parametrize(
    "number", ["1", " 1", "\uff11", "1_0", "", True, None, [1], 1.5, 0, -1, 1 << 31, 10**30]
)
def test_what_is_no_number_of_a_version_is_refused(olga: Api, number: Any) -> None:
    first = opened(olga)
    refused = revised(olga, first["thread"], number, "else")
    assert (refused.status, refused.data["errors"][0]["field"]) == (400, "expected_version")
    said = {"version": number, "digest": first["digest"]}
    assert olga.post(f"{ALL}/{first['thread']}/readings", said).status == 400
    assert len(olga.get(f"{ALL}/{first['thread']}").data["versions"]) == 1
