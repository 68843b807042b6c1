"""Two revise one hand-off on two processes at the same instant: one wins, and the other is told what stands."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from tests.processes.asking import ROUNDS
from tests.processes.place import Place
from tests.processes.racing import Held, address

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180 + 2 * ROUNDS)]

ALL = "/api/handoffs"
BODY = {"from": "agent:triage", "to": "people", "kind": "question"}
PEOPLE = """
import json
from django.contrib.auth.models import Permission, User
from liyagent.access.keys import create_key
tokens = {}
for name in ("rosa", "sven"):
    user, _ = User.objects.get_or_create(username=name)
    for codename, label in (("operate", "agents"), ("view_run", "runs"), ("content.read", "transcripts")):
        user.user_permissions.add(Permission.objects.get(codename=codename, content_type__app_label=label))
    tokens[name] = create_key(name="races", username=name, days=1).token
print(json.dumps(tokens))
"""
COUNTS = """
    SELECT (SELECT count(*) FROM handoffs_version v WHERE v.thread = ANY(%s))::int AS versions,
        (SELECT count(*) FROM audit_auditrow a WHERE a.action = 'agent.handoff' AND a.detail->>'thread' = ANY(%s))::int AS audited,
        (SELECT count(*) FROM handoffs_snapshot s WHERE NOT EXISTS (SELECT 1 FROM handoffs_version v WHERE v.digest = s.digest))::int
            AS left_over
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a process answered."""

    at: str
    status: int
    data: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Racing:
    """Sends two requests to A and B so that the last bytes of both leave at once."""

    place: Place
    tokens: dict[str, str]
    gaps_ms: list[float] = field(default_factory=list)

    def client(self, at: str, by: str) -> httpx2.Client:
        """A client of one who is served by a process."""
        headers = {"Authorization": f"Bearer {self.tokens[by]}"}
        return httpx2.Client(base_url=self.place.stage.url(at), headers=headers, timeout=30)

    def opened(self, count: int) -> list[str]:
        """Open so many threads."""
        with self.client("A", "rosa") as client, ThreadPoolExecutor(4) as threads:
            made = threads.map(
                lambda it: client.post(ALL, json={**BODY, "body": it}).json(), range(count)
            )
            return [it["thread"] for it in made]

    def at_once(
        self, path: str, one: dict[str, Any], other: dict[str, Any], *, by: tuple[str, str], key: str = ""
    ) -> tuple[Answer, Answer]:  # fmt: skip
        """Post the one to A and the other to B, the last bytes in the order of the round."""
        held = [self._held(at, path, it, who, key) for at, it, who in zip("AB", (one, other), by, strict=True)]  # fmt: skip
        turn = held if len(self.gaps_ms) % 2 else held[::-1]
        began = time.perf_counter_ns()
        for it in turn:
            it.fire()
        self.gaps_ms.append((time.perf_counter_ns() - began) / 1e6)
        told = [it.told() for it in held]
        first, second = (Answer(at=at, status=it[0], data=it[1]) for at, it in zip("AB", told, strict=True))  # fmt: skip
        return first, second

    def _held(self, at: str, path: str, given: dict[str, Any], who: str, key: str) -> Held:
        to, body = address(self.place, at), json.dumps(given)
        named = f"Idempotency-Key: {key}\r\n" if key else ""
        text = (
            f"POST {path} HTTP/1.1\r\nHost: {to[0]}\r\nAuthorization: Bearer {self.tokens[who]}\r\n"
            f"Content-Type: application/json\r\n{named}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        )
        return Held(to, text.encode())

    def show(self, what: str, won: Counter[str], seconds: float) -> None:
        """Print the figures of a test."""
        gap = statistics.median(self.gaps_ms)
        print(f"{what}: {len(self.gaps_ms)} rounds in {seconds:.1f} s; sent {gap:.3f} ms apart, first at {dict(won)}")  # noqa: T201  # fmt: skip


@pytest.fixture(scope="session")
def writers(built_place: Place) -> dict[str, str]:
    """The keys of two who may hand over, and read what was."""
    told: dict[str, str] = json.loads(built_place.stage.manage("shell", "-c", PEOPLE))
    return told


@pytest.fixture
def racing(place: Place, writers: dict[str, str]) -> Racing:
    """Two whole processes, and two who write."""
    return Racing(place=place, tokens=writers)


def raced(threads: list[str], once: Callable[[str], tuple[Answer, Answer]]) -> float:
    """Race each thread, one after the other; return how long it took."""
    began = time.monotonic()
    for thread in threads:
        once(thread)
    return time.monotonic() - began


def assert_whole(racing: Racing, threads: list[str], *, versions: int) -> None:
    """Each thread holds so many versions, each audited once; whoever lost left nothing."""
    with racing.client("B", "sven") as client:
        for thread in threads:
            shown = client.get(f"{ALL}/{thread}").json()
            assert (shown["chain_holds"], len(shown["versions"])) == (True, versions), shown
    counts = racing.place.watch.rows(COUNTS, [threads, threads])[0]
    total = versions * len(threads)
    assert counts == {"versions": total, "audited": total, "left_over": 0}


@pytest.mark.promise("HO-02")
@pytest.mark.field("FL-96")
def test_of_two_who_revise_at_once_one_wins(racing: Racing) -> None:
    threads, won = racing.opened(ROUNDS), Counter[str]()

    def once(thread: str) -> tuple[Answer, Answer]:
        one, other = ({"expected_version": 1, "body": f"by {who}"} for who in ("rosa", "sven"))
        answers = racing.at_once(f"{ALL}/{thread}/versions", one, other, by=("rosa", "sven"))
        (first,) = [it for it in answers if it.status == 201]
        (second,) = [it for it in answers if it.status == 409]
        facts = second.data["facts"]
        assert second.data["code"] == "handoff.stale"
        assert (facts["head"], facts["head_digest"]) == ("2", first.data["digest"])
        won[first.at] += 1
        return answers

    seconds = raced(threads, once)
    assert_whole(racing, threads, versions=2)
    racing.show("two revise", won, seconds)


@pytest.mark.promise("HO-02")
@pytest.mark.field("FL-96")
def test_a_revise_that_is_sent_twice_at_once_is_one_version(racing: Racing) -> None:
    threads, won = racing.opened(ROUNDS), Counter[str]()

    def once(thread: str) -> tuple[Answer, Answer]:
        same = {"expected_version": 1, "body": {"said": thread}}
        answers = racing.at_once(f"{ALL}/{thread}/versions", same, same, by=("rosa", "rosa"))
        assert sorted(it.status for it in answers) == [200, 201]
        assert answers[0].data == answers[1].data
        won.update(it.at for it in answers if it.status == 201)
        return answers

    seconds = raced(threads, once)
    assert_whole(racing, threads, versions=2)
    racing.show("one revise, sent twice", won, seconds)


@pytest.mark.promise("HO-05")
def test_a_thread_that_is_opened_twice_at_once_under_one_key_is_one(racing: Racing) -> None:
    threads: list[str] = []
    won = Counter[str]()

    def once(key: str) -> tuple[Answer, Answer]:
        given = {**BODY, "body": key}
        answers = racing.at_once(ALL, given, given, by=("sven", "sven"), key=key)
        assert sorted(it.status for it in answers) == [200, 201]
        assert answers[0].data == answers[1].data
        threads.append(answers[0].data["thread"])
        won.update(it.at for it in answers if it.status == 201)
        return answers

    seconds = raced([f"key-{it}" for it in range(ROUNDS)], once)
    assert_whole(racing, threads, versions=1)
    racing.show("one opening, sent twice", won, seconds)
