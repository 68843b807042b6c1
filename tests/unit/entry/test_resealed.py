"""What the ways in keep sealed is sealed anew like runs, and no table with sealed words is forgotten (ruling 16, FL-41)."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pytest
from django.apps import apps
from django.db.models import BinaryField, Model
from pytest_django import Settings

from liyagent.approvals.models import Approval
from liyagent.core.ids import new_id
from liyagent.core.seal import KeyMissing
from liyagent.entry.a2a.models import PushConfig, Task
from liyagent.entry.a2a.push import CREDENTIALS, secrets_of
from liyagent.entry.a2a.tell import parts_of, seal_message
from liyagent.entry.arrive import Arriving, arrive
from liyagent.entry.begin import begin_arrival
from liyagent.entry.copilot.models import Conversation, Turn
from liyagent.entry.copilot.words import asked_in, seal_asked
from liyagent.entry.models import Arrival
from liyagent.transcripts.models import Transcript
from runs.checkpoint import keyring
from runs.models import CHECKPOINT_FORMAT, Call, Part, Run
from runs.reseal import reseal
from runs.sealed_rows import SEALED_ROWS
from runs.seals import key_uses
from sagas.models import Saga, Undo
from tests.unit.runs.carrying.conftest import World

NEW = ("k2", os.urandom(32))
# Sealed anew by a way of their own; parts and calls go with their run, under its key.
BY_THEMSELVES = {Run, Approval, Transcript, Saga, Undo}
WITH_THEIR_RUN = {Part, Call}
# Hashes of what everybody may read are no seal.
HASHES = {
    *("events_runevent", "events_eventhead", "events_purgecertificate", "events_root"),
    *("handoffs_version", "handoffs_reading"),
}


def has(model: type[Model], *names: str) -> bool:
    return {it.name for it in model._meta.get_fields()} >= set(names)


def test_no_model_with_sealed_words_is_forgotten() -> None:
    registered = {it.model for it in SEALED_ROWS}
    assert len(registered) == len(SEALED_ROWS) >= 4
    for model in apps.get_models():
        binary = [it.name for it in model._meta.get_fields() if isinstance(it, BinaryField)]
        if not binary or model._meta.proxy or model._meta.db_table in HASHES | {"django_session"}:
            continue
        if not has(model, "key_id"):
            assert model in WITH_THEIR_RUN, f"{model} has {binary} and no key_id"
            continue
        assert model in registered | BY_THEMSELVES, f"{model} has {binary}: put it into SEALED_ROWS"
        if model in registered:
            assert binary == ["sealed"], f"{model} has {binary}; one of them is not sealed anew"


@pytest.fixture
def kept(world: World) -> dict[str, Any]:
    """One row of each way, sealed with the key of now."""
    arrived = arrive(Arriving(way="webhook", source="pager", delivery_id="d-1", agent_key="triage", started_by="ops", words={"task": "look"}))  # fmt: skip
    now = Arrival.objects.get().received_at
    run_id, ring = new_id(), keyring()
    sealed, key_id = seal_message(run_id, [{"text": "hello"}])
    task = Task.objects.create(
        run_id=run_id, agent_key="triage", owner="bob", context_id="c", message_id="m", sealed=sealed, key_id=key_id,
        created_at=now, changed_at=now,
    )  # fmt: skip
    sealer = ring.sealer(key_id=ring.newest, run_id=run_id, format_number=CHECKPOINT_FORMAT)
    secrets = {"token": "plumtree", "scheme": "", "credentials": ""}
    PushConfig.objects.create(
        task=task, config_id="1", owner="bob", url="https://bob.example/hook", version="1.0",
        sealed=sealer.seal(secrets, kind=CREDENTIALS, number=0), key_id=ring.newest, created_at=now,
    )  # fmt: skip
    conversation = Conversation.objects.create(
        id=new_id(),
        owner="ann",
        agent_key="triage",
        mission="m",
        created_at=now,
        changed_at=now,
    )
    for number in (1, 2):
        turn_id = new_id()
        sealed, key_id = seal_asked(turn_id, "what now")
        Turn.objects.create(
            conversation=conversation, number=number, run_id=turn_id, sealed=sealed if number == 1 else None,
            key_id=key_id, asked_at=now, outcome="answered", ended_at=now,
        )  # fmt: skip
    return {"arrived": arrived.run_id}


def needs(key_id: str) -> int:
    (found,) = [it for it in key_uses() if it.key_id == key_id]
    return found.rows


@pytest.mark.field("FL-41")
def test_all_of_it_opens_under_the_new_key_alone(
    world: World, settings: Settings, kept: dict[str, Any]
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    world.sql("DELETE FROM leases_holder")
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, seal_keys=(NEW, old))
    assert needs(old[0]) == 4
    told = reseal(actor="olga")
    assert (told.rows, told.left, told.broken) == (4, 0, 0)
    assert needs(old[0]) == 0
    assert needs("k2") == 4
    assert world.audit("seals.resealed")[0]["rows"] == 4
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, seal_keys=(NEW,))
    assert begin_arrival(kept["arrived"]).state == "started"
    assert parts_of(Task.objects.get()) == [{"text": "hello"}]
    assert secrets_of(PushConfig.objects.get())["token"] == "plumtree"
    assert [asked_in(it) for it in Turn.objects.order_by("number")] == ["what now", None]
    assert reseal(actor="olga").rows == 0


@pytest.mark.field("FL-41")
def test_what_no_key_opens_is_told_and_left(
    world: World, settings: Settings, kept: dict[str, Any]
) -> None:
    world.sql("DELETE FROM leases_holder")
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, seal_keys=(NEW,))
    told = reseal(actor="olga")
    assert (told.rows, told.broken) == (0, 4)
    with pytest.raises(KeyMissing):
        parts_of(Task.objects.get())
