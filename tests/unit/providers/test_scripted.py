"""A scripted model says what its file tells it to, and a wrong file says where it is wrong."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from liyagent.core.plain import json_bytes
from liyagent.providers.scripted import ScriptedClient
from liyagent.providers.types import (
    Finish,
    Message,
    ModelAnswer,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    Role,
)

TASK = (Message(role=Role.SYSTEM, text="be brief"), Message(role=Role.USER, text="restart web-1"))

Ask = Callable[..., ModelAnswer]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    client = ScriptedClient(tmp_path)

    def ask_step(
        script: str, steps_taken: int = 0, results: tuple[str, ...] = (), **more: Any
    ) -> ModelAnswer:
        (tmp_path / "story-1.yaml").write_text(script, encoding="utf-8")
        told = tuple(Message(role=Role.TOOL, text=text) for text in results)
        messages = (*TASK, *told)
        request = ModelRequest(
            model="story-1", messages=messages, steps_taken=steps_taken, run_id="r1", **more
        )
        return client.ask(request)

    return ask_step


STORY = """
steps:
  - text: looking
    calls:
      - {tool: jira/search, args: {text: "{{ task }}", run: "run {{ run }}"}}
      - {tool: jira/get, id: call_0}
  - repeat: 2
    calls:
      - tool: jira/comment
        args: {id: "{{ results.0.id }}", all: {"$expr": results.1}}
  - {text: "closed {{ results.0.id }}", finish: cut}
  - {finish: refused}
"""


def test_the_step_is_chosen_by_the_steps_taken(ask: Ask) -> None:
    first = ask(STORY)
    assert (first.text, first.finish) == ("looking", Finish.CALLS)
    assert [call.name for call in first.calls] == ["jira/search", "jira/get"]
    assert first.calls[0].args == {"text": "restart web-1", "run": "run r1"}
    assert first.calls[0].arguments_text == json_bytes(first.calls[0].args).decode()
    results = ('{"id": 7}', "plain words")
    for steps_taken in (1, 2):
        repeated = ask(STORY, steps_taken, results)
        assert repeated.calls[0].args == {"id": 7, "all": "plain words"}
    cut = ask(STORY, 3, results)
    assert (cut.text, cut.finish) == ("closed 7", Finish.CUT)
    assert ask(STORY, 4).finish is Finish.REFUSED
    assert ask(STORY, 5) == ask(STORY, 99)
    assert (ask(STORY, 5).text, ask(STORY, 5).finish) == ("done", Finish.STOP)


CASES = """
steps: [{text: "{{ words.1 }} is up"}]
cases:
  - {when: db-1, steps: [{text: never of a host that was not named}]}
  - when: web-1
    steps: [{repeat: 2, text: "once more {{ task }}"}]
  - {when: restart, steps: [{text: the first that fits counts}]}
"""


def test_a_task_in_which_the_text_of_a_case_stands_has_steps_of_its_own(ask: Ask) -> None:
    assert [ask(CASES, it).text for it in (0, 1, 2)] == [*["once more restart web-1"] * 2, "done"]
    assert (
        ask(CASES.replace("web-1", "web-2").replace("when: restart", "when: x")).text
        == "web-1 is up"
    )


@pytest.mark.field("FL-44")
def test_ids_are_opaque_and_follow_from_run_step_and_position_unless_named(ask: Ask) -> None:
    script = "steps: [{repeat: 2, calls: [{tool: a/b}, {tool: a/b}, {tool: a/b, id: '0'}]}]"
    ids = [call.id for steps_taken in (0, 1) for call in ask(script, steps_taken).calls]
    opaque = [id_ for id_ in ids if id_ != "0"]
    assert ids.count("0") == 2
    assert len(set(opaque)) == 4
    assert all(re.fullmatch("call_[0-9a-f]{24}", id_) for id_ in opaque)
    assert [call.id for call in ask(script, 1).calls] == ids[3:]


@pytest.mark.field("FL-46")
def test_a_script_can_cut_the_arguments(ask: Ask) -> None:
    cut = ask("""steps: [{calls: [{tool: a/b, raw: '{"body":"restart o'}]}]""").calls[0]
    assert (cut.arguments_text, cut.args) == ('{"body":"restart o', None)
    whole = ask("""steps: [{calls: [{tool: a/b, raw: '{"n":1}'}]}]""").calls[0]
    assert whole.args == {"n": 1}


@pytest.mark.field("FL-32")
def test_what_a_script_says_is_storable(ask: Ask) -> None:
    answer = ask(
        r'steps: [{text: "a\0b", calls: [{tool: a/b, args: {"k\0": "v\0", when: 2026-01-02}}]}]'
    )
    assert answer.text == "a\ufffdb"
    assert answer.calls[0].args == {"k\ufffd": "v\ufffd", "when": "2026-01-02"}


def test_errors_and_delays_are_played(ask: Ask) -> None:
    with pytest.raises(ModelUnavailable):
        ask("steps: [{error: unavailable}]")
    with pytest.raises(ModelRejected):
        ask("steps: [{error: rejected}]")
    begun = time.monotonic()
    assert ask("steps: [{delay: 0.05, text: late}]").text == "late"
    assert time.monotonic() - begun >= 0.05
    with pytest.raises(ModelUnavailable, match="did not answer within"):
        ask("steps: [{delay: 60, text: never}]", timeout_seconds=0.05)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("steps: [{text: {{ task }}}]", "is no YAML.*quote a text"),
        ("[]", "story-1.yaml: steps: wants a list"),
        ("steps: {}", "steps: wants a list"),
        ("steps: [1]", r"steps\[0\]: wants names of calls, delay"),
        ("steps: [{}, {txt: a}]", r"steps\[1\].txt: wants one of calls"),
        ("steps: [{delay: soon}]", r"steps\[0\].delay: wants seconds"),
        ("steps: [{delay: .nan}]", r"steps\[0\].delay: wants seconds"),
        ("steps: [{text: 7}]", r"steps\[0\].text: wants a text"),
        ("steps: [{calls: {}}, {calls: 3}]", r"steps\[1\].calls: wants a list"),
        ("steps: [{calls: [{tool: get}]}]", r"steps\[0\].calls\[0\].tool: wants server/tool"),
        ("steps: [{calls: [{tool: a/b, args: []}]}]", r"calls\[0\].args: wants names and values"),
        ("steps: [{calls: [{tool: a/b, id: 0}]}]", r"calls\[0\].id: wants a text"),
        (
            "steps: [{finish: stopped}]",
            r"steps\[0\].finish: wants one of stop, calls, cut, refused",
        ),
        ("steps: []\ncases: {a: 1}", "cases: wants a list of at most 1000"),
        (
            "steps: []\ncases: [{steps: []}]",
            r"cases\[0\].when: wants a text that stands in the task",
        ),
        ("steps: []\ncases: [{when: '', steps: []}]", r"cases\[0\].when: wants a text"),
        ("steps: []\ncases: [{when: a}]", r"cases\[0\].steps: wants a list of steps"),
        (
            "steps: []\ncases: [{when: a, steps: [], if: 1}]",
            r"cases\[0\].if: wants one of steps, when",
        ),
        (
            "steps: []\ncases: [{when: a, steps: [{}, {x: 1}]}]",
            r"cases\[0\].steps\[1\].x: wants one of",
        ),
        ("steps: [{error: no}]", r"steps\[0\].error: wants one of unavailable, rejected"),
        ("steps: [{repeat: 0}]", r"steps\[0\].repeat: wants a whole number"),
        ("steps: [{repeat: 9999}, {repeat: 9999}]", r"steps\[1\]: wants at most 10000 steps"),
        ("steps: [{text: '{{ results.0 }}'}]", r"steps\[0\].text: 'results.0' leads nowhere"),
        ("steps: [{calls: [{tool: a/b, args: {x: '{{ y }}'}}]}]", r"calls\[0\].args: 'y' leads"),
    ],
)
def test_a_wrong_script_is_rejected_with_its_place(ask: Ask, script: str, says: str) -> None:
    with pytest.raises(ModelRejected, match=says):
        ask(script)


@pytest.mark.parametrize("model", ["../story", "a/b", "Story", "", "a.yaml", "a" * 101, "a\n"])
def test_a_name_that_could_leave_the_directory_is_rejected(tmp_path: Path, model: str) -> None:
    with pytest.raises(ModelRejected, match="wants the name of a script"):
        ScriptedClient(tmp_path).ask(ModelRequest(model=model, messages=TASK))


def test_a_script_that_is_missing_is_rejected_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ModelRejected, match=r"nothing-here\.yaml: cannot be read"):
        ScriptedClient(tmp_path).ask(ModelRequest(model="nothing-here", messages=TASK))


def test_a_changed_script_is_read_anew(ask: Ask) -> None:
    assert ask("steps: [{text: one}]").text == "one"
    assert ask("steps: [{text: three}]").text == "three"


def test_without_a_directory_the_setting_counts(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "here.yaml").write_text("steps: [{text: found}]")
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, scripts_dir=tmp_path)
    assert ScriptedClient().ask(ModelRequest(model="here", messages=TASK)).text == "found"
