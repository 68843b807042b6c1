"""The guards of missions: what names one, where it goes, what is noted, and a timeline that leaves nothing out."""

from __future__ import annotations

from tests.guards.guard import Guard

BAGGAGE, CARRY, TIMELINE = (f"missions/{it}.py" for it in ("baggage", "carry", "timeline"))
NOTED = "liyagent/audit/migrations/0005_named_missions_are_noted.py"
SEEN_SQL = "missions/migrations/0001_initial.py"
UNIT = "tests/unit/missions/"
IN_BAGGAGE, NAMED, CARRIED, HANDED, SEEN = (
    f"{UNIT}test_{it}.py::" for it in ("baggage", "carry", "carried", "handed_on", "seen")
)
API = "tests/flows/test_missions_api.py::"
CONSOLE = "tests/flows/test_missions_console.py::"
HOSTILE = "tests/unit/audit/test_hostile_rows.py::"
LIMITS = f"{IN_BAGGAGE}test_a_header_beyond_the_limits_of_the_specification_is_not_read"
MEMBERS = f"{IN_BAGGAGE}test_the_first_member_that_fits_names_the_mission"

MISSIONS: tuple[Guard, ...] = (
    Guard(
        name="a mission fits as a whole",
        file="missions/names.py",
        search="RULE.fullmatch(value)",
        replace="RULE.match(value)",
        tests=(f"{UNIT}test_names.py::test_anything_else_is_dropped_and_never_repaired",),
    ),
    Guard(
        name="a mission is of ASCII letters",
        file="missions/names.py",
        search='r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"',
        replace='r"[^\\W_][\\w.:-]{0,127}"',
        tests=(f"{UNIT}test_names.py::test_anything_else_is_dropped_and_never_repaired",),
    ),
    Guard(
        name="baggage of more bytes than the specification has is not read",
        file=BAGGAGE,
        search=' or len(header.encode(errors="replace")) > MOST_BYTES',
        replace="",
        tests=(LIMITS,),
    ),
    Guard(
        name="baggage of more members than the specification has is not read",
        file=BAGGAGE,
        search="    if len(members) > MOST_MEMBERS:\n        return \"\"\n",
        replace="",
        tests=(LIMITS,),
    ),
    Guard(
        name="a plus in baggage is a plus",
        file=BAGGAGE,
        search="unquote_to_bytes(value)",
        replace='unquote_to_bytes(value.replace("+", "-"))',
        tests=(MEMBERS,),
    ),
    Guard(
        name="a name in baggage is told apart by case",
        file=BAGGAGE,
        search="name.strip(BLANKS) != MEMBER",
        replace="name.strip(BLANKS).lower() != MEMBER",
        tests=(MEMBERS,),
    ),
    Guard(
        name="properties of baggage are cut off",
        file=BAGGAGE,
        search='rest.partition(";")[0].strip(BLANKS)',
        replace="rest.strip(BLANKS)",
        tests=(MEMBERS,),
    ),
    Guard(
        name="the header goes before the baggage",
        file=CARRY,
        search="clean_mission(header) or mission_in_baggage(baggage)",
        replace="mission_in_baggage(baggage) or clean_mission(header)",
        tests=(f"{NAMED}test_the_header_goes_before_the_baggage_and_both_before_the_message",),
    ),
    Guard(
        name="a mission in a message is of the rule too",
        file=CARRY,
        search="(clean_mission(it.get(META_KEY)) for it in metas",
        replace="(str(it.get(META_KEY) or '') for it in metas",
        tests=(f"{NAMED}test_what_does_not_fit_is_as_if_it_were_not_there",),
    ),
    Guard(
        name="a run is carried under its own stamp",
        file="runs/runner.py",
        search="with stamped(stamp_of(stored.run)):",
        replace="if True:",
        tests=(f"{CARRIED}test_what_runs_in_the_thread_of_a_run_works_under_its_stamp",),
    ),
    Guard(
        name="a job is worked on under its own stamp",
        file="liyagent/jobs/work.py",
        search="with stamped(stamp_of(job)):",
        replace="if True:",
        tests=(
            f"{HANDED}test_a_job_reads_a_servers_resources_with_the_mission_it_was_asked_for_in",
        ),
    ),
    Guard(
        name="a delivery is handed on under the stamp of its run",
        file="liyagent/entry/deliver.py",
        search="with stamped(stamp_of_what_came(delivery.run_id)):",
        replace="if True:",
        tests=(
            f"{HANDED}test_a_push_and_the_rows_of_what_it_is_owed_for_bear_the_mission_of_the_message",
        ),
    ),
    Guard(
        name="what comes in is of the mission of the request that brings it",
        file="liyagent/entry/arrive.py",
        search="arriving.mission or stamp.mission",
        replace="arriving.mission",
        tests=(
            f"{HANDED}test_a_trigger_that_is_run_by_hand_is_of_the_mission_of_who_runs_it",
        ),
    ),
    Guard(
        name="a decision is of the mission of its run",
        file="liyagent/approvals/decide.py",
        search="            mission=approval.mission,\n            correlation_id",
        replace="            correlation_id",
        tests=(
            f"{CARRIED}test_every_call_event_row_and_child_of_a_killed_held_and_resumed_run_bears_its_mission",
        ),
    ),
    Guard(
        name="a vendor is asked for a write with the write's mission",
        file="runs/read_back.py",
        search="            mission=payload.mission,\n",
        replace='            mission="",\n',
        tests=(
            f"{CARRIED}test_every_call_event_row_and_child_of_a_killed_held_and_resumed_run_bears_its_mission",
            f"{CARRIED}test_a_write_that_is_looked_for_late_is_asked_after_with_its_mission",
        ),
    ),
    Guard(
        name="the id of a run is no named mission",
        file=NOTED,
        search=" AND NEW.mission IS DISTINCT FROM NEW.correlation_id::text",
        replace="",
        tests=(f"{SEEN}test_what_stands_in_for_a_mission_is_noted_nowhere",),
    ),
    Guard(
        name="the id of a request is no named mission",
        file=NOTED,
        search=" AND NEW.mission <> NEW.request_id",
        replace="",
        tests=(f"{SEEN}test_what_stands_in_for_a_mission_is_noted_nowhere",),
    ),
    Guard(
        name="the id of a process is no named mission",
        file=NOTED,
        search="        AND (NEW.request_id <> '' OR NEW.correlation_id IS NOT NULL))",
        replace="        )",
        tests=(f"{SEEN}test_what_stands_in_for_a_mission_is_noted_nowhere",),
    ),
    Guard(
        name="nobody waits for another who notes the same mission first",
        file=SEEN_SQL,
        search="IF pg_try_advisory_xact_lock(1835627635, hashtext(p_mission) & 2047) THEN",
        replace="IF true THEN",
        tests=(f"{SEEN}test_nobody_waits_for_another_who_notes_the_same_mission",),
    ),
    Guard(
        name="nobody waits for another who notes that a mission was seen again",
        file=SEEN_SQL,
        search=" FOR NO KEY UPDATE SKIP LOCKED",
        replace="",
        tests=(f"{SEEN}test_nobody_waits_for_another_who_notes_the_same_mission",),
    ),
    Guard(
        name="a source of a timeline is told to those alone who may see it",
        file="liyagent/console/missions/reading.py",
        search="[it for it in asked if may_see(it.needs)]",
        replace="list(asked)",
        tests=(f"{API}test_each_source_is_told_to_those_alone_who_may_see_it",),
    ),
    Guard(
        name="each source goes on from its own place",
        file=TIMELINE,
        search="        places[line.source] = line.entry.place\n",
        replace="        places[line.source] = lines[-1].entry.place\n",
        tests=(
            f"{API}test_pages_lead_through_all_sources_with_nothing_left_out_or_told_twice",
        ),
    ),
    Guard(
        name="a source that looked no further leads on",
        file=TIMELINE,
        search="it.entry.leads_on or ",
        replace="",
        tests=(
            f"{API}test_a_look_for_calls_in_doubt_says_how_far_it_went_and_leads_on",
        ),
    ),
    Guard(
        name="an unnamed mission that is named later has both chains",
        file="events/timeline.py",
        search="        if correlation_id == chain:\n            own = number\n        else:\n            named = (at, correlation_id, number)\n",
        replace="        own = number\n",
        tests=(f"{API}test_a_later_run_may_name_the_id_of_an_unnamed_one",),
    ),
    Guard(
        name="a timeline has no words",
        file="events/timeline.py",
        search=" WHERE key = ANY(%(facts)s))::text",
        replace=")::text",
        tests=(f"{API}test_no_words_of_a_run_recorded_in_full_stand_in_its_timeline",),
    ),
    Guard(
        name="a mission's events are told in words",
        file="liyagent/console/missions/page.py",
        search="line_of(entry.kind, entry.facts) if is_event else visible(entry.told)",
        replace="visible(entry.told)",
        tests=(f"{CONSOLE}test_events_are_told_in_the_words_of_a_run_s_page",),
    ),
    Guard(
        name="a name in a mission's lines is not broken in two",
        file="templates/admin/mission.html",
        search="{% elif line.by|length > 24 %}liy-wrap{% else %}liy-whole{% endif %}",
        replace="{% else %}liy-wrap{% endif %}",
        tests=(f"{CONSOLE}test_events_are_told_in_the_words_of_a_run_s_page",),
    ),
    Guard(
        name="what lies before the calendar leads no list on for ever",
        file="missions/places.py",
        search=' & Q((f"{moment}__gt", FIRST))',
        replace="",
        tests=(
            f"{HOSTILE}test_pages_of_times_that_no_calendar_has_lead_on_to_an_end",
            "tests/unit/events/attacks/test_hostile_rows.py::test_times_beyond_the_calendar_lead_no_list_on_for_ever[before]",
        ),
    ),
    Guard(
        name="what is no mission leads nowhere",
        file="liyagent/console/missions/serializers.py",
        search="        if clean_mission(mission.id) is None:\n            return None\n",
        replace="",
        tests=(f"{HOSTILE}test_no_row_that_was_edited_keeps_anybody_from_a_page",),
    ),
    Guard(
        name="what lies behind the calendar leads no list of doubts on for ever",
        file="runs/doubts.py",
        search="        rows = rows.filter(marked_at__lt=LAST)\n",
        replace="",
        tests=(
            "tests/unit/events/attacks/test_hostile_rows.py::test_times_beyond_the_calendar_lead_no_list_on_for_ever[behind]",
        ),
    ),
    Guard(
        name="what lies behind the calendar leads no list of requests on for ever",
        file="liyagent/approvals/listing.py",
        search="within = Q(created_at__lt=LAST) if",
        replace="within = Q() if",
        tests=(
            "tests/unit/events/attacks/test_hostile_rows.py::test_times_beyond_the_calendar_lead_no_list_on_for_ever[behind]",
        ),
    ),
)  # fmt: skip
