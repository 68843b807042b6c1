"""A trigger is kept by who may, as whom they may, and with a mapping that was tried."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.entry.errors import MayNotName
from liyagent.entry.webhooks.errors import PayloadMisfit, TriggerInvalid, TriggerUnknown
from liyagent.entry.webhooks.models import Trigger
from liyagent.entry.webhooks.triggers import (
    find_trigger,
    remove_trigger,
    save_trigger,
    switch_trigger,
    try_trigger,
)
from liyagent.entry.whom import Saver
from tests.flows.conftest import make_user
from tests.unit.entry.webhooks.conftest import ALERT, SAVER, SECRET_ENV, TASK, Hooks

NEW: dict[str, Any] = {
    "kind": "ticket",
    "agent": "triage",
    "started_by": "olga",
    "secret_envs": [SECRET_ENV],
    "mapping": {"task": TASK},
    "sample": ALERT,
}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "mail"}, "kind"),
        ({"agent": "nobody"}, "agent"),
        ({"secret_envs": []}, "secret_envs"),
        ({"secret_envs": ["A", "A"]}, "secret_envs"),
        ({"secret_envs": ["A", "B", "C", "D", "E"]}, "secret_envs"),
        ({"secret_envs": ["LIYAGENT_SEAL_KEYS"]}, "secret_envs"),
        ({"secret_envs": "A"}, "secret_envs"),
        ({"scheme": "none"}, "scheme"),
        ({"scheme": "hmac"}, "delivery_id"),
        ({"signature_header": "a: b"}, "signature_header"),
        ({"signature_prefix": "é"}, "signature_prefix"),
        ({"mapping": {"mission": "x"}}, "mapping"),
        ({"mapping": {"task": "x", "other": "y"}}, "mapping"),
        ({"mapping": {"task": ["x"]}}, "mapping.task"),
        ({"mapping": {"task": " "}}, "mapping.task"),
        ({"mapping": {"task": "x", "mission": "y" * 501}}, "mapping.mission"),
        ({"filter": "a =="}, "filter"),
        ({"filter": "to_string(@)"}, "filter"),
        ({"delivery_id": "always the same"}, "delivery_id"),
        ({"most_a_minute": 0}, "most_a_minute"),
        ({"most_a_minute": True}, "most_a_minute"),
        ({"is_enabled": 1}, "is_enabled"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_kept_is_told_by_field(
    hooks: Hooks, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(TriggerInvalid) as caught:
        save_trigger("desk", {**NEW, **given}, saver=SAVER)
    assert [it["field"] for it in caught.value.errors] == [field]
    assert not Trigger.objects.filter(key="desk").exists()


@pytest.mark.parametrize("name", ["kind", "agent", "secret_envs", "mapping", "sample"])
def test_a_new_one_names_what_it_needs(hooks: Hooks, name: str) -> None:
    given = {it: value for it, value in NEW.items() if it != name}
    with pytest.raises(TriggerInvalid, match=rf"{name} is missing"):
        save_trigger("desk", given, saver=SAVER)
    with pytest.raises(TriggerInvalid, match="key wants"):
        save_trigger("de sk", NEW, saver=SAVER)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mapping": {"task": "{{ nothing }}"}}, "mapping.task: 'nothing' leads nowhere"),
        ({"mapping": {"task": "{{ host.name }}"}}, "which has no parts"),
        ({"mapping": {"task": "{{ . }}"}}, "no dotted path"),
        (
            {"mapping": {"task": TASK, "mission": "{{ problem }}"}},
            "mapping.mission: wants 1 to 128",
        ),
        ({"delivery_id": "{{ id }}"}, "delivery_id: 'id' leads nowhere"),
        ({"filter": "contains(labels, 'x')"}, "filter: "),
        ({"filter": "host == 'db-2'"}, "filter: does not hold of the sample"),
        ({"sample": {**ALERT, "host": "x" * 201_000}}, "mapping.task: wants 1 to 200000"),
    ],
)
def test_a_mapping_that_does_not_fit_its_sample_is_not_saved(
    hooks: Hooks, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(PayloadMisfit) as caught:
        hooks.save(**{"sample": ALERT, **given})
    assert said in str(caught.value)
    assert Trigger.objects.get().task == TASK


def test_what_looks_otherwise_at_payloads_wants_a_sample_and_all_else_does_not(
    hooks: Hooks,
) -> None:
    for given in ({"mapping": {"task": "x"}}, {"filter": "host"}, {"delivery_id": "{{ at }}"}):
        with pytest.raises(TriggerInvalid, match="sample is missing"):
            hooks.save(**given)
    assert hooks.save(most_a_minute=7, mapping={"task": TASK}).most_a_minute == 7
    with pytest.raises(BadInput, match="an object or a list"):
        hooks.save(sample="text")


def test_the_way_of_a_trigger_stays(hooks: Hooks) -> None:
    with pytest.raises(TriggerInvalid, match="kind stays webhook"):
        hooks.save(kind="ticket")


def test_nobody_starts_runs_as_another_without_keeping_users(hooks: Hooks) -> None:
    make_user("kim")
    olga = Saver(actor="olga", username="olga")
    kim = Saver(actor="kim", username="kim")
    with pytest.raises(MayNotName):
        save_trigger("pager", {"started_by": "kim"}, saver=olga)
    assert save_trigger("pager", {"most_a_minute": 5}, saver=kim).started_by == "kim"
    assert hooks.save(most_a_minute=6).started_by == "kim"
    with pytest.raises(BadInput, match="no active user"):
        hooks.save(started_by="ghost")


def test_a_payload_is_tried_without_a_trace(hooks: Hooks) -> None:
    rows = AuditRow.objects.count()
    found = try_trigger("pager", {}, ALERT)
    assert (found.is_wanted, found.task, found.delivery_id) == (True, "disk full on db-1", "")
    other = try_trigger("pager", {"filter": "host == 'db-2'", "delivery_id": "{{ at }}"}, ALERT)
    assert (other.is_wanted, other.task, other.delivery_id) == (False, "", ALERT["at"])
    assert try_trigger("new", {"mapping": {"task": "{{ host }}"}}, ALERT).task == "db-1"
    for given, error in (({}, TriggerUnknown), ({"mapping": {}}, TriggerInvalid)):
        with pytest.raises(error):
            try_trigger("new", given, ALERT)
    assert (AuditRow.objects.count(), Trigger.objects.count()) == (rows, 1)


def test_what_is_done_to_a_trigger_is_in_the_audit_log_once(hooks: Hooks) -> None:
    for to_enabled in (False, False, True):
        switch_trigger("pager", to_enabled=to_enabled, actor="olga")
    remove_trigger("pager", actor="olga")
    actions = AuditRow.objects.filter(action__startswith="webhooks.").order_by("id")
    assert list(actions.values_list("action", flat=True)) == [
        "webhooks.trigger_saved",
        "webhooks.trigger_disabled",
        "webhooks.trigger_enabled",
        "webhooks.trigger_removed",
    ]
    assert actions[0].detail["set"]["secret_envs"] == [SECRET_ENV, "PAGER_SECRET_OLDER"]
    with pytest.raises(LiyagentError, match="there is no trigger 'pager'; there are: none yet"):
        find_trigger("pager")
