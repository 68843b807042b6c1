"""The guards of the audit log: whose stamps a row bears, what a concern leaves out, and where an export ends."""

from __future__ import annotations

from tests.guards.guard import Guard

WRITER = "liyagent/audit/migrations/0003_rows_name_agent_and_address.py"
CONCERNS = "tests/unit/audit/test_concerns.py::"
STAMPS = "tests/unit/audit/test_stamps.py::"
API = "tests/flows/test_audit_api.py::"
LISTING = "tests/unit/audit/test_listing.py::"
HOSTILE = "tests/unit/audit/test_hostile_rows.py::"
EXPORT = "liyagent/audit/export.py"
LIST = "liyagent/audit/listing.py"

AUDIT_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="what somebody does bears no stamps while a concern is open about them",
        file=WRITER,
        search="c.about = 'actor' AND c.subject = p_actor",
        replace="c.about = 'actor' AND c.subject = p_actor AND false",
        tests=(
            f"{CONCERNS}test_what_the_person_does_whom_it_is_about_bears_no_stamps_and_all_else_does",
            "tests/flows/test_audit_stamps.py::test_rows_written_while_a_concern_is_open_bear_no_stamps",
        ),
    ),
    Guard(
        name="a mission that a concern is about stands on no row",
        file=WRITER,
        search="c.about = 'mission' AND c.subject = p_mission",
        replace="false",
        tests=(f"{CONCERNS}test_a_mission_that_it_is_about_stands_on_no_row",),
    ),
    Guard(
        name="a concern that is closed leaves nothing out",
        file=WRITER,
        search="WHERE c.closed_at IS NULL AND c.about = 'actor'",
        replace="WHERE c.about = 'actor'",
        tests=(
            f"{CONCERNS}test_what_the_person_does_whom_it_is_about_bears_no_stamps_and_all_else_does",
        ),
    ),
    Guard(
        name="a run that was started under a concern stays as it began",
        file=WRITER,
        search="AND a.is_confidential AND a.action = 'agent.run.started'",
        replace="AND false",
        tests=(
            f"{CONCERNS}test_what_is_written_of_a_run_that_was_started_under_it_stays_as_it_began",
        ),
    ),
    Guard(
        name="what is done under a concern to another's run hides nothing of that run",
        file=WRITER,
        search="AND a.is_confidential AND a.action = 'agent.run.started'",
        replace="AND a.is_confidential",
        tests=(
            f"{CONCERNS}test_what_is_written_of_a_run_that_was_started_under_it_stays_as_it_began",
        ),
    ),
    Guard(
        name="a detail cannot pass for a stamp",
        file=WRITER,
        search="p_detail - ARRAY['actor', 'mission', 'request_id', 'address']",
        replace="p_detail",
        tests=(
            f"{STAMPS}test_no_key_of_a_detail_sets_a_stamp_or_passes_for_one",
            f"{STAMPS}test_nor_does_one_that_is_written_in_the_database_itself",
        ),
    ),
    Guard(
        name="the request is that of who does it, not the run's",
        file="liyagent/audit/record.py",
        search="stamp.request_id or request_id",
        replace="request_id or stamp.request_id",
        tests=(f"{STAMPS}test_the_mission_is_the_runs_and_the_request_is_of_who_does_it",),
    ),
    Guard(
        name="the mission is that of the run it is done to",
        file="liyagent/audit/record.py",
        search="mission or stamp.mission_of_work",
        replace="stamp.mission_of_work or mission",
        tests=(f"{STAMPS}test_the_mission_is_the_runs_and_the_request_is_of_who_does_it",),
    ),
    Guard(
        name="the writer leaves out what a concern is closed over, in its own words still",
        file="liyagent/audit/concerns.py",
        search="        # Still under it, as whoever closes it may be whom it is about.\n"
        '        record("concern.closed", actor=closed_by, detail={"concern": concern_id})\n'
        "        rows.update(closed_by=closed_by, closed_at=NOW)\n",
        replace="        rows.update(closed_by=closed_by, closed_at=NOW)\n"
        '        record("concern.closed", actor=closed_by, detail={"concern": concern_id})\n',
        tests=(f"{CONCERNS}test_whoever_closes_one_about_themselves_leaves_no_stamps",),
    ),
    Guard(
        name="of two who close a concern at once one does",
        file="liyagent/audit/concerns.py",
        search="Concern.objects.select_for_update().filter(",
        replace="Concern.objects.filter(",
        tests=(f"{CONCERNS}test_of_two_who_close_it_at_once_one_does",),
    ),
    Guard(
        name="an export ends before what an open transaction may yet write",
        file=EXPORT,
        search="a.backend_xid IS NOT NULL",
        replace="false",
        tests=(f"{API}test_an_export_ends_before_what_another_transaction_may_still_write",),
    ),
    Guard(
        name="an export goes on behind what was looked at, not behind what fitted",
        file=LIST,
        search="    return Found(ids=fits, last=looked_at[-1][0] if is_full else None)\n",
        replace="    return Found(ids=fits, last=fits[-1] if fits and is_full else None)\n",
        tests=(f"{LISTING}test_what_was_looked_through_in_vain_leads_on",),
    ),
    Guard(
        name="an export whose right is taken away ends",
        file="liyagent/access/audit_export.py",
        search="if may_go_on() else b",
        replace="if True else b",
        tests=(f"{API}test_an_export_whose_right_is_taken_away_ends_without_its_last_line",),
    ),
    Guard(
        name="whoever sees concerns alone opens none",
        file="liyagent/access/audit_api.py",
        search='    needs = {"GET": (VIEW_CONCERN,), "POST": (HANDLE_CONCERN,)}',
        replace='    needs = {"GET": (VIEW_CONCERN,), "POST": (VIEW_CONCERN,)}',
        tests=(f"{API}test_each_right_opens_its_own_door",),
    ),
    Guard(
        name="a page of the log is bounded by its details",
        file=LIST,
        search="filter(Q(before=None) | Q(before__lte=PAGE_SIZE))",
        replace="all()",
        tests=(
            f"{LISTING}test_a_page_and_a_part_of_an_export_end_before_their_details_are_too_much",
        ),
    ),
    Guard(
        name="a page that ended early leads on",
        file=LIST,
        search="    return fitting, fitting[-1].pk if is_cut else found.last\n",
        replace="    return fitting, found.last\n",
        tests=(
            f"{LISTING}test_a_page_and_a_part_of_an_export_end_before_their_details_are_too_much",
        ),
    ),
    Guard(
        name="a detail that is no object of ours is told as one",
        file="liyagent/audit/detail.py",
        search="found if isinstance(found, dict) else {OTHER: value[:LONGEST_OTHER]}",
        replace="found",
        tests=(f"{HOSTILE}test_no_row_that_was_edited_keeps_anybody_from_a_page",),
    ),
    Guard(
        name="a detail that nothing can be read of is told all the same",
        file="liyagent/audit/detail.py",
        search="        except NotStorable:\n            found = None\n",
        replace="        except NotStorable:\n            raise\n",
        tests=(f"{HOSTILE}test_an_export_tells_of_what_was_edited",),
    ),
    Guard(
        name="a time that no calendar has is read all the same",
        file="liyagent/core/stored_times.py",
        search="    connection_created.connect(_set_loader, dispatch_uid=",
        replace="    connection_created.disconnect(_set_loader, dispatch_uid=",
        tests=(f"{HOSTILE}test_no_row_that_was_edited_keeps_anybody_from_a_page",),
    ),
    Guard(
        name="an address that names no field leads to its row",
        file="liyagent/core/console.py",
        search="get_object(request, object_id, from_field or None)",
        replace="get_object(request, object_id, from_field)",
        tests=(
            "tests/flows/test_console_fuzz.py::test_an_address_that_names_no_field_leads_to_its_row",
        ),
    ),
)
