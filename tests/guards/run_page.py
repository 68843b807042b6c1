"""Guards of a run's page: what it says of the record, whom it shows words, and how much it reads."""

from __future__ import annotations

from tests.guards.guard import Guard

EDITED = "tests/unit/events/attacks/test_hostile_rows.py::"
RECORD = "tests/unit/runs/page/test_record.py::"
TIMELINE = "tests/unit/runs/page/test_timeline.py::"

RUN_PAGE_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="words of a stored event are for those who may read them",
        file="runs/raw_event.py",
        search='    if with_words:\n        return {"content": content}\n',
        replace='    if with_words or content:\n        return {"content": content}\n',
        tests=(
            f"{RECORD}test_words_are_withheld_from_who_may_not_read_them_everywhere_on_the_page",
        ),
    ),
    Guard(
        name="stored events are for those who may see events",
        file="runs/admin.py",
        search=" and request.user.has_perm(VIEW_EVENTS)",
        replace="",
        tests=(f"{RECORD}test_stored_events_are_for_those_who_may_see_events",),
    ),
    Guard(
        name="what went wrong is told by an event's own fate, not by its text",
        file="runs/gone_wrong.py",
        search="        'step', 'tool.call')",
        replace="        'step') OR kind = 'tool.call' AND NOT content LIKE '%%\"fate\":\"done\"%%'",
        tests=(f"{RECORD}test_an_argument_that_imitates_an_outcome_hides_no_failed_call",),
    ),
    Guard(
        name="an event that is no JSON leaves the page whole",
        file="runs/told_events.py",
        search="    except (DataError, OperationalError):\n",
        replace="    except ZeroDivisionError:\n",
        tests=(f"{RECORD}test_events_that_are_no_json_leave_the_page_whole",),
    ),
    Guard(
        name="a run whose record was taken away is looked at all the same",
        file="runs/record_told.py",
        search="is_looked_at = count <= most and purged_at is None",
        replace="is_looked_at = 0 < count <= most and purged_at is None",
        tests=(f"{RECORD}test_a_run_whose_record_was_taken_away_has_a_page_that_says_so",),
    ),
    Guard(
        name="a marked call stands where it was marked",
        file="runs/run_timeline.py",
        search="        if it.number > step and is_behind and",
        replace="        if it.number > step and not is_behind and",
        tests=(f"{TIMELINE}test_a_takeover_stands_behind_the_call_that_it_found_in_doubt",),
    ),
    Guard(
        name="a call's event that tells of no call leaves the run shown",
        file="runs/head.py",
        search="    if not all(type(it) is int and 0 <= it < HIGHEST for it in place.values()):\n        return None\n",
        replace="",
        tests=(
            f"{EDITED}test_content_that_is_none_of_ours_breaks_no_page_and_no_verification[tool.call]",
        ),
    ),
    Guard(
        name="a status that there is not is shown as it stands",
        file="runs/states.py",
        search="STATES.get(status, QUIET)",
        replace="STATES[status]",
        tests=(f"{EDITED}test_a_head_and_its_takeovers_that_were_edited_are_shown_as_they_stand",),
    ),
    Guard(
        name="a takeover whose row was edited is told in one line",
        file="runs/management/commands/runs.py",
        search='some_list(row.get("calls")) if isinstance(it, dict)]',
        replace='row["calls"]]',
        tests=(f"{EDITED}test_a_head_and_its_takeovers_that_were_edited_are_shown_as_they_stand",),
    ),
    Guard(
        name="the page of events shows what is no JSON as it stands",
        file="liyagent/console/events_page.py",
        search="    except (DataError, OperationalError):",
        replace="    except ZeroDivisionError:",
        tests=(
            f"{EDITED}test_content_that_is_none_of_ours_breaks_no_page_and_no_verification[step]",
        ),
    ),
    Guard(
        name="the page of events shows no more of an event than so much",
        file="liyagent/console/events_page.py",
        search="::text, %(whole)s) END",
        replace="::text, 1 << 30) END",
        tests=(f"{EDITED}test_an_event_of_very_many_fields_makes_no_page_large",),
    ),
    Guard(
        name="a run's page shows no more of an event than so much",
        file="runs/told_events.py",
        search="::text, %(whole)s) END",
        replace="::text, 1 << 30) END",
        tests=(f"{EDITED}test_an_event_of_very_many_fields_makes_no_page_large",),
    ),
    Guard(
        name="a step that was forged into the log is further than any",
        file="runs/checkpoint.py",
        search='whole_number(content_of(content).get("step")) or HIGHEST',
        replace='whole_number(content_of(content).get("step"))',
        tests=(
            f"{EDITED}test_a_step_that_was_forged_into_the_log_ends_the_run_as_one_that_was_put_back[{{x]",
        ),
    ),
    Guard(
        name="a link to what is no mission leads to nothing",
        file="missions/admin.py",
        search="        if mission is None:\n            raise Http404\n",
        replace="",
        tests=(
            "tests/unit/missions/test_mission_links.py::test_a_link_of_the_list_leads_to_the_page_and_what_is_no_mission_to_none",
        ),
    ),
)
