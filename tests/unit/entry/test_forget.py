"""An answer is kept until it was handed on, and a while longer; what is over goes, oldest first (CR-08)."""

from __future__ import annotations

import dataclasses

import pytest
from django.conf import LazySettings

from liyagent.agents.models import Agent
from liyagent.entry.arrive import Arriving, Owed, arrive
from liyagent.entry.begin import begin_arrival
from liyagent.entry.forget import forget_old
from liyagent.entry.models import Arrival, Delivery
from liyagent.transcripts.models import Transcript
from runs.head import answer_of
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, never, says

WORD = "grown-by-20-GB"


def answered(world: World, *, kinds: tuple[str, ...] = ("answer",), recording: str) -> Run:
    Agent.objects.update(recording=recording)
    world.model.steps = [says(WORD)]
    arrived = arrive(
        Arriving(
            way="teams",
            source="bot",
            delivery_id=f"d-{Arrival.objects.count()}",
            agent_key="triage",
            started_by="ops",
            words={"task": "look"},
            owed=[Owed(kind=it, address={}) for it in kinds],
        )
    )
    begin_arrival(arrived.run_id)
    return world.process().carry()


def settled(world: World, *, days: float, state: str = "delivered") -> None:
    """Let all be settled so long ago, and their runs have ended then."""
    world.sql(
        "UPDATE entry_delivery SET state = %s, settled_at = liyagent_now() - make_interval(secs => %s * 86400)",
        state,
        days,
    )
    for run in Run.objects.all():
        ended(world, run, days=days)


def ended(world: World, run: Run, *, days: float) -> None:
    world.sql(
        "UPDATE runs_run SET status = 'answered', ended_at = liyagent_now() - make_interval(secs => %s * 86400) WHERE id = %s",
        days,
        run.id,
    )


@pytest.mark.promise("CR-08")
@pytest.mark.parametrize(("days", "is_kept"), [(6.9, True), (7.1, False)])
def test_a_metadata_answer_goes_a_week_after_it_was_handed_on(
    world: World, days: float, is_kept: bool
) -> None:
    run = answered(world, recording="metadata")
    settled(world, days=days)
    forget_old(never)
    assert Transcript.objects.filter(run_id=run.id).exists() is is_kept
    assert Delivery.objects.exists() is is_kept


@pytest.mark.promise("CR-08")
@pytest.mark.parametrize(("days", "is_kept"), [(1.9, True), (2.1, False)])
def test_how_many_days_it_is_kept_is_a_setting(
    world: World, settings: LazySettings, days: float, is_kept: bool
) -> None:
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, answer_seconds=2 * 86_400.0)
    run = answered(world, recording="metadata")
    settled(world, days=days)
    forget_old(never)
    assert Transcript.objects.filter(run_id=run.id).exists() is is_kept


@pytest.mark.promise("CR-08")
@pytest.mark.parametrize(
    ("recording", "where"), [("metadata", set()), ("full", {"events_runevent"})]
)
def test_a_kept_answer_stands_nowhere_in_the_database_but_sealed(
    world: World, recording: str, where: set[str]
) -> None:
    """But for events that are to be recorded in full."""
    run = answered(world, recording=recording)
    assert answer_of(Run.objects.get(id=run.id))["answer"] == WORD
    tables = [it for (it,) in world.sql("SELECT quote_ident(relname) FROM pg_stat_user_tables")]
    assert {"transcripts_transcript", "entry_delivery", "runs_run"} <= set(tables)
    looks = [f"%{WORD}%", f"%{WORD.encode().hex()}%"]
    found = "SELECT 1 FROM {} AS t WHERE t::text LIKE ANY(%s)"
    assert {it for it in tables if world.sql(found.format(it), looks)} == where


@pytest.mark.promise("CR-08")
def test_an_answer_that_was_not_handed_on_stays(world: World) -> None:
    run = answered(world, recording="metadata", kinds=("answer", "copy"))
    settled(world, days=8)
    world.sql("UPDATE entry_delivery SET state = 'pending', settled_at = NULL WHERE kind = 'copy'")
    forget_old(never)
    assert Transcript.objects.filter(run_id=run.id).exists()
    assert list(Delivery.objects.values_list("kind", flat=True)) == ["copy"]


def test_the_words_of_a_run_recorded_in_full_stay(world: World) -> None:
    run = answered(world, recording="full")
    settled(world, days=8)
    forget_old(never)
    assert not Delivery.objects.exists()
    assert Transcript.objects.filter(run_id=run.id).exists()


@pytest.mark.parametrize("state", ["delivered", "dead", "unconfirmed", "closed"])
def test_what_belongs_to_a_run_that_waits_stays(world: World, state: str) -> None:
    """A card that was posted a month ago is still to be brought up to date when somebody decides."""
    run = answered(world, recording="metadata")
    settled(world, days=40, state=state)
    world.sql("UPDATE runs_run SET ended_at = NULL, status = 'waiting' WHERE id = %s", run.id)
    forget_old(never)
    assert Delivery.objects.exists()
    assert Transcript.objects.exists()
    ended(world, run, days=0)
    forget_old(never)
    assert Delivery.objects.exists()
    ended(world, run, days=31)
    forget_old(never)
    assert not Delivery.objects.exists()
    assert not Transcript.objects.exists()


@pytest.mark.promise("CR-08")
def test_the_answer_of_a_run_that_told_before_its_end_is_kept_from_its_end_on(world: World) -> None:
    """What was told of it was that it waits, and its caller had the rest of the telling taken back: the answer is asked for."""
    run = answered(world, recording="metadata")
    settled(world, days=8)
    ended(world, run, days=6.9)
    forget_old(never)
    assert Transcript.objects.filter(run_id=run.id).exists()
    ended(world, run, days=7.1)
    forget_old(never)
    assert not Transcript.objects.exists()


def test_what_was_given_up_stays_a_month(world: World) -> None:
    answered(world, recording="metadata")
    settled(world, days=29, state="dead")
    forget_old(never)
    assert Delivery.objects.exists()
    assert Transcript.objects.exists()
    settled(world, days=31, state="dead")
    forget_old(never)
    assert not Delivery.objects.exists()
    assert not Transcript.objects.exists(), "nobody is left to hand it on to"


@pytest.mark.field("FL-70")
def test_an_arrival_is_known_for_a_month_after_it_ended(world: World) -> None:
    answered(world, recording="metadata")
    world.sql("UPDATE entry_arrival SET ended_at = liyagent_now() - interval '29 days'")
    forget_old(never)
    assert Arrival.objects.exists()
    world.sql("UPDATE entry_arrival SET ended_at = liyagent_now() - interval '31 days'")
    forget_old(never)
    assert not Arrival.objects.exists()


def test_a_look_is_bounded(world: World) -> None:
    for _ in range(3):
        answered(world, recording="metadata")
    settled(world, days=8)
    assert forget_old(never, limit=2) == 2
    assert Delivery.objects.count() == 1
