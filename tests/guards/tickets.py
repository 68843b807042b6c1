"""The guards of tickets: one a source, whole, in the commit of its caller; changed once, as it was seen; closed for good."""

from __future__ import annotations

from tests.guards.guard import Guard

FILE, CHANGE, COMMENT = (
    f"liyagent/tickets/{it}.py" for it in ("file_ticket", "change_ticket", "comment_ticket")
)
FILED = "tests/unit/tickets/test_file_ticket.py::"
CHANGES = "tests/unit/tickets/test_changes.py::"
CONSOLE = "tests/flows/test_tickets_console.py::"

TICKETS: tuple[Guard, ...] = (
    Guard(
        name="a ticket is filed within its caller's commit alone",
        file=FILE,
        search='    require_transaction("filing a ticket")\n',
        replace="",
        tests=(f"{FILED}test_it_is_filed_within_the_commit_of_its_caller_alone",),
    ),
    Guard(
        name="of two that file for one source the later finds the ticket of the other",
        file=FILE,
        search="    ON CONFLICT (source_kind, source_id) DO NOTHING\n",
        replace="",
        tests=(
            f"{FILED}test_of_two_that_file_for_one_source_at_once_the_later_finds_the_ticket_of_the_other",
        ),
    ),
    Guard(
        name="a ticket that was found is not audited as filed again",
        file=FILE,
        search="    if is_new:\n",
        replace="    if True:\n",
        tests=(
            f"{FILED}test_of_two_that_file_for_one_source_at_once_the_later_finds_the_ticket_of_the_other",
        ),
    ),
    Guard(
        name="a body that is too large is cut, and its ticket filed",
        file="liyagent/tickets/body.py",
        search="    if len(json_bytes(plain)) <= LARGEST_BODY_BYTES:\n",
        replace="    if plain is not None:\n",
        tests=(f"{FILED}test_what_is_too_large_is_cut_and_says_so_and_the_ticket_is_filed",),
    ),
    Guard(
        name="a body is as deep as what a run may hold, and the sections around it",
        file="liyagent/tickets/body.py",
        search="DEPTH = MOST_DEPTH + 10\n",
        replace="DEPTH = MOST_DEPTH\n",
        tests=(f"{FILED}test_what_a_run_left_at_its_deepest_is_filed",),
    ),
    Guard(
        name="a ticket is changed as it was seen, or not",
        file=CHANGE,
        search="        if not is_as_seen or not ",
        replace="        if not ",
        tests=(
            f"{CHANGES}test_a_change_of_what_somebody_changed_meanwhile_is_refused_and_shows_what_stands",
            f"{CONSOLE}test_a_ticket_is_taken_on_by_who_saw_it_as_it_stands",
        ),
    ),
    Guard(
        name="of two changes at once one is made",
        file=CHANGE,
        search="filter(id=ticket.id, revision=ticket.revision)",
        replace="filter(id=ticket.id)",
        tests=(f"{CHANGES}test_of_two_changes_at_once_one_is_made",),
    ),
    Guard(
        name="a change whose answer was lost is the one that was made",
        file=CHANGE,
        search=" and (is_as_seen or _is_repeated(ticket, revision, actor)):",
        replace=" and is_as_seen:",
        tests=(f"{CHANGES}test_a_change_whose_answer_was_lost_is_made_once",),
    ),
    Guard(
        name="nothing of a closed ticket changes",
        file=CHANGE,
        search="        if ticket.state == TicketState.CLOSED:\n",
        replace="        if not ticket.state:\n",
        tests=(f"{CHANGES}test_nothing_of_a_closed_ticket_changes",),
    ),
    Guard(
        name="nothing is written on a closed ticket",
        file=COMMENT,
        search="        if ticket.state == TicketState.CLOSED:\n",
        replace="        if not ticket.state:\n",
        tests=(
            f"{CHANGES}test_nothing_of_a_closed_ticket_changes",
            f"{CONSOLE}test_a_closed_ticket_offers_nothing",
        ),
    ),
    Guard(
        name="comments at once wait for each other",
        file=COMMENT,
        search="Ticket.objects.select_for_update().get(id=found.id)",
        replace="Ticket.objects.get(id=found.id)",
        tests=(f"{CHANGES}test_a_comment_waits_for_the_one_before_it",),
    ),
    Guard(
        name="the same words again are the comment there is",
        file=COMMENT,
        search="        if newest is not None and _is_same(newest, words, actor):\n",
        replace="        if newest is not None and not words:\n",
        tests=(f"{CHANGES}test_the_same_words_again_are_the_comment_there_is",),
    ),
    Guard(
        name="words of tickets are sealed anew with a new key",
        file="runs/sealed_rows.py",
        search='    SealedRows(model=Comment, kind=COMMENT, of="id", format_number=FORMAT),\n',
        replace="",
        tests=(f"{CHANGES}test_words_of_tickets_are_sealed_anew_with_a_new_key",),
    ),
    Guard(
        name="who only sees tickets reads no words of them",
        file="liyagent/tickets/api.py",
        search="    return may_read_words(request) or holds(request, WORK_ON_TICKETS)\n",
        replace="    return True\n",
        tests=(
            "tests/flows/test_tickets.py::test_who_only_sees_tickets_reads_no_words_and_changes_nothing",
        ),
    ),
    Guard(
        name="the page of a ticket shows no words to who only sees tickets",
        file="liyagent/tickets/admin.py",
        search="        with_words = may_work or request.user.has_perm(READ_WORDS)\n",
        replace="        with_words = bool(READ_WORDS)\n",
        tests=(f"{CONSOLE}test_who_only_sees_tickets_reads_no_words_and_is_offered_nothing",),
    ),
    Guard(
        name="a page of two filters looks no further than its bound",
        file="liyagent/tickets/listing.py",
        search="(it for it, _ in others))[:MOST_LOOKED_THROUGH])",
        replace="(it for it, _ in others)))",
        tests=(
            f"{CHANGES}test_a_page_of_two_filters_looks_no_further_than_its_bound_and_leads_on",
        ),
    ),
    Guard(
        name="a tool that cannot file tickets is told of",
        file="liyagent/tickets/checks.py",
        search='    problem = misfit(args, tool.schema) if tool.schema else ""\n',
        replace='    problem = ""\n',
        tests=(
            "tests/unit/tickets/test_outside.py::test_a_tool_that_cannot_file_tickets_is_told_of",
        ),
    ),
)
