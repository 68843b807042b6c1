"""What the owner of the tables can do with the triggers off, and who serves with its rights: each is found, and by what."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from events.export_roots import compare_at_start, compare_now, export_due
from events.pack import run_subject, write_pack
from events.seal_heads import seal_now
from events.signing import signing_key
from events.verify_pack import Pins, Refused, check
from liyagent.audit.models import AuditRow
from liyagent.core.conf import Conf
from liyagent.core.errors import LiyagentError
from runs.models import Run
from tests.databases import FreshDatabase, Template, close_connections
from tests.flows.conftest import READER, Api, api_of, make_user
from tests.unit.events.attacks import tampering as by
from tests.unit.events.attacks.conftest import Roles
from tests.unit.events.attacks.tampering import Attack, then_rehash, unseal, without_triggers
from tests.unit.runs.carrying.conftest import World, calls, never, says

HOURS_AGO = """
CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$ SELECT clock_timestamp() - interval '{hours} hours' $$
"""
HOLDS, REFUSED = "holds", "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What each look says of a run.

    `api`: why `GET /api/run-events` says that it is not intact; else what it lacks, or `differs` from its checkpoint; else its
    status where that is none. `verify`: the reasons of the lines that `events verify --all` tells as BROKEN. `pack`:
    whether a pack can be made that holds for who pinned the key, and whether it tells of an end.
    """

    api: str
    verify: frozenset[str]
    pack: str


AS_IT_WAS = Seen(api="intact", verify=frozenset(), pack=f"{HOLDS}, ended")


def saw(api: str, *verify: str, pack: str = REFUSED) -> Seen:
    """What is expected."""
    return Seen(api=api, verify=frozenset(verify), pack=pack)


def ended(world: World) -> Run:
    """A run that ended, its record under a root."""
    run = world.start(calls(("v/look", {}), ("v/keyed", {"title": "disk"})), says("done"))
    assert world.process().carry().status == "answered"
    seal_now()
    return Run.objects.get(id=run.id)


def look(api: Api, run: Run, *, where: str = "") -> Seen:
    """Ask all three about a run."""
    return Seen(
        api=told(api, run), verify=verified(where or str(run.correlation_id)), pack=packed(run)
    )


def told(api: Api, run: Run) -> str:
    """What the API says."""
    answer = api.get(f"/api/run-events/{run.id}")
    if answer.status != 200:
        return str(answer.status)
    found = answer.data
    if found["broken"]:
        return str(found["broken"]["reason"])
    if found["lacks"] is None:
        return "purged" if "purged" in found["not_judged"] else str(found["not_judged"])
    lacks = [it["reason"] for it in found["lacks"]]
    return " ".join(lacks) or ("intact" if found["agrees"] else "differs")


def verified(where: str) -> frozenset[str]:
    """Ask the shell; the reasons of what is broken there."""
    out = io.StringIO()
    with suppress(CommandError):
        call_command("events", "verify", "--all", stdout=out, stderr=io.StringIO())
    lines = [it for it in out.getvalue().splitlines() if it.startswith("BROKEN")]
    return frozenset(it.split(": ")[1] for it in lines if where in it.split(": ")[0])


def packed(run: Run) -> str:
    """Make a pack, and check it as an auditor does."""
    out, pins = io.BytesIO(), Pins(frozenset({signing_key().public}))
    try:
        write_pack(run_subject(run.id, run.correlation_id), out)
        found = check(iter(out.getvalue().splitlines(keepends=True)), pins)
    except (Refused, LiyagentError):
        return REFUSED
    return f"{HOLDS}, {'ended' if found.ended else 'not ended'}"


OWNERS: dict[str, tuple[Attack, Seen]] = {
    "edit": (by.edit, saw("changed", "changed")),
    "drop": (by.drop, saw("out_of_order", "out_of_order")),
    "reorder": (by.swap, saw("changed", "changed")),
    "cut the front": (by.cut_front, saw("out_of_order", "out_of_order")),
    "cut the tail": (by.cut, saw("cut_off", "cut_off", "cut")),
    "cut the tail and put the head back": (then_rehash(by.cut), saw("put_back", "put_back", "cut")),
    # It is sealed anew, as what it is now; an older root tells of more.
    "put an older head back, its seal taken off": (
        unseal(then_rehash(by.cut)), saw("no_end", "cut", pack=f"{HOLDS}, not ended"),
    ),
    "rewrite from the middle with fresh hashes": (then_rehash(by.edit), saw("forged", "forged", "rewritten")),
    "rewrite so, its seal taken off": (unseal(then_rehash(by.edit)), saw("forged", "forged", "rewritten")),
    "drop, with fresh hashes": (then_rehash(by.drop), saw("left_out", "left_out", "cut")),
    "reorder, with fresh hashes": (then_rehash(by.swap), saw("left_out", "left_out", "rewritten")),
    "call one a gap, with fresh hashes": (
        then_rehash(by.tell_of_a_gap), saw("sealed_otherwise", "sealed_otherwise", "rewritten"),
    ),
    "delete the head": (by.delete_head, saw("no_head", "no_head")),
    "forge an event by hand": (by.forge_by_hand, saw("out_of_order", "out_of_order")),
    "delete the run with its head": (by.delete_all, saw("404", "deleted")),
    "purge too early": (by.purge_too_early, saw("purged", "purged_early")),
}  # fmt: skip
# Who serves has the rights of a process, and not its keys.
SERVERS: dict[str, tuple[Attack, Seen]] = {
    "forge an event": (by.forge_untagged, saw("untagged", "untagged")),
    "forge an event with the tag of another": (by.forge_with_a_tag, saw("forged", "forged")),
    "put an event in again": (by.put_in_again, saw("doubled", "doubled")),
    # The root holds it as it was, and so does what can be shown of it.
    "spoil the seal": (
        by.spoil_seal,
        saw("sealed_otherwise", "sealed_otherwise", pack=AS_IT_WAS.pack),
    ),
    # What it wrote since is in no root, and a pack would leave it out.
    "keep what comes from being sealed": (
        by.keep_unsealed,
        saw("untagged", "untagged", "kept_unsealed"),
    ),
    "say that the run did otherwise": (by.edit_run, saw("differs", pack=AS_IT_WAS.pack)),
    "delete a mark": (by.edit_call, saw("differs", pack=AS_IT_WAS.pack)),
}


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_what_the_owner_does_with_the_triggers_off_is_found(
    served_world: World, roles: Roles
) -> None:
    api = api_of(make_user("rita", *READER))
    assert look(api, ended(served_world)) == AS_IT_WAS
    found: dict[str, Seen] = {}
    for name, (attack, _) in OWNERS.items():
        run = ended(served_world)
        with roles.as_owner() as session, without_triggers(session):
            attack(session, run.correlation_id)
        found[name] = look(api, run)
    assert found == {name: expected for name, (_, expected) in OWNERS.items()}


@pytest.mark.promise("EV-02")
def test_what_can_be_forged_with_the_rights_of_who_serves_is_found(
    served_world: World, roles: Roles
) -> None:
    api = api_of(make_user("rita", *READER))
    found: dict[str, Seen] = {}
    for name, (attack, _) in SERVERS.items():
        run = ended(served_world)
        with roles.as_runtime() as session:
            attack(session, run.correlation_id)
        found[name] = look(api, run)
    assert found == {name: expected for name, (_, expected) in SERVERS.items()}


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_a_run_that_never_was_is_found(served_world: World, roles: Roles) -> None:
    """Forged with the rights of who serves: a row, a head, and events without a key. And copied by the owner from another."""
    api = api_of(make_user("rita", *READER))
    run = ended(served_world)
    with roles.as_runtime() as session:
        forged = by.forge_run(session, run.correlation_id)
    found = look(api, Run.objects.get(id=forged))
    assert found == saw("untagged", "untagged")
    with roles.as_owner() as session, without_triggers(session):
        copied = by.copy_to_another_run(session, run.correlation_id)
    assert verified(str(copied)) == {"changed", "kept_unsealed"}
    assert look(api, run) == AS_IT_WAS


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_a_run_that_is_said_to_be_of_before_tags_is_found(
    served_world: World, roles: Roles
) -> None:
    """Only what the first roots closed over needs no tag, whatever a head says, and whatever was sealed of it since."""
    api = api_of(make_user("rita", *READER))
    with roles.as_owner() as session:
        session.execute(HOURS_AGO.format(hours=2))
        run = ended(served_world)
        of_before = by.forge_run_of_before_tags(session, run.correlation_id)
        seal_now()
        session.execute(HOURS_AGO.format(hours=0))
    seen = look(api, Run.objects.get(id=of_before))
    assert seen == Seen(api="before_tags", verify=frozenset(), pack=AS_IT_WAS.pack)
    with roles.as_owner() as session:
        forged = by.forge_run_of_before_tags(session, run.correlation_id)
    seal_now()
    assert look(api, Run.objects.get(id=forged)) == saw("untagged", "untagged")
    assert look(api, run) == AS_IT_WAS


@pytest.mark.promise("EV-02")
def test_a_record_that_is_truncated_as_a_whole_is_found(served_world: World, roles: Roles) -> None:
    runs = [ended(served_world) for _ in range(2)]
    with roles.as_owner() as session, without_triggers(session):
        by.truncate(session, runs[0].correlation_id)
    for run in runs:
        assert verified(str(run.correlation_id)) == {"deleted"}
    with roles.as_owner() as session, without_triggers(session):
        session.execute("TRUNCATE events_root")
    ended(served_world)
    assert verified("root") == frozenset()


@pytest.mark.promise("EV-02")
def test_a_root_that_who_serves_forges_is_found(served_world: World, roles: Roles) -> None:
    ended(served_world)
    with roles.as_runtime() as session:
        session.execute(
            "INSERT INTO events_root SELECT number + 1, epoch, at, statement, signatures, heads, certificates, nodes"
            " FROM events_root ORDER BY number DESC LIMIT 1"
        )
    assert verified("root 2") == {"unlinked"}


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the test's database, taken once, and put back in its place."""

    template: Template
    name: str

    def take(self) -> None:
        """Copy it; nobody may be connected."""
        close_connections()
        self.template.clone(f"{self.name}_backup", source=self.name)

    def put_back(self) -> None:
        """Forget all that came after."""
        close_connections()
        self.template.clone(self.name, source=f"{self.name}_backup")


@pytest.fixture
def backup(fresh_db: FreshDatabase, migrated_template: Template) -> Iterator[Backup]:
    yield Backup(migrated_template, fresh_db.name)
    migrated_template.drop(f"{fresh_db.name}_backup")


@pytest.fixture
def exporting(tmp_path: Path, served: Roles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots are exported to a directory."""
    conf: Conf = settings.LIYAGENT
    roots = dataclasses.replace(conf.roots, export=str(tmp_path))
    monkeypatch.setattr(settings, "LIYAGENT", dataclasses.replace(conf, roots=roots))


@pytest.mark.promise("EV-02")
@pytest.mark.usefixtures("exporting")
def test_a_database_that_was_rolled_back_resumes_nothing(
    served_world: World, backup: Backup, caplog: pytest.LogCaptureFixture
) -> None:
    """A backup is put back under the processes: what an exported root holds is not there any more."""
    world = served_world
    ended(world)
    lost, first = world.start(calls(("v/keyed", {"title": "a"})), says("done")), world.process("a")
    first.take()
    assert export_due(never) == 1
    backup.take()
    world.prove_dead(first)
    assert world.process("b").carry().status == "answered"
    seal_now()
    assert export_due(never) == 1
    assert compare_now() is None
    backup.put_back()
    assert verified("target of roots") == {"behind"}
    effects = list(world.vendor.rows)
    compare_at_start()
    assert "ROLLED BACK" in caplog.text
    world.prove_dead(first)
    run = world.process("c").carry()
    assert (run.id, run.status, run.error) == (lost.id, "failed", "agent.contained")
    assert world.vendor.rows == effects
    assert AuditRow.objects.filter(action="events.rollback_found").count() == 1
