"""`docs/tickets.md`, typed as it stands; its states, fields and settings are those there are."""

from __future__ import annotations

import re
from pathlib import Path

from liyagent.access.keys import create_key
from liyagent.core.conf import read_conf
from liyagent.core.ticket_conf import FIELDS
from liyagent.tickets.models import Ticket, TicketState
from tests.databases import FreshDatabase
from tests.docs.test_approvals_document import typed
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.conftest import make_user
from tests.flows.serving import serving
from tests.unit.core.test_conf import GOOD
from tests.unit.tickets.conftest import filed

TEXT = (DOCS / "tickets.md").read_text()
SAID = (
    "T-000002",
    "What failed",
    "T-000001: comment 1",
    "T-000001: in_progress",
    "T-000001: closed",
    '"number":"T-000002"',
    '"words_missing":""',
    '"place":1',
    '"state":"in_progress"',
)


def test_every_line_of_it_answers_as_it_says(fresh_db: FreshDatabase) -> None:
    filed()
    filed()
    make_user("olga", "tickets.view_ticket", "tickets.work")
    key = create_key(name="docs", username="olga").token
    with serving() as port:
        shell = Shell(places={"$KEY": key, "127.0.0.1:8000": f"127.0.0.1:{port}"})
        said = [typed(shell, line) for line in commands_of("tickets.md")]
    for expected, answer in zip(SAID, said, strict=True):
        assert expected in answer
    assert [it.state for it in Ticket.objects.order_by("serial")] == ["closed", "in_progress"]


def test_its_states_and_fields_are_those_there_are() -> None:
    assert column("State") == list(TicketState.values)
    assert column("Field") == list(FIELDS)


def test_its_settings_can_be_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```\n(LIYAGENT_TICKET.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    named = dict(line.split("=", 1) for line in block.splitlines())
    conf = read_conf({**GOOD, **named}, base_dir=tmp_path).tickets
    assert conf is not None
    assert (conf.server, conf.tool, list(conf.args)) == ("jira", "create_issue", ["summary", "description", "priority"])  # fmt: skip


def column(head: str) -> list[str]:
    """Return the names in the first column of a table."""
    rows = TEXT.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()
    return [
        it
        for row in rows
        for it in re.findall(r"`(\w+)`", row.split("|")[1] if row.startswith("| `") else "")
    ]
