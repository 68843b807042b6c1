"""`docs/deliveries.md`, typed as it stands; its states are those there are."""

from __future__ import annotations

import re

from liyagent.access.keys import DatabaseNow
from liyagent.entry.arrive import Arriving, Owed, arrive
from liyagent.entry.models import Delivery, DeliveryState
from tests.databases import FreshDatabase
from tests.docs.walk import DOCS, Shell, commands_of


def test_each_line_of_the_document_does_what_it_says(fresh_db: FreshDatabase) -> None:
    owed = [Owed(kind="answer", number=it, address={}) for it in range(3)]
    arrive(
        Arriving(
            way="teams",
            source="desk",
            delivery_id="d-1",
            agent_key="triage",
            started_by="ann",
            words={"task": "look"},
            owed=owed,
        )
    )
    ids = list(Delivery.objects.values_list("id", flat=True))
    for number, state in zip(ids, ("dead", "unconfirmed", "dead"), strict=True):
        Delivery.objects.filter(id=number).update(state=state, settled_at=DatabaseNow())
    listed, again, twice, close, closed = commands_of("deliveries.md")
    shell = Shell(places={f" {written} ": f" {meant} " for written, meant in zip("123", ids, strict=True)})  # fmt: skip
    again = again.replace("send-again 1", f"send-again {ids[0]}")
    for line in (listed, again, twice, close, closed):
        shell.type(line)
    said = list(shell.said.values())
    assert said[0].count("teams  desk") == 3
    assert "is due now" in said[1]
    assert "is due now" in said[2]
    assert "is closed" in said[3]
    assert "told by phone" in said[4]
    states = [it.state for it in Delivery.objects.order_by("id")]
    assert states == ["pending", "pending", "closed"]


def test_the_states_of_the_document_are_those_of_a_delivery() -> None:
    table = (DOCS / "deliveries.md").read_text().partition("| State |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(DeliveryState.values)
