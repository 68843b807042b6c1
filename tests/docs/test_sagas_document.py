"""`docs/sagas.md`, typed as it stands; its fates, statuses, codes and audit names are those there are."""

from __future__ import annotations

import re
from uuid import UUID

from django.contrib.auth.models import User

from runs.await_end import wait_for_end
from runs.hand_off import hand_off
from runs.models import Run
from sagas import errors
from sagas.models import Saga, SagaStatus, UndoFate
from tests.databases import FreshDatabase
from tests.docs.test_approvals_document import typed
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows import test_undone_incident
from tests.flows.carrying import carrying
from tests.flows.serving import serving

vendors, seeded = test_undone_incident.vendors, test_undone_incident.seeded
TEXT = (DOCS / "sagas.md").read_text()
GIVEN = re.compile(r"(\w+)=\$\((.*)\)")
SAID = (
    '"compensations":{"jira/create_issue"',
    '"status":"compensated"',
    "is compensated: nothing is owed",
    "begin_again",
    '"compensations":{"jira/create_issue"',
    "result.number",
    '"status":"closed"',
)


def test_every_line_of_it_answers_as_it_says(fresh_db: FreshDatabase, seeded: object) -> None:
    if not User.objects.filter(username="admin").exists():
        User.objects.create_superuser("admin")
    said, places = [], {}
    with serving() as port, carrying():
        places["127.0.0.1:8000"] = f"127.0.0.1:{port}"
        for line in commands_of("sagas.md"):
            shell = Shell(places=places)
            given = GIVEN.fullmatch(line)
            if given is not None:
                places[f"${given[1]}"] = typed(shell, given[2]).split()[-1]
            elif line.startswith("until "):
                # A bare word would be found in the names of fields, whatever the saga's status.
                assert '"status":"' in line
                until_undone(UUID(places[f"${line.partition('/sagas/$')[2].split()[0]}"]))
            else:
                said.append(typed(shell, line))
    assert len(said) == len(SAID)
    for expected, answer in zip(SAID, said, strict=True):
        assert expected in answer
    of_the_run, of_the_flow, left = (Saga.objects.get(id=places[it]) for it in ("$RUN", "$FLOW", "$LEFT"))  # fmt: skip
    assert (of_the_run.status, of_the_flow.status) == ("compensated", "compensated")
    assert (left.status, left.closed_reason) == ("closed", "deleted by hand")


def until_undone(run_id: UUID) -> None:
    """What the loops of the document wait for."""
    assert wait_for_end(run_id, seconds=20)
    for child in Run.objects.filter(parent_id=run_id):
        assert wait_for_end(child.id, seconds=20)
    # What is left to a person is put down behind the end.
    hand_off(run_id)


def test_its_fates_and_statuses_are_those_there_are() -> None:
    assert column("Fate of an undo") == list(UndoFate.values)
    assert column("Status of a saga") == list(SagaStatus.values)


def test_its_codes_are_those_there_are() -> None:
    codes = {it.code for it in vars(errors).values() if getattr(it, "code", "").startswith("sagas.")}  # fmt: skip
    # That of a shell which waited is no answer of the API.
    assert set(re.findall(r"`(sagas\.\w+)`", TEXT)) == codes - {"sagas.left"}


def column(head: str) -> list[str]:
    """Return the names in the first column of a table."""
    rows = TEXT.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()
    return [it for row in rows for it in re.findall(r"^\| `(\w+)`", row)]
