"""The guards of lists and probes over a long record: each finds its way by an index."""

from __future__ import annotations

from tests.guards.guard import Guard

PLANS = "tests/flows/test_log_plans.py::test_no_page_of_the_record_walks_through_what_is_behind_it"
QUIET = "tests/unit/events/seals/test_quiet_rounds.py::"

LISTS: tuple[Guard, ...] = (
    Guard(
        name="the rows of an action are read by the one index that has their order",
        file="liyagent/audit/listing.py",
        search="""            WHERE (a.action, a.id) > (n.action, %(low)s) AND (a.action, a.id) < (n.action, %(high)s)
            ORDER BY a.action {order}, a.id {order} LIMIT""",
        replace="""            WHERE a.action = n.action AND a.id > %(low)s AND a.id < %(high)s
            ORDER BY a.id {order} LIMIT""",
        tests=(
            "tests/flows/test_audit_plans.py::"
            "test_an_action_that_was_frequent_once_is_not_looked_for_among_all_that_came_since",
        ),
    ),
    Guard(
        name="the events of a named mission are found by their index",
        file="events/timeline.py",
        search=" AND mission <> correlation_id::text AND at > 'epoch'\n",
        replace=" AND at > 'epoch'\n",
        tests=(PLANS,),
    ),
    Guard(
        name="a mission is looked for by its whole id",
        file="missions/admin.py",
        search="queryset.filter(id=term)",
        replace="queryset.filter(id__icontains=term)",
        tests=(PLANS,),
    ),
    Guard(
        name="an action is read from its index as far as the page goes",
        file="liyagent/audit/listing.py",
        search=" AND (a.action, a.id) < (n.action, %(high)s)\n",
        replace=" AND (a.action, a.id) < (n.action, %(high)s) AND a.at + interval '0' >= %(since)s AND a.at + interval '0' < %(until)s\n",
        tests=(
            "tests/flows/test_log_plans.py::test_an_action_is_read_from_its_index_as_far_as_the_page_goes",
        ),
    ),
    Guard(
        name="an event that is purged asks for its certificate by the index",
        file="events/migrations/0008_a_purge_asks_for_certificates_by_their_index.py",
        search=" SET enable_seqscan = off",
        replace=" SET enable_seqscan = on",
        tests=(
            "tests/unit/events/test_purge.py::test_each_event_that_is_purged_asks_for_its_certificate_by_the_index",
        ),
    ),
    Guard(
        name="whether there is something to seal is asked of one index",
        file="events/seal_heads.py",
        search="SELECT 1 FROM events_eventhead WHERE is_unsealed)",
        replace="SELECT 1 FROM events_eventhead WHERE is_unsealed OR count < 0)",
        tests=(
            f"{QUIET}test_where_nothing_changed_one_statement_asks_one_index_and_writes_nothing",
        ),
    ),
)
