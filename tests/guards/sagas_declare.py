"""The guards of declared undos: nothing is filled in twice, nothing changes afterwards, nothing is saved that cannot work."""

from __future__ import annotations

from tests.guards.guard import Guard

DECLARE = "sagas/declare.py"
CATALOGUE = "liyagent/gateway/compensations.py"
FIELDS = "liyagent/agents/fields.py"
DECLARED = "tests/unit/sagas/test_declare.py::"
MAPS = "tests/unit/agents/test_compensations.py::"
STALE = "tests/unit/agents/test_compensations_stale.py::"
API = "tests/unit/agents/test_compensations_api.py::"

SAGAS_DECLARE: tuple[Guard, ...] = (
    Guard(
        name="what is put into an undo is never read as a template",
        file=DECLARE,
        search="            return declared.known[path]\n",
        replace="            return render_by(declared.known[path], find)\n",
        tests=(f"{DECLARED}test_a_value_that_looks_like_a_template_stays_the_text_it_is",),
    ),
    Guard(
        name="what an undo reads is a copy of that time",
        file=DECLARE,
        search='= _bounded(known, "what the undo reads is", levels=1)',
        replace="= known",
        tests=(f"{DECLARED}test_what_changes_after_the_declaration_changes_no_undo",),
    ),
    Guard(
        name="an earlier round of a loop answers nothing of this one",
        file=DECLARE,
        search="        if _is_beside(path, own):\n",
        replace="        if False:\n",
        tests=(f"{DECLARED}test_what_is_wrong_is_told_at_once",),
    ),
    Guard(
        name="what an unknown write returned is made up by nobody",
        file=DECLARE,
        search="        if not is_known:\n",
        replace="        if False:\n",
        tests=(f"{DECLARED}test_where_the_result_is_unknown_only_what_reads_it_is_missing",),
    ),
    Guard(
        name="arguments of an undo are an object",
        file=DECLARE,
        search='raise BadInput(f"args of the undo would be {type(args).__name__}; an object is wanted")',
        replace="pass",
        tests=(f"{DECLARED}test_arguments_that_come_out_as_no_object_are_missing",),
    ),
    Guard(
        name="an undo has its size",
        file=DECLARE,
        search="limit_bytes=MOST_BYTES, max_depth",
        replace="max_depth",
        tests=(f"{DECLARED}test_sizes_are_bounded_and_told",),
    ),
    Guard(
        name="a small template makes no huge value",
        file="liyagent/core/templates.py",
        search="        if self.left < 0:\n",
        replace="        if False:\n",
        tests=(f"{DECLARED}test_a_small_template_makes_no_huge_value",),
    ),
    Guard(
        name="an undo with a template that is not closed is never sent",
        file="liyagent/core/templates.py",
        search='    if "{{" in PLACEHOLDER.sub(" ", text):\n',
        replace="    if False:\n",
        tests=(f"{DECLARED}test_what_is_wrong_is_told_at_once",),
    ),
    Guard(
        name="a map is looked up however its agent is saved",
        file=FIELDS,
        search="        problems |= dict(problems_in_world(checked, is_whole=is_whole))\n",
        replace="        pass\n",
        tests=(
            f"{MAPS}test_every_problem_is_told_at_once",
            f"{API}test_a_map_that_is_wrong_is_a_problem_with_the_path_of_each_and_nothing_is_written",
        ),
    ),
    Guard(
        name="a map that is set by itself is looked up",
        file="liyagent/agents/definitions.py",
        search="        if wrong := problems_in_world(values, is_whole=True):\n",
        replace="        if wrong := []:\n",
        tests=(
            f"{API}test_a_map_that_is_wrong_is_a_problem_with_the_path_of_each_and_nothing_is_written",
        ),
    ),
    Guard(
        name="what changed of a map is audited with what it was and is",
        file="liyagent/agents/definitions.py",
        search='        _record_undos(agent, before.get("compensations", {}), actor=actor)\n',
        replace="        pass\n",
        tests=(f"{MAPS}test_setting_the_map_is_a_version_and_is_audited_with_what_it_was_and_is",),
    ),
    Guard(
        name="an undo is a tool that the agent may use",
        file=CATALOGUE,
        search="    else:\n        yield from _not_permitted(place, name, patterns)\n",
        replace="",
        tests=(f"{MAPS}test_a_map_that_cannot_work_is_refused_with_its_path",),
    ),
    Guard(
        name="a read undoes nothing",
        file=CATALOGUE,
        search="    elif tool.effect == Effect.READ.value:\n",
        replace="    elif tool.effect is None:\n",
        tests=(f"{MAPS}test_a_map_that_cannot_work_is_refused_with_its_path",),
    ),
    Guard(
        name="a tool that is gone keeps nobody from saving something else",
        file=CATALOGUE,
        search="if is_whole or standing.get(name) != undo}",
        replace="if is_whole or standing != {name: None}}",
        tests=(f"{MAPS}test_a_tool_that_is_gone_keeps_nobody_from_saving_something_else",),
    ),
    Guard(
        name="patterns do not shut an undo out behind the map",
        file=CATALOGUE,
        search="        elif is_moved:\n",
        replace="        elif False:\n",
        tests=(f"{MAPS}test_a_tool_that_is_gone_keeps_nobody_from_saving_something_else",),
    ),
    Guard(
        name="an undo gets what its tool wants",
        file="liyagent/gateway/undo_args.py",
        search="name not in args and name != keyed:\n",
        replace="name == keyed and name in args:\n",
        tests=(f"{MAPS}test_a_map_that_cannot_work_is_refused_with_its_path",),
    ),
    Guard(
        name="an undo that became stale is told by the report",
        file="liyagent/gateway/report.py",
        search="*stale.get(contract.name, ())",
        replace="",
        tests=(f"{STALE}test_an_undo_that_would_fail_now_is_told",),
    ),
    Guard(
        name="who removes a server is told whose undos are made at it",
        file="liyagent/gateway/apps.py",
        search='        NEEDS.append(import_module("liyagent.gateway.stale_undos").need_of)\n',
        replace='        import_module("liyagent.gateway.stale_undos")\n',
        tests=(f"{STALE}test_who_removes_a_server_is_told_whose_undos_are_made_at_it",),
    ),
)
