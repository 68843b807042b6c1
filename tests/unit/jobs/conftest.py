"""Jobs of a kind that a test makes, sources in folders, and processes that die with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from pytest_django.plugin import DjangoDbBlocker

from liyagent.audit.models import AuditRow
from liyagent.jobs.ask import ask_for
from liyagent.jobs.handlers import HANDLERS, Handler, Step
from liyagent.jobs.models import Job
from liyagent.jobs.sources.models import Document, Source
from liyagent.jobs.sources.save import save_source
from liyagent.jobs.sources.sync import ask_sync
from liyagent.jobs.take import IN_HAND
from liyagent.jobs.work import work_due
from liyagent.leases.holding import end_holder, register_holder
from liyagent.leases.identity import own_identity
from liyagent.leases.own import OWN
from tests.databases import FreshDatabase


class Killed(BaseException):
    """The process is gone: nothing of it catches this."""


def never() -> bool:
    return False


@dataclass(slots=True)
class Hand:
    """One process that works on jobs."""

    holder: UUID

    def work(self, give_up: Callable[[], bool] = never) -> int:
        """Work on what is due, as its round does."""
        OWN.holder = self.holder
        return work_due(give_up)

    def die(self) -> None:
        """It is found to be gone; what it had in hand is not another's in this test's process."""
        end_holder(self.holder)
        IN_HAND.__init__()  # type: ignore[misc]


@dataclass(slots=True)
class Shop:
    """What a test works with. `steps` are what the kind `counting` does, one number each."""

    url: str
    root: Path
    steps: list[int] = field(default_factory=list)
    before: Callable[[int], None] = lambda _number: None
    numbers: int = 3
    again_in: float = 0.0

    def hand(self, name: str = "a") -> Hand:
        return Hand(
            register_holder(own_identity(), name=name, lease_seconds=30, formats=[1], key_ids=["k"])
        )

    def ask(self, kind: str = "counting", subject: str = "it", **facts: Any) -> Job:
        return ask_for(kind, subject, asked_by="olga", **facts).job

    def count(self, job: Job) -> Iterator[Step]:
        for number in range(job.cursor.get("at", 0) + 1, self.numbers + 1):
            self.before(number)
            yield Step(
                cursor={"at": number}, done=number, total=self.numbers, words=f"number {number}",
                keep=partial(self.steps.append, number), again_in=self.again_in,
            )  # fmt: skip

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement on a connection of its own."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def audit(self, action: str) -> list[dict[str, Any]]:
        return list(AuditRow.objects.filter(action=action).order_by("id").values_list("detail", flat=True))  # fmt: skip

    def folder(self, **files: str | bytes) -> Path:
        """Write files into the folder; `a_md` is `a.md`."""
        for name, content in files.items():
            path = self.root / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.root

    def source(self, key: str = "handbook", agents: tuple[str, ...] = ("triage",)) -> Source:
        given = {"kind": "folder", "agents": list(agents), "settings": {"folder": str(self.root)}}
        return save_source(key, given, actor="olga")

    def sync(self, key: str = "handbook", *, by: Hand | None = None) -> Job:
        """Ask for a sync, and have it done."""
        job = ask_sync(key, asked_by="olga").job
        (by or self.hand()).work()
        job.refresh_from_db()
        return job

    def documents(self) -> dict[str, str]:
        return dict(Document.objects.order_by("path").values_list("path", "text"))


@pytest.fixture
def shop(
    fresh_db: FreshDatabase,
    django_db_blocker: DjangoDbBlocker,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Shop]:
    """A database, a folder that may be read, and two kinds that count: one resumable, one not."""
    root = (tmp_path / "docs").resolve()
    root.mkdir()
    conf = dataclasses.replace(settings.LIYAGENT, source_roots=(root,))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setattr(OWN, "holder", None)
    it = Shop(url=fresh_db.url, root=root)
    monkeypatch.setitem(HANDLERS, "counting", Handler(steps=it.count))
    monkeypatch.setitem(HANDLERS, "once", Handler(steps=it.count, is_resumable=False))
    with django_db_blocker.unblock():
        yield it
    IN_HAND.__init__()  # type: ignore[misc]
