"""What runs of one pattern compile to, place by place."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from resource import RUSAGE_SELF, getrusage
from typing import Any

import pytest

from liyagent.core.canonical import digest
from routines.compile import compile_routine
from routines.compiled import AsParameter, Compiled, Kind
from routines.recorded import RecordedCall, RecordedRun
from routines.tree import ASKED, TEMPLATE, TOO_LONG
from tests.unit.routines.drawn import carried_out

Told = tuple[str, Mapping[str, Any], Any]


def run(number: int, *calls: Told, task: str = "") -> RecordedRun:
    made = []
    for name, args, output in calls:
        server, tool = name.split("/")
        made.append(RecordedCall(server=server, tool=tool, args=dict(args), output=output))
    return RecordedRun(id=f"r{number}", task=task or f"task {number}", calls=tuple(made))


def compiled(runs: Sequence[RecordedRun], **more: Any) -> Compiled:
    found = compile_routine(runs, agent="desk", **more)
    assert found.withheld == ""
    for it in runs:
        assert carried_out(found, it) == [call.args for call in it.calls]
    return found


def args_of(found: Compiled, step: str) -> Any:
    return next(it["args"] for it in found.definition["steps"] if it["id"] == step)


def reads(path: str) -> dict[str, str]:
    return {"$expr": path}


@pytest.mark.promise("RT-02")
@pytest.mark.field("FL-91")
def test_low_values_that_match_by_chance_stay_literals_and_an_id_that_is_handed_on_is_read() -> (
    None
):
    runs = [
        run(
            it,
            ("hr/get_user", {"login": f"user-{it}"}, {"id": it, "active": 1, "site": "1"}),
            ("desk/assign", {"priority": 1, "notify": True, "floor": "1", "user_id": it}, None),
        )
        for it in (7, 12, 9)
    ]
    found = compiled(runs)
    assert args_of(found, "s1") == {"login": reads("input.login")}
    assert args_of(found, "s2") == {"priority": 1, "notify": True, "floor": "1", "user_id": reads("steps.s1.output.id")}  # fmt: skip
    assert [type(it) for it in args_of(found, "s2").values()] == [str, bool, int, dict]
    assert found.digest == digest(found.definition)
    assert (found.distinct_inputs, found.tools) == (3, ("hr/get_user", "desk/assign"))
    told = {it.place: (it.kind, it.distinct) for it in found.origins}
    assert told["/s2/floor"] == (Kind.LITERAL, 1)
    assert told["/s2/user_id"] == (Kind.EXPRESSION, 3)
    assert told["/s1/login"] == (Kind.PARAMETER, 3)


@pytest.mark.promise("RT-02")
def test_a_small_number_is_read_only_where_its_name_says_so_too() -> None:
    runs = [
        run(it, ("hr/look", {}, {"floor": it, "rank": it}), ("desk/go", {"floor": it, "times": it}, 0))
        for it in (1, 2, 3)
    ]  # fmt: skip
    found = compiled(runs)
    assert args_of(found, "s2") == {"floor": reads("steps.s1.output.floor"), "times": reads("input.times")}  # fmt: skip


@pytest.mark.promise("RT-02")
def test_a_value_of_much_to_say_is_read_whatever_it_is_called() -> None:
    runs = [
        run(it, ("cmdb/look", {}, {"hosts": [{"fqdn": f"db-{it}.example"}]}), ("ssh/do", {"target": f"db-{it}.example"}, 0))
        for it in (1, 2)
    ]  # fmt: skip
    assert args_of(compiled(runs), "s2") == {"target": reads("steps.s1.output.hosts.0.fqdn")}


@pytest.mark.promise("RT-02")
def test_one_value_that_is_the_same_in_every_run_is_a_literal_though_a_call_returned_it() -> None:
    runs = [
        run(it, ("cmdb/look", {}, {"host": "db-1.example"}), ("ssh/do", {"host": "db-1.example"}, 0))
        for it in range(3)
    ]  # fmt: skip
    assert args_of(compiled(runs), "s2") == {"host": "db-1.example"}


@pytest.mark.promise("RT-02")
def test_what_only_some_runs_bear_out_is_a_parameter() -> None:
    runs = [
        run(it, ("a/one", {}, {"ref": f"REF-{it}"}), ("a/two", {"ref": f"REF-{9 if it == 3 else it}"}, 0))
        for it in (1, 2, 3)
    ]  # fmt: skip
    assert args_of(compiled(runs), "s2") == {"ref": reads("input.ref")}


def test_a_value_is_never_read_from_its_own_call_or_a_later_one() -> None:
    runs = [
        run(it, ("a/one", {"ref": f"REF-{it}"}, {"ref": f"REF-{it}"}), ("a/two", {}, {"ref": f"REF-{it}"}))
        for it in (1, 2)
    ]  # fmt: skip
    assert args_of(compiled(runs), "s1") == {"ref": reads("input.ref")}


def test_records_that_were_told_as_text_are_read_into() -> None:
    runs = [
        run(it, ("a/one", {}, json.dumps({"issue": {"key": f"OPS-{it}"}})), ("a/two", {"issue": f"OPS-{it}"}, 0), ("a/three", {"text": json.dumps({"x": it})}, ""))
        for it in (100, 200)
    ]  # fmt: skip
    found = compiled(runs)
    assert args_of(found, "s2") == {"issue": reads("steps.s1.output.issue.key")}
    assert args_of(found, "s3") == {"text": reads("input.text")}


def test_of_several_paths_the_one_of_that_name_goes_first_then_the_earlier_call_then_the_shorter_path() -> None:  # fmt: skip
    def made(ref: str) -> RecordedRun:
        return run(
            int(ref[-1]),
            ("a/one", {}, {"deep": {"key": ref}, "key": ref}),
            ("a/two", {}, {"ticket": ref}),
            ("a/three", {"ticket": ref, "what": ref}, 0),
        )

    found = compiled([made("OPS-1"), made("OPS-2")])
    assert args_of(found, "s3") == {"ticket": reads("steps.s2.output.ticket"), "what": reads("steps.s1.output.key")}  # fmt: skip


def test_whole_records_and_lists_are_read_as_such() -> None:
    runs = [
        run(it, ("a/one", {}, {"who": {"id": it, "tags": [f"t-{it}00", "x"]}}), ("a/two", {"who": {"id": it, "tags": [f"t-{it}00", "x"]}, "all": [f"t-{it}00", "x"]}, 0))
        for it in (1, 2)
    ]  # fmt: skip
    assert args_of(compiled(runs), "s2") == {"who": reads("steps.s1.output.who"), "all": reads("steps.s1.output.who.tags")}  # fmt: skip


def test_arguments_that_some_runs_leave_out_are_one_parameter() -> None:
    runs = [run(1, ("a/one", {"x": 1, "more": {"a": 1}}, 0)), run(2, ("a/one", {"x": 1, "more": {}}, 0))]  # fmt: skip
    assert args_of(compiled(runs), "s1") == {"x": 1, "more": reads("input.more")}
    runs = [run(1, ("a/one", {"x": 1}, 0)), run(2, ("a/one", {}, 0))]
    found = compiled(runs)
    assert args_of(found, "s1") == reads("input.s1_input")
    assert [(it.name, it.types) for it in found.parameters] == [("s1_input", ("object",))]


def test_names_that_a_path_cannot_lead_through_are_led_around() -> None:
    runs = [
        run(it, ("a/one", {}, {"a.b": f"REF-{it}", "": {"x": f"REF-{it}"}, "z z": f"REF-{it}"}), ("a/two", {"ref": f"REF-{it}"}, 0))
        for it in (1, 2)
    ]  # fmt: skip
    assert args_of(compiled(runs), "s2") == {"ref": reads("steps.s1.output.z z")}


@pytest.mark.promise("RT-02")
def test_places_with_the_same_values_share_one_parameter_and_the_task_is_one() -> None:
    runs = [
        run(it, ("a/one", {"team": f"team-{it}", "q": f"ask {it}"}, 0), ("a/two", {"to": f"team-{it}", "n": it}, 0), task=f"ask {it}")
        for it in (1, 2)
    ]  # fmt: skip
    found = compiled(runs)
    assert args_of(found, "s1") == {"team": reads("input.team"), "q": reads("input.task")}
    assert args_of(found, "s2") == {"to": reads("input.team"), "n": reads("input.n")}
    assert {it.name: it.places for it in found.parameters} == {
        "team": ("/s1/team", "/s2/to"), "task": ("/s1/q",), "n": ("/s2/n",),
    }  # fmt: skip


def test_names_of_parameters_are_told_apart() -> None:
    runs = [
        run(it, ("a/one", {"id": f"A-{it}", "o": {"id": f"B-{it}"}, "task": f"C-{it}"}, 0), ("a/two", {"id": f"D-{it}", "ünïd": [f"E-{it}", f"F-{it}"]}, 0))
        for it in (1, 2)
    ]  # fmt: skip
    found = compiled(runs)
    assert [it.name for it in found.parameters] == ["id", "o_id", "one_task", "two_id", "two_unid", "unid"]  # fmt: skip


def test_literals_that_look_like_templates_come_out_as_themselves() -> None:
    args = {
        "a": "{{ input.task }}",
        "b": "{{{ x",
        "c": "{ plain }",
        "d": ["}} {{ steps.s1.output }}"],
    }
    found = compiled([run(it, ("a/one", args, 0)) for it in range(3)])
    assert found.parameters == ()
    assert args_of(found, "s1")["c"] == "{ plain }"
    odd = compiled(
        [run(it, ("a/one", {"a": {"$expr": "input.task"}, "b": 1}, 0)) for it in range(3)]
    )
    assert args_of(odd, "s1") == {"a": reads("input.a"), "b": 1}
    assert next(it.why for it in odd.origins if it.place == "/s1/a") == TEMPLATE


def test_a_person_makes_a_literal_a_parameter_and_names_it() -> None:
    runs = [run(it, ("a/one", {"region": "eu", "zone": "eu", "f": {"a/b~c": "x", "d": 1}}, 0)) for it in range(3)]  # fmt: skip
    before = compiled(runs)
    made = [AsParameter(place="/s1/region", name="where"), AsParameter(place="/s1/f/a~1b~0c")]
    found = compiled(runs, as_parameters=made)
    assert found.digest != before.digest
    assert args_of(found, "s1") == {"region": reads("input.where"), "zone": "eu", "f": {"a/b~c": reads("input.a_b_c"), "d": 1}}  # fmt: skip
    told = {it.place: it for it in found.origins}
    assert (told["/s1/region"].kind, told["/s1/region"].why) == (Kind.PARAMETER, ASKED)
    both = compiled(runs, as_parameters=[*made, AsParameter(place="/s1/zone", name="zone")])
    assert args_of(both, "s1")["zone"] == reads("input.zone")
    assert compiled(runs, as_parameters=[AsParameter(place="/s9/x"), AsParameter(place="")]) == before  # fmt: skip
    for name in ("task", "not a name", "sk-proj-a8f5f167f44f4964e6c998dee827110c", "1x", "a" * 65):
        odd = compiled(runs, as_parameters=[AsParameter(place="/s1/region", name=name)])
        assert [it.name for it in odd.parameters] == ["region"]


def test_each_place_of_a_literal_that_is_a_record_can_be_named() -> None:
    args = {"a": {"b": [1, {"c": "x"}], "d": {}}, "long": "x" * 70_000, "many": [0] * 60}
    found = compiled([run(it, ("a/one", args, 0)) for it in range(2)])
    told = {it.place: (it.kind, it.why) for it in found.origins}
    places = ["/s1/a/b/0", "/s1/a/b/1/c", "/s1/a/d", "/s1/many", "/s1/long"]
    assert sorted(told) == sorted(places)
    assert told["/s1/long"] == (Kind.PARAMETER, TOO_LONG)


def test_agents_are_asked_by_steps_of_their_own_type() -> None:
    runs = [
        run(it, ("a/one", {}, {"id": f"OPS-{it}", "a{b": f"OPS-{it}"}), ("agents/writer", {"task": f"OPS-{it}"}, "ok"), ("agents/writer", {"task": "Say {{ it }}"}, "ok"))
        for it in (1, 2)
    ]  # fmt: skip
    found = compiled(runs)
    steps = {it["id"]: it for it in found.definition["steps"]}
    assert (steps["s2"]["type"], steps["s2"]["agent"]) == ("agent", "writer")
    assert steps["s2"]["task"] == "{{ steps.s1.output.id }}"
    for args in ({}, {"task": ""}, {"task": 1}, {"task": "x", "more": 1}):
        odd = compile_routine([run(1, ("agents/writer", args, "ok"))], agent="desk")
        assert odd.withheld == "s1 asks an agent with something else than a task"


def test_runs_of_several_patterns_or_of_none_are_refused() -> None:
    for runs in ([], [run(1)], [run(1, ("a/one", {}, 0)), run(2, ("a/two", {}, 0))]):
        with pytest.raises(ValueError, match="same calls"):
            compile_routine(runs, agent="desk")


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([("a/one", {}, 0)] * 499, "it makes 499 calls; a routine has at most 498"),
        ([(f"a/{it}", {"text": "x y " * 15_000}, 0) for it in range(5)], "is 30"),
        ([(f"a/{'t' * 201}", {}, 0)], "text of at most 200 characters"),
        ([("a/one", {"x": json.loads("[" * 99 + "]" * 99)}, 0)], "nested deeper"),
    ],
    ids=["calls", "bytes", "name", "depth"],
)
def test_what_no_workflow_may_be_is_withheld_with_the_reason(calls: list[Told], why: str) -> None:
    found = compile_routine([run(it, *calls) for it in range(3)], agent="desk")
    assert why in found.withheld
    assert (found.definition, found.digest, found.origins, found.parameters) == ({}, "", (), ())
    assert len(found.runs) == 3


def test_as_many_calls_as_a_workflow_has_steps_for_are_a_routine() -> None:
    found = compiled([run(it, *[(f"a/t{n}", {"n": n, "it": it}, it) for n in range(498)]) for it in range(2)])  # fmt: skip
    assert found.definition["max_steps"] == 500


ROWS = [{"id": it, "name": f"row {it}", "tags": ["a", "b"], "is": True} for it in range(12_000)]
TEXT = json.dumps(ROWS)


@pytest.mark.parametrize("is_text", [False, True], ids=["records", "texts"])
def test_large_outputs_of_many_runs_take_seconds_and_little_memory(*, is_text: bool) -> None:
    def made(number: int) -> RecordedRun:
        calls: list[Told] = []
        for it in range(30):
            read = f"ID-{number}-{it - 1}"
            output = {"rows": ROWS, "id": f"ID-{number}-{it}"}
            calls.append((f"a/t{it}", {"ref": read, "n": number * 1000 + it, "same": "x"}, TEXT if is_text else output))  # fmt: skip
        return run(number, *calls)

    runs = [made(it) for it in range(1000, 1200)]
    assert len(TEXT) > 700_000
    began, before = time.thread_time(), getrusage(RUSAGE_SELF).ru_maxrss
    found = compile_routine(runs, agent="desk")
    assert time.thread_time() - began < 20
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 150 << 10
    assert len(found.runs) == (3 if is_text else 200)
    kinds = [it.kind for it in found.origins]
    assert kinds.count(Kind.EXPRESSION) == (0 if is_text else 29)
