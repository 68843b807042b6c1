"""Evidence packs: what is exported verifies with nothing but Python, and whatever was done to it is said in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import call_command

from events import verify_pack
from events.identity import database_id
from events.models import Root
from events.pack import MISSION_CHAINS, Subject, run_subject, write_pack
from events.roots import root_line
from events.seal_heads import seal_now
from events.signing import signing_key
from events.verify_pack import Pins, Refused, check, main
from liyagent.core.canonical import canonical
from liyagent.core.errors import BadInput, Conflict, NotFound
from tests.unit.events.seals.chains import append, new_chain, sql, without_triggers

pytestmark = pytest.mark.usefixtures("fresh_db")

Lines = list[bytes]


def packed(subject: Subject, **options: int) -> Lines:
    out = BytesIO()
    write_pack(subject, out, **options)
    return out.getvalue().splitlines(keepends=True)


def a_pack(events: int = 5) -> Lines:
    chain = new_chain(events)
    return packed(run_subject(chain, chain))


def pins(**more: Any) -> Pins:
    return Pins(frozenset({signing_key().public}), **more)


def refusal(lines: Sequence[bytes], of: Pins | None = None) -> str:
    with pytest.raises(Refused) as refused:
        check(iter(lines), of or pins())
    return str(refused.value)


def changed(line: bytes, edit: Callable[[Any], None]) -> bytes:
    value = orjson.loads(line)
    edit(value)
    return canonical(value) + b"\n"


@pytest.mark.promise("EV-02")
def test_a_pack_of_a_run_holds_and_says_what_it_shows() -> None:
    new_chain()
    seal_now()
    told = check(iter(a_pack()), pins(database=str(database_id())))
    assert (told.chains, told.events, told.ended, told.missing) == (1, 5, 1, 0)
    assert "root 2 of 2026" in told.line() or "root 2 of " in told.line()
    assert signing_key().public in told.line()


@pytest.mark.promise("EV-02")
def test_a_pack_of_a_mission_holds_all_its_chains_from_several_roots() -> None:
    chains = []
    for _ in range(4):
        chains += [new_chain(mission="INC-7"), new_chain(1, mission="INC-7")]
        seal_now()
    append(chains[0], mission="INC-7", attempt=3)
    told = check(iter(packed(Subject(named={"mission": "INC-7"}, chains=chains))), pins())
    assert (told.chains, told.events) == (8, 17)


@pytest.mark.promise("EV-02")
def test_a_pack_shows_to_have_grown_out_of_any_older_root() -> None:
    for _ in range(6):
        new_chain(1)
        seal_now()
    chain = new_chain()
    for since in range(1, 8):
        lines = packed(run_subject(chain, chain), since=since)
        kept = orjson.loads(Root.objects.get(number=since).statement)
        assert check(iter(lines), pins(root=kept)).since == since
        other = {**kept, "log": "0" * 64}
        assert "not the one that you hold" in refusal(lines, pins(root=other))
        forged = changed(lines[2], lambda it: it["older"]["statement"].update(log="0" * 64))
        assert "not grown out of" in refusal([*lines[:2], forged, *lines[3:]])
    assert "that you hold" in refusal(packed(run_subject(chain, chain)), pins(root=kept))


@pytest.mark.promise("EV-02")
def test_a_pack_of_another_key_or_database_is_refused(with_keys: Callable[..., None]) -> None:
    with_keys(("other", b"o" * 32))
    lines, other = a_pack(), pins()
    with_keys(("ours", b"n" * 32))
    assert "the root is signed by another key" in refusal(lines)
    assert "of another database" in refusal(
        lines, Pins(other.keys, database="0190f5fe-7c00-7a00-8000-000000000001")
    )


@pytest.mark.promise("EV-02")
def test_a_chain_that_was_written_anew_with_fresh_hashes_and_sealed_again_is_not_the_one_of_the_root() -> (
    None
):
    chain = new_chain()
    seal_now()
    with without_triggers():
        sql("UPDATE events_runevent SET content = '{}', hash = sha256('x') WHERE number = 3")
        sql("UPDATE events_eventhead SET hash = sha256('x'), is_unsealed = true")
    with pytest.raises(Conflict, match="event 3"):
        packed(run_subject(chain, chain))


def test_what_was_appended_to_a_tampered_chain_is_not_exported_as_sealed() -> None:
    chain = new_chain()
    with without_triggers():
        sql(
            "UPDATE events_eventhead SET sealed_count = 2, seal = 'x', sealed_in = 1, seal_key = 'k'"
        )
    with pytest.raises(Conflict):
        packed(run_subject(chain, chain))


def test_what_has_no_event_has_no_pack() -> None:
    with pytest.raises(NotFound):
        packed(Subject(named={"mission": "m"}, chains=[]))
    chain = new_chain()
    with pytest.raises(NotFound):
        packed(run_subject(chain, chain), since=2)


@pytest.mark.promise("EV-02")
def test_the_file_alone_checks_a_pack_and_a_root_without_django_or_network(tmp_path: Path) -> None:
    lines = a_pack()
    pack, root, tool = tmp_path / "pack", tmp_path / "root", tmp_path / "verify_pack.py"
    pack.write_bytes(b"".join(lines))
    row = Root.objects.get(number=1)
    root.write_bytes(root_line(row.statement, row.signatures))
    tool.write_bytes(Path(verify_pack.__file__).read_bytes())

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(tool), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={},
        )
        return done.returncode, done.stdout + done.stderr

    key = ("--key", signing_key().public)
    code, told = run(str(pack), str(root), *key, "--database", str(database_id()))
    assert (code, told.count("\n"), told.count(": holds: ")) == (0, 2, 2)
    code, told = run(str(pack), *key, "--root", str(root))
    assert code == 1
    assert "REFUSED" in told
    pack.write_bytes(b"".join(lines[:-1]))
    code, told = run(str(pack), str(root), str(tmp_path / "none"), *key)
    assert (code, told.count("REFUSED"), told.count("NOT READ"), told.count("\n")) == (1, 1, 1, 3)
    assert run(str(pack), "--key", "xyz")[0] == 2
    assert run(str(pack), *key, "--root", str(pack))[0] == 2


def test_the_name_of_a_file_is_taken_for_no_line_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = (b"a\nb: holds: run 1", b"\xff", "\u202ename".encode())
    paths = [os.fsdecode(os.path.join(os.fsencode(tmp_path), it)) for it in names]
    for path in paths:
        Path(path).write_bytes(b"{}\n")
    assert main([*paths, "--key", "0" * 64]) == 1
    told = capsys.readouterr().out
    assert told.isascii()
    assert [": REFUSED: " in it for it in told.splitlines()] == [True] * len(paths)


@pytest.mark.promise("EV-02")
def test_the_command_exports_a_run_and_a_mission_into_a_new_file_and_never_over_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = new_chain(mission="INC-9")
    monkeypatch.setattr(
        "events.pack.MISSION_CHAINS",
        [lambda mission, limit: [chain][: limit * (mission == "INC-9")]],
    )
    out = tmp_path / "one"
    call_command("events", "export", "--run", str(chain), "--out", str(out))
    assert "intact, chains: 1, events: 3, runs ended: 1" in capsys.readouterr().out
    assert out.stat().st_mode & 0o777 == 0o600
    check(iter(out.read_bytes().splitlines(keepends=True)), pins())
    with pytest.raises(Conflict):
        call_command("events", "export", "--run", str(chain), "--out", str(out))
    monkeypatch.chdir(tmp_path)
    call_command("events", "export", "--mission", "INC-9", "--since-root", "1")
    assert (tmp_path / "evidence-mission-INC-9.jsonl").exists()
    for wrong in ("INC-8", "INC 9\r\n"):
        with pytest.raises((BadInput, NotFound)):
            call_command("events", "export", "--mission", wrong)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["evidence-mission-INC-9.jsonl", "one"]


def test_the_command_tells_the_keys_to_pin(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("events", "key")
    told = capsys.readouterr().out
    assert f"key {signing_key().public}" in told
    assert str(database_id()) in told
    assert MISSION_CHAINS
