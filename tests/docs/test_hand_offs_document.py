"""`docs/hand-offs.md`, typed as it stands; its refusals and kinds are those there are."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from handoffs import errors
from handoffs.given import OF_RUNS
from handoffs.heads import MOST_REVISED
from liyagent.access.keys import create_key
from liyagent.core.errors import LiyagentError
from tests.databases import FreshDatabase
from tests.docs.test_approvals_document import typed
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.conftest import make_user
from tests.flows.serving import serving
from tests.flows.test_handoffs import ACTOR

TEXT = (DOCS / "hand-offs.md").read_text()
SAID = (
    '"version":1',
    '"version":2',
    '"reader":"olga"',
    '"chain_holds":true',
    '"versions":2',
    '"verified":true',
)
HASHED = " | jq -j .content | sha256sum"


@pytest.mark.promise("HO-05")
def test_every_line_of_it_answers_as_it_says(fresh_db: FreshDatabase) -> None:
    make_user("olga", *ACTOR)
    places = {"$KEY": create_key(name="docs", username="olga").token}
    said = []
    with serving() as port:
        places["127.0.0.1:8000"] = f"127.0.0.1:{port}"
        for line in commands_of("hand-offs.md"):
            answer = typed(Shell(places=places), line.removesuffix(HASHED))
            said.append(answer)
            told = json.loads(answer)
            places.setdefault("$THREAD", told.get("thread", ""))
            if told.get("version") == 2:
                # What stands between two pieces in quotes is one word with them.
                places.setdefault("'$DIGEST'", told["digest"])
                places.setdefault("$DIGEST", told["digest"])
    for expected, answer in zip((*SAID, '"content":'), said, strict=True):
        assert expected in answer
    content = json.loads(said[-1])["content"]
    assert hashlib.sha256(content.encode()).hexdigest() == places["$DIGEST"]


def test_its_refusals_are_those_there_are() -> None:
    told = set(re.findall(r"`(handoff\.\w+)`", TEXT.partition("| Refused with |")[2]))
    classes = [it for it in vars(errors).values() if isinstance(it, type)]
    there = {it.code for it in classes if issubclass(it, LiyagentError)}
    assert told == {it for it in there if it.startswith("handoff.")}


def test_its_kinds_are_those_that_runs_write() -> None:
    kinds = re.findall(
        r"^\| `(\w+)` \|", TEXT.partition("| Kind |")[2].partition("\n\n")[0], re.MULTILINE
    )
    assert set(kinds) == OF_RUNS
    assert f"up to {MOST_REVISED}" in TEXT
