"""Guards of a run's page: what it says of the record, whom it shows words, and how much it reads."""

from __future__ import annotations

from tests.guards.guard import Guard

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
        search="it.number > step and call.marked_at is not None and it.at > call.marked_at",
        replace="it.number > step and call.marked_at is None",
        tests=(f"{TIMELINE}test_a_takeover_stands_behind_the_call_that_it_found_in_doubt",),
    ),
)
