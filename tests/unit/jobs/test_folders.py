"""A folder's documents are kept in step: what is unchanged is not written, what is gone goes, what is away stays."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

import pytest
from django.conf import settings

from liyagent.jobs.sources import folder, origin, sync
from liyagent.jobs.sources.errors import SourceInvalid, SourceUnknown
from liyagent.jobs.sources.folder import Folder
from liyagent.jobs.sources.keep import keep_document
from liyagent.jobs.sources.models import Document, Source
from liyagent.jobs.sources.origin import Content
from liyagent.jobs.sources.save import find_source, remove_source, save_source
from liyagent.jobs.sources.sync import ask_sync
from tests.unit.jobs.conftest import Killed, Shop


def test_a_sync_keeps_what_a_folder_holds_and_writes_nothing_twice(shop: Shop) -> None:
    shop.folder(a_md="# Printers\nTurn it off and on.", sub__b_txt="Disks fill.", c_bin=b"\x01", d_html="<h1>Mail</h1><p>Ask")  # fmt: skip
    shop.source()
    job = shop.sync()
    assert (job.status, job.done, job.total, job.cursor["written"]) == ("done", 3, 3, 3)
    assert shop.documents() == {"a.md": "# Printers\nTurn it off and on.", "d.html": "Mail\nAsk", "sub/b.txt": "Disks fill."}  # fmt: skip
    assert Document.objects.get(path="a.md").title == "Printers"
    before = dict(Document.objects.values_list("path", "fetched_at"))
    shop.folder(a_md="# Printers\nBuy a new one.")
    (shop.root / "sub/b.txt").unlink()
    assert shop.sync().cursor["written"] == 1
    after = dict(Document.objects.values_list("path", "fetched_at"))
    assert set(after) == {"a.md", "d.html"}
    assert (after["d.html"] == before["d.html"], after["a.md"] == before["a.md"]) == (True, False)


@pytest.mark.promise("CR-06")
def test_killed_at_every_step_it_loses_nothing_and_repeats_no_more_than_one_document(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number}.md" for number in range(6)]
    for name in names:
        (shop.root / name).write_text(f"text of {name}")
    shop.source()
    shop.sql("CREATE TABLE written (path text)")
    shop.sql("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO written VALUES (NEW.path); RETURN NEW; END $$")  # fmt: skip
    shop.sql("CREATE TRIGGER note AFTER INSERT OR UPDATE ON sources_document FOR EACH ROW EXECUTE FUNCTION note()")  # fmt: skip
    read: list[str] = []
    deaths = {"before": list(names), "after": list(names)}
    as_it_is = Folder.read

    def reading(self: Folder, path: str) -> Content:
        if path in deaths["before"]:
            deaths["before"].remove(path)
            raise Killed
        read.append(path)
        content = as_it_is(self, path)
        if path in deaths["after"]:
            deaths["after"].remove(path)
            raise Killed
        return content

    monkeypatch.setattr(Folder, "read", reading)
    job = ask_sync("handbook", asked_by="olga").job
    for number in range(12):
        hand = shop.hand(str(number))
        with pytest.raises(Killed):
            hand.work()
        hand.die()
    shop.hand("last").work()
    job.refresh_from_db()
    assert (job.status, job.losses, job.done) == ("done", 12, 6)
    assert sorted(shop.documents()) == names
    # Each was read, lost with its process, and read once again; written once.
    assert read == [name for name in names for _ in range(2)]
    assert [row[0] for row in shop.sql("SELECT path FROM written ORDER BY path")] == names


@pytest.mark.promise("CR-06")
def test_killed_between_the_write_of_a_document_and_its_commit_it_is_written_once_and_not_lost(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.folder(a_md="one", b_md="two")
    shop.source()
    left = ["a.md", "b.md"]

    def keeping(source: Source, path: str, content: Content, digest: str) -> None:
        keep_document(source, path, content, digest)
        if path in left:
            left.remove(path)
            raise Killed

    monkeypatch.setattr(sync, "keep_document", keeping)
    job = ask_sync("handbook", asked_by="olga").job
    for name in "ab":
        hand = shop.hand(name)
        with pytest.raises(Killed):
            hand.work()
        hand.die()
    shop.hand("c").work()
    job.refresh_from_db()
    assert (job.status, job.losses, job.cursor["written"]) == ("done", 2, 2)
    assert shop.documents() == {"a.md": "one", "b.md": "two"}


@pytest.mark.promise("CR-06")
def test_a_source_that_vanishes_mid_sync_fails_the_job_and_leaves_what_was_there(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.folder(a_md="one", b_md="two", c_md="three")
    shop.source()
    shop.sync()
    shop.folder(a_md="one more")
    as_it_is = Folder.read

    def reading(self: Folder, path: str) -> Content:
        if path == "b.md":
            shutil.rmtree(shop.root)
        return as_it_is(self, path)

    monkeypatch.setattr(Folder, "read", reading)
    job = shop.sync()
    assert (job.status, job.done) == ("failed", 1)
    assert "is not there any more" in job.reason
    assert shop.documents() == {"a.md": "one more", "b.md": "two", "c.md": "three"}
    assert "no folder" in shop.sync().reason
    # A mount that is gone leaves an empty folder behind.
    shop.root.mkdir()
    job = shop.sync()
    assert (job.status, len(shop.documents())) == ("failed", 3)
    assert "nothing is left" in job.reason


def test_emptied_while_it_is_read_it_forgets_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    shop.folder(a_md="one", b_md="two")
    shop.source()
    shop.sync()
    as_it_is = Folder.read

    def reading(self: Folder, path: str) -> Content:
        (shop.root / path).unlink()
        return as_it_is(self, path)

    monkeypatch.setattr(Folder, "read", reading)
    job = shop.sync()
    assert (job.status, len(shop.documents())) == ("failed", 2)


def test_what_cannot_be_read_is_named_and_the_rest_is_done(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(folder, "MOST_BYTES", 100)
    shop.folder(a_md="fine", b_md="x" * 101, c_md=b"\x00\x01", d_md="fine too")
    os.mkfifo(shop.root / "e.md")
    shop.source()
    job = shop.sync()
    assert (job.status, job.done) == ("failed", 4)
    assert job.reason == "2 of 4 could not be read: b.md has more than 100 bytes; c.md is no text"
    assert sorted(shop.documents()) == ["a.md", "d.md"]


def test_nothing_outside_of_the_folder_is_read(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("do not read")
    shop.folder(a_md="fine", sub__key_txt="fine")
    (shop.root / "link.txt").symlink_to(secret / "key.txt")
    (shop.root / "away").symlink_to(secret)
    (shop.root / ".hidden.md").write_text("hidden")
    shop.source()
    assert shop.sync().status == "done"
    assert sorted(shop.documents()) == ["a.md", "sub/key.txt"]
    as_it_is = Folder.read

    def reading(self: Folder, path: str) -> Content:
        if path == "sub/key.txt":
            shutil.rmtree(shop.root / "sub")
            (shop.root / "sub").symlink_to(secret)
        return as_it_is(self, path)

    monkeypatch.setattr(Folder, "read", reading)
    job = shop.sync()
    assert (job.status, "outside of the folder" in job.reason) == ("failed", True)
    assert "do not read" not in shop.documents().values()


def test_too_many_documents_are_refused_and_none_is_left_out_in_silence(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(origin, "MOST_DOCUMENTS", 2)
    shop.folder(a_md="1", b_md="2", c_md="3")
    shop.source()
    job = shop.sync()
    assert (job.status, "split it" in job.reason, shop.documents()) == ("failed", True, {})


def test_a_text_of_more_words_than_postgresql_indexes_is_kept_shorter(shop: Shop) -> None:
    # Long compounds of three bytes a letter: each is indexed as a whole and by its parts.
    halves = [
        chr(0x4E00 + it % 5000) + chr(0x4E00 + it // 5000) + "\u4e8c" * 28 for it in range(6_000)
    ]
    words = " ".join(f"{one}-{two}" for one, two in zip(halves[::2], halves[1::2], strict=True))
    shop.folder(a_md=words, b_md="x" * 300_000)
    shop.source()
    assert shop.sync().status == "done"
    assert [len(it) for it in shop.documents().values()] == [20_000, 200_000]
    assert all(Document.objects.values_list("is_cut", flat=True))


BAD = [
    ({"kind": "ftp"}, "kind", "wants one of folder"),
    ({"agents": ["a b"]}, "agents", "keys of agents"),
    ({"agents": "triage"}, "agents", "keys of agents"),
    ({"settings": {"folder": "/etc"}}, "settings", "folder wants a folder below"),
    ({"settings": {"folder": "relative"}}, "settings", "an absolute path"),
    ({"settings": {"folder": "{root}/../.."}}, "settings", "a folder below"),
    ({"settings": {"folder": "{root}/none"}}, "settings", "no folder that can be seen"),
    ({"settings": {"url": "x"}}, "settings", "folder alone"),
    ({"settings": []}, "settings", "folder alone"),
    ({"owner": "me"}, "owner", "is not known"),
    ({"kind": "urls", "settings": {"urls": ["file:///etc/passwd"]}}, "settings", "urls has"),
    ({"kind": "urls", "settings": {"urls": ["http://169.254.169.254/"]}}, "settings", "urls has"),
    ({"kind": "urls", "settings": {"urls": []}}, "settings", "1 to 500"),
    ({"kind": "mcp_resources", "settings": {"server": "none"}}, "settings", "a tool server"),
]


@pytest.mark.parametrize(("facts", "name", "said"), BAD, ids=lambda it: str(it)[:40])
def test_a_source_that_cannot_be_used_is_refused_by_field(shop: Shop, facts: dict[str, object], name: str, said: str) -> None:  # fmt: skip
    given = {"kind": "folder", "agents": ["triage"], "settings": {"folder": str(shop.root)}}
    told = {key: _rooted(value, shop.root) for key, value in {**given, **facts}.items()}
    with pytest.raises(SourceInvalid) as refused:
        save_source("handbook", told, actor="olga")
    assert [it["field"] for it in refused.value.errors] == [name]
    assert said in refused.value.errors[0]["detail"]
    assert not Source.objects.exists()


def _rooted(value: object, root: Path) -> object:
    if isinstance(value, dict) and "{root}" in str(value.get("folder")):
        return {"folder": value["folder"].replace("{root}", str(root))}
    return value


def test_a_source_is_changed_in_part_and_removed_with_its_documents(shop: Shop) -> None:
    with pytest.raises(SourceInvalid, match="agents is missing; settings is missing"):
        save_source("handbook", {"kind": "folder"}, actor="olga")
    shop.folder(a_md="one")
    shop.source()
    shop.sync()
    waiting = ask_sync("handbook", asked_by="olga").job
    assert save_source("handbook", {"agents": ["ops-*"]}, actor="otto").agents == ["ops-*"]
    assert ask_sync("handbook", asked_by="olga").job.id == waiting.id
    with pytest.raises(SourceInvalid, match="urls alone"):
        save_source("handbook", {"kind": "urls"}, actor="otto")
    (shop.root / "inner").mkdir()
    save_source("handbook", {"settings": {"folder": str(shop.root / "inner")}}, actor="otto")
    waiting.refresh_from_db()
    assert (waiting.status, waiting.reason) == ("cancelled", "the source was changed")
    last = ask_sync("handbook", asked_by="olga").job
    remove_source("handbook", actor="otto")
    last.refresh_from_db()
    assert (last.status, shop.documents()) == ("cancelled", {})
    assert shop.audit("source.removed") == [{"source": "handbook", "documents": 1}]
    with pytest.raises(SourceUnknown, match="none yet"):
        find_source("handbook")


def test_a_root_that_the_settings_name_no_more_is_read_no_more(shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # fmt: skip
    shop.folder(a_md="one")
    shop.source()
    shop.sync()
    conf = dataclasses.replace(settings.LIYAGENT, source_roots=(tmp_path / "other",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    job = shop.sync()
    assert (job.status, "wants a folder below" in job.reason) == ("failed", True)
    assert shop.documents() == {"a.md": "one"}
