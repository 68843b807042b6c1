"""The guards of the pages of sagas: words for their readers, verbs for operators, and no more said or read than is so."""

from __future__ import annotations

from tests.guards.guard import Guard

PAGE, ADMIN, STEPS = "runs/saga_view.py", "runs/sagas_admin.py", "liyagent/workflows/run_steps.py"
PAGES = "tests/unit/runs/page/test_sagas.py::"
RUN_PAGE = "tests/unit/workflows/test_run_page.py::"
REQUESTS = "tests/unit/workflows/test_request_pages.py::"

SAGAS_PAGES: tuple[Guard, ...] = (
    Guard(
        name="arguments and errors of undos are for those who may read words",
        file=PAGE,
        search="    with_them = user.has_perm(READ_WORDS)\n",
        replace="    with_them = bool(user)\n",
        tests=(f"{PAGES}test_words_are_for_those_who_may_read_them",),
    ),
    Guard(
        name="undoing and closing need what a Stop needs",
        file=ADMIN,
        search="        return request.user.has_perm(OPERATE)\n",
        replace="        return request.user.has_perm(VIEW_RUN)\n",
        tests=(f"{PAGES}test_buttons_are_for_those_who_may_operate",),
    ),
    Guard(
        name="a page of a saga shows fifty undos, however many there are",
        file=PAGE,
        search="order__lte=highest, order__gt=highest - UNDOS_A_PAGE",
        replace="order__lte=highest + 1_000",
        tests=(
            f"{PAGES}test_a_page_of_two_hundred_undos_shows_fifty_and_asks_as_often_as_one_of_three",
        ),
    ),
    Guard(
        name="what was begun again, or worked off, needs nobody any more",
        file="sagas/needing.py",
        search="        .filter(~(Q(Exists(again)) | Q(Exists(worked))))\n",
        replace="        .filter(~(Q(Exists(again)) & Q(Exists(worked))))\n",
        tests=(f"{REQUESTS}test_beginning_again_and_closing_are_told_as_that",),
    ),
    Guard(
        name="the steps of a workflow's run are for those who may see workflows",
        file="liyagent/console/run_page.py",
        search=" or not request.user.has_perm(VIEW_WORKFLOW):",
        replace=":",
        tests=(
            f"{RUN_PAGE}test_steps_are_for_those_who_may_see_workflows_and_errors_for_readers_of_words",
        ),
    ),
    Guard(
        name="why a step failed is for those who may read words",
        file=STEPS,
        search="        content = told.content if self.with_words else without_words(told.content)\n",
        replace="        content = told.content\n",
        tests=(
            f"{RUN_PAGE}test_steps_are_for_those_who_may_see_workflows_and_errors_for_readers_of_words",
        ),
    ),
    Guard(
        name="the form of a Stop says that a workflow keeps what it did",
        file="runs/stop_told.py",
        search="    if counts_of([run.id]).get(run.id, {}).get(UndoFate.OWED.value):\n",
        replace="    if number:\n",
        tests=(f"{RUN_PAGE}test_the_form_of_a_stop_names_what_would_be_undone",),
    ),
    Guard(
        name="what would be made again stands first on the page of a hand-off",
        file="templates/admin/approvals/approval/saga.html",
        search="{% for it in handed.left %}",
        replace="{% for it in handed.none %}",
        tests=(f"{REQUESTS}test_a_hand_off_lists_first_what_would_be_made_again",),
    ),
    Guard(
        name="a write without an undo is told where its run may begin again",
        file="liyagent/console/handed_over.py",
        search="        **bare,\n",
        replace="",
        tests=(f"{REQUESTS}test_a_write_without_an_undo_stands_and_would_be_made_again",),
    ),
    Guard(
        name="an undo, and what has one, is no write that stands",
        file="runs/bare_writes.py",
        search="it.id not in undoing and ",
        replace="",
        tests=(f"{REQUESTS}test_where_all_is_undone_nothing_is_made_twice",),
    ),
)
