"""`manage.py workflows`: each problem with its file, line and JSON path; one line and a code at the end."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command

from liyagent.core.errors import BadInput
from liyagent.workflows.errors import VersionUnknown, WorkflowUnknown
from liyagent.workflows.models import Workflow
from tests.databases import FreshDatabase
from tests.unit.workflows.desk import furnish, given

WRONG = """\
workflows:
  - key: outage
    name: Outage
    agent: desk
    definition:
      steps:
        - id: issue
          type: tool
          server: jira
          tool: crate_issue
        - id: page
          type: tool
          server: jira
          tool: create_issue
          compensate:
            tool: delete_issue
            args:
              "a b": "{{ steps.isue.output.key }}"
  - key: second
    name: Second
    agent: nobody
    definition: {steps: [{id: a, type: set, values: {a: 1}}]}
  - key: outage
    name: ""
    agent: desk
    definition: 5
  - 7
"""


@pytest.fixture
def desk(fresh_db: FreshDatabase) -> None:
    """The agents and tools that definitions name."""
    furnish()


def typed(*words: str) -> str:
    out = StringIO()
    call_command("workflows", *words, stdout=out, stderr=out)
    return out.getvalue()


def written(directory: Path, text: str, name: str = "w.yaml") -> str:
    path = directory / name
    path.write_text(text)
    return str(path)


def test_each_problem_is_told_with_its_file_line_and_path(desk: None, tmp_path: Path) -> None:
    path = written(tmp_path, WRONG)
    out = StringIO()
    with pytest.raises(BadInput, match=r"w\.yaml cannot be saved as written"):
        call_command("workflows", "validate", path, stdout=out)
    lines = [it.removeprefix(f"{path}: ") for it in out.getvalue().splitlines()]
    assert [it[:70] for it in lines] == [
        """line 18: outage: $.steps[1].compensate.args["a b"]: 'steps.isue.output""",
        "line 21: second: agent: is 'nobody'; there is no agent of this key",
        "line 24: outage: name: is ''; it wants text of 1 to 200 characters",
        "line 26: outage: $: is 5; it wants an object",
        "line 23: outage: key: is that of a workflow before",
        "line 27: (no key): workflow: wants an object with key, name, agent and",
    ]
    mended = WRONG.replace("isue", "issue").partition("  - key: second")[0]
    with pytest.raises(BadInput):
        call_command("workflows", "validate", written(tmp_path, mended), stdout=out)
    last = out.getvalue().splitlines()[-1]
    assert "line 10: outage: $.steps[0].tool: is 'crate_issue'; server jira has no such tool" in last  # fmt: skip
    with pytest.raises(BadInput, match="line 10: outage: "):
        typed("save", path, written(tmp_path, mended))
    assert not Workflow.objects.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agents: []", "the document wants `workflows:`"),
        ("workflows: [*x]", "aliases"),
        ("workflows: [", "is no YAML"),
        ("", "the document wants `workflows:`"),
    ],
)
def test_a_file_that_holds_no_workflows_is_refused(
    desk: None, tmp_path: Path, text: str, said: str
) -> None:
    out = StringIO()
    with pytest.raises(BadInput) as refused:
        call_command("workflows", "validate", written(tmp_path, text), stdout=out)
    assert said in out.getvalue() + str(refused.value)
    with pytest.raises(BadInput, match="cannot be read"):
        typed("save", str(tmp_path / "gone.yaml"))


def test_what_is_saved_is_shown_as_it_is_read(desk: None, tmp_path: Path) -> None:
    path = written(tmp_path, yaml.safe_dump({"workflows": [given()]}))
    assert typed("validate", path) == f"{path}: outage: well, 3 steps\n"
    assert not Workflow.objects.exists()
    assert typed("save", path) == "outage version 1\n"
    shown = typed("show", "outage", "--yaml")
    again = written(tmp_path, shown, "again.yaml")
    assert typed("save", again) == "outage version 1\n"
    other = given(name="Other", definition={"steps": [{"id": "a", "type": "wait", "seconds": 1}]})
    assert typed("save", written(tmp_path, yaml.safe_dump({"workflows": [other]}))) == "outage version 2\n"  # fmt: skip
    first = yaml.safe_load(typed("show", "outage", "--yaml", "--version", "1"))
    assert first["workflows"][0]["definition"] == given()["definition"]
    head, _, table = typed("show", "outage", "--version", "1").partition("STEP")
    assert head == "# version 1, agent desk, enabled\nOther\n"
    assert [it.split()[0] for it in table.splitlines()[1:]] == ["issue", "change", "page"]
    assert "jira/delete_issue" in table.splitlines()[1]
    assert [it.split()[:4] for it in typed("list").splitlines()[1:]] == [["outage", "2", "desk", "enabled"]]  # fmt: skip
    with pytest.raises(VersionUnknown, match="no version 7; its newest is 2"):
        typed("show", "outage", "--version", "7")
    assert typed("remove", "outage") == "outage is removed\n"
    with pytest.raises(WorkflowUnknown, match="there is no workflow 'outage'"):
        typed("remove", "outage")


def test_json_is_taken_as_well(desk: None, tmp_path: Path) -> None:
    text = '{"workflows": [{"key": "a", "name": "A", "agent": "desk", "definition": {"steps": [{"id": "n", "type": "set", "values": {"a": "{{ input.x }}"}}]}}]}'
    assert typed("save", written(tmp_path, text, "w.json")) == "a version 1\n"
