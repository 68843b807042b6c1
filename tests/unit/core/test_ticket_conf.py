"""Another ticket system takes the place of ours by two settings, both or none; what cannot work ends the start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from liyagent.core.conf import Conf, read_conf
from liyagent.core.errors import BadSetting
from tests.unit.core.test_conf import GOOD

TOOL, ARGS = "LIYAGENT_TICKET_TOOL", "LIYAGENT_TICKET_ARGS"
TEMPLATE = {
    "title": "{{ subject }}",
    "fields": {"text": "From {{ run_id }}: {{ body }}", "urgency": 1},
}


def conf_with(tmp_path: Path, **changes: str) -> Conf:
    return read_conf({**GOOD, **changes}, base_dir=tmp_path)


def test_without_both_tickets_are_filed_here(tmp_path: Path) -> None:
    assert conf_with(tmp_path).tickets is None
    assert conf_with(tmp_path, **{TOOL: " ", ARGS: ""}).tickets is None


def test_both_name_a_tool_and_what_it_is_called_with(tmp_path: Path) -> None:
    conf = conf_with(tmp_path, **{TOOL: "jira/create/issue", ARGS: json.dumps(TEMPLATE)}).tickets
    assert conf is not None
    assert (conf.server, conf.tool, conf.args) == ("jira", "create/issue", TEMPLATE)


@pytest.mark.parametrize(
    ("tool", "args", "told"),
    [
        ("", TEMPLATE, "LIYAGENT_TICKET_TOOL is not set"),
        ("jira", TEMPLATE, "wants server/tool"),
        ("jira/", TEMPLATE, "wants server/tool"),
        ("/create", TEMPLATE, "wants server/tool"),
        ("ji ra/create", TEMPLATE, "wants server/tool"),
        ("jira/create issue", TEMPLATE, "wants server/tool"),
        ("jira/create", "", "LIYAGENT_TICKET_ARGS is not set"),
        ("jira/create", "{", "not JSON"),
        ("jira/create", [], "no object"),
        ("jira/create", {}, "no object"),
        ("jira/create", "7", "no object"),
        ("jira/create", {"a": "{{ title }} {{ body }}"}, "the fields are subject, body"),
        ("jira/create", {"a": "{{ subject.x }}"}, "the fields are subject, body"),
        ("jira/create", {"a": {"$expr": 7}}, "expr"),
        ("jira/create", {"a": "{{ priority }}"}, "neither subject nor body"),
        ("jira/create", {"a": "{{ body }}" * 3_000}, "20000 at most"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(
    tmp_path: Path, tool: str, args: Any, told: str
) -> None:
    text = args if isinstance(args, str) else json.dumps(args)
    with pytest.raises(BadSetting, match=told):
        conf_with(tmp_path, **{TOOL: tool, ARGS: text})
