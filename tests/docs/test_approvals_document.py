"""`docs/approvals.md`, typed as it stands."""

from __future__ import annotations

from liyagent.access.keys import create_key
from liyagent.approvals.models import Approval
from tests.docs.test_api_document import curl
from tests.docs.walk import Shell, commands_of
from tests.flows import holding
from tests.flows.conftest import make_user
from tests.flows.holding import DECIDER, ask
from tests.flows.serving import serving
from tests.unit.runs.carrying.conftest import World

held, world = holding.held, holding.world
SAID = (
    "pending",
    "arguments, exactly as they are to be sent",
    "v/keyed is approved",
    "v/keyed is rejected",
    "v/keyed is withdrawn",
    "liy_",
    '"status":"pending"',
    '"arguments":{"n":4}',
    '"status":"approved"',
)


def test_every_line_of_it_answers_as_it_says(held: World) -> None:
    asked = [ask(held, n=number) for number in range(1, 5)]
    make_user("dora", *DECIDER)
    names = ("$ID", "$OTHER", "$THIRD", "$FOURTH")
    places = {name: str(it.id) for name, it in zip(names, asked, strict=True)}
    places["$DIGEST"] = asked[3].digest
    places["$KEY"] = create_key(name="docs", username="dora").token
    with serving() as port:
        shell = Shell(places={**places, "127.0.0.1:8000": f"127.0.0.1:{port}"})
        said = [typed(shell, line) for line in commands_of("approvals.md")]
    for expected, answer in zip(SAID, said, strict=True):
        assert expected in answer
    statuses = [Approval.objects.get(id=it.id).status for it in asked]
    assert statuses == ["approved", "rejected", "withdrawn", "approved"]


def typed(shell: Shell, line: str) -> str:
    if line.startswith("liyagent"):
        shell.said.clear()
        shell.type(line)
        return "".join(shell.said.values())
    for written, meant in shell.places.items():
        line = line.replace(written, meant)
    return curl(line)
