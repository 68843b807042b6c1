"""The guards of definitions: nothing is saved that could not be carried, nothing typed is lost, no words are obeyed."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM = "liyagent/workflows/"
TESTS = "tests/unit/workflows/"
CHECK, SAVE, API, PICTURE, ADMIN, COMMAND = (
    f"{TESTS}test_{it}.py::" for it in ("check", "save", "api", "picture", "admin", "command")
)
WRONG = f"{SAVE}test_what_names_something_that_is_not_there_is_refused_with_its_path"

WORKFLOW_DEFINITIONS: tuple[Guard, ...] = (
    Guard(
        name="parallel within parallel is looked through three deep at most",
        file=f"{ROOM}shape.py",
        search="            if deep >= MOST_NESTED:\n",
        replace="            if deep >= 10 * MOST_NESTED:\n",
        tests=(f"{CHECK}test_parallel_within_parallel_costs_no_more_than_it_is_long",),
    ),
    Guard(
        name="a definition has as many steps as can be looked through",
        file=f"{ROOM}shape.py",
        search="    if steps > MOST_IN_ALL:\n",
        replace="    if steps < 0:\n",
        tests=(f"{CHECK}test_parallel_within_parallel_costs_no_more_than_it_is_long",),
    ),
    Guard(
        name="a definition fits into what a run is sealed with",
        file=f"{ROOM}shape.py",
        search="    if size > MOST_BYTES:\n",
        replace="    if size < 0:\n",
        tests=(f"{CHECK}test_what_is_wrong_is_told_with_its_path",),
    ),
    Guard(
        name="problems are told in bounds",
        file=f"{ROOM}shape.py",
        search="islice(_validator().iter_errors(data), MOST_PROBLEMS)",
        replace="_validator().iter_errors(data)",
        tests=(f"{CHECK}test_many_mistakes_are_told_in_bounds",),
    ),
    Guard(
        name="a schema of an input fetches nothing",
        file=f"{ROOM}input_schema.py",
        search="                if _target(item, whole) is None:\n",
        replace="                if False:\n",
        tests=(f"{CHECK}test_what_is_wrong_is_told_with_its_path",),
    ),
    Guard(
        name="no regular expression is run on what starts a run",
        file=f"{ROOM}input_schema.py",
        search="            elif name in REGEXES and ",
        replace="            elif name is None and ",
        tests=(f"{CHECK}test_what_is_wrong_is_told_with_its_path",),
    ),
    Guard(
        name="a schema of an input comes to an end",
        file=f"{ROOM}input_schema.py",
        search="    if not found:\n        yield from _costs",
        replace="    if found is None:\n        yield from _costs",
        tests=(f"{CHECK}test_what_is_wrong_is_told_with_its_path",),
    ),
    Guard(
        name="a definition names tools that are there",
        file=f"{ROOM}save.py",
        search="    return world_problems(definition, agent)\n",
        replace="    return []\n",
        tests=(WRONG, f"{API}test_a_definition_is_validated_without_being_saved"),
    ),
    Guard(
        name="a tool takes the arguments that a step gives it",
        file=f"{ROOM}allowed.py",
        search="            problems += found or _args_problems(use, tools[use.name], fitting)\n",
        replace="            problems += found\n",
        tests=(f"{SAVE}test_arguments_that_their_tool_does_not_take_are_refused_with_their_path",),
    ),
    Guard(
        name="a step calls what its agent's patterns let in",
        file=f"{ROOM}allowed.py",
        search="    elif not is_allowed(use.name, agent.tool_patterns):\n",
        replace="    elif False:\n",
        tests=(f"{SAVE}test_a_tool_that_the_agent_may_not_use_is_refused_with_its_path",),
    ),
    Guard(
        name="a step asks an agent that its own may hand work to",
        file=f"{ROOM}allowed.py",
        search='    elif key != agent.key and not is_allowed(f"{SUB_AGENTS}{key}", agent.tool_patterns):\n',
        replace="    elif False:\n",
        tests=(f"{SAVE}test_a_tool_that_the_agent_may_not_use_is_refused_with_its_path",),
    ),
    Guard(
        name="an undo is looked at as a call is",
        file=f"{ROOM}allowed.py",
        search="    if undo is not None:\n",
        replace="    if undo is not None and undo == step:\n",
        tests=(WRONG,),
    ),
    Guard(
        name="a version rises only where something changed",
        file=f"{ROOM}save.py",
        search="        if not changed:\n            return row\n",
        replace="",
        tests=(f"{SAVE}test_each_change_is_a_version_that_stays_and_no_change_is_none",),
    ),
    Guard(
        name="who expects another version of a workflow is told",
        file=f"{ROOM}save.py",
        search="    if expected in (None, standing):\n",
        replace="    if expected != -1:\n",
        tests=(f"{SAVE}test_who_expects_another_version_is_told",),
    ),
    Guard(
        name="a saved workflow is audited",
        file=f"{ROOM}save.py",
        search='    record("workflow.saved", actor=actor, detail=detail, agent=values.agent.key)\n',
        replace="",
        tests=(f"{SAVE}test_what_was_changed_is_audited_with_before_and_after",),
    ),
    Guard(
        name="a workflow whose runs go on is kept",
        file=f"{ROOM}remove.py",
        search="        if ids:\n",
        replace="        if not actor:\n",
        tests=(
            f"{API}test_a_workflow_is_removed_once_its_runs_have_ended",
            f"{ADMIN}test_it_is_removed_after_a_question_and_not_while_its_runs_go_on",
        ),
    ),
    Guard(
        name="who may change workflows makes none",
        file=f"{ROOM}api.py",
        search="        if is_new and not holds(request, ADD):\n",
        replace="        if is_new and not holds(request, CHANGE):\n",
        tests=(f"{API}test_each_verb_wants_its_permission",),
    ),
    Guard(
        name="of several workflows all are saved or none",
        file=f"{ROOM}save.py",
        search="    with transaction.atomic():\n        return [save_given(it, actor=actor) for it in given]\n",
        replace="    return [save_given(it, actor=actor) for it in given]\n",
        tests=(f"{SAVE}test_several_are_saved_or_none",),
    ),
    Guard(
        name="a form that is late says so and keeps what was typed",
        file=f"{ROOM}forms.py",
        search='            if data.get("version") != row.version:\n',
        replace="            if False:\n",
        tests=(f"{ADMIN}test_of_two_that_change_it_the_later_is_told_and_keeps_what_was_typed",),
    ),
    Guard(
        name="what is no definition is shown again as it was typed",
        file=f"{ROOM}forms.py",
        search="""                self.add_error("definition", visible(str(error)))\n""",
        replace="                raise\n",
        tests=(
            f"{ADMIN}test_what_is_wrong_is_shown_at_its_field_with_its_path_and_nothing_typed_is_lost",
        ),
    ),
    Guard(
        name="words in a picture are written out",
        file=f"{ROOM}picture.py",
        search="    text = cell(text)\n    room",
        replace="    text = mark_safe(text)\n    room",
        tests=(f"{PICTURE}test_what_somebody_wrote_is_shown_and_not_obeyed",),
    ),
    Guard(
        name="branches go below one another before they grow too wide",
        file=f"{ROOM}layout.py",
        search="SIDE_BY_SIDE = (3, 2, 1)",
        replace="SIDE_BY_SIDE = (20, 20, 20)",
        tests=(f"{PICTURE}test_many_branches_go_below_one_another",),
    ),
    Guard(
        name="lines side by side take so many lanes and no more",
        file=f"{ROOM}layout.py",
        search="lane.number < MOST_LANES - 1",
        replace="lane.number < 100 * MOST_LANES",
        tests=(f"{PICTURE}test_a_long_one_grows_downwards_alone",),
    ),
    Guard(
        name="a JSON number in a definition is read as one",
        file=f"{ROOM}load.py",
        search="""    if not text.lstrip().startswith("{"):\n""",
        replace="    if text:\n",
        tests=(f"{ADMIN}test_a_workflow_is_added_and_changed_through_the_verb",),
    ),
    Guard(
        name="a file with something wrong saves nothing",
        file=f"{ROOM}load.py",
        search="""    if told:\n        raise BadInput("; ".join(told[:MOST_TOLD]))\n""",
        replace="",
        tests=(f"{COMMAND}test_each_problem_is_told_with_its_file_line_and_path",),
    ),
)
