"""The proxies of the cut trials: they know where a message ends, number it, and strike at the moment that is meant."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import psycopg
import pytest

from tests.databases import FreshDatabase
from tests.trials.cuts import http_wire
from tests.trials.cuts.course import Cut, Fault, Message, Moment, course_of
from tests.trials.cuts.gate import Gate
from tests.trials.cuts.http_wire import HttpStream
from tests.trials.cuts.plan import (
    MOST_IN_DOUBT,
    MOST_OF_A_LONG,
    Size,
    each_in_doubt,
    numbers_in_doubt,
    planned,
    span_in_doubt,
    spans_of_marks,
)
from tests.trials.cuts.postgres_wire import named
from tests.trials.cuts.proxies import PostgresProxy

COURSE = course_of(
    ["liyagent_step", "liyagent_mark", "v tools/call put", "liyagent_settle", "commit"]
)
WRITES = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    print("ready", flush=True)
    sys.stdin.readline()
    connection.execute("INSERT INTO told VALUES (1)")
    connection.execute("INSERT INTO told VALUES (2)")
"""


@pytest.fixture
def through(fresh_db: FreshDatabase) -> Iterator[PostgresProxy]:
    """A proxy before the test's own database, with a table in it."""
    with psycopg.connect(fresh_db.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE told (n int)")
    with PostgresProxy(fresh_db.url, Gate()) as proxy:
        yield proxy


def told(fresh_db: FreshDatabase) -> list[int]:
    """What stands in the table."""
    with psycopg.connect(fresh_db.url) as connection:
        return [row[0] for row in connection.execute("SELECT n FROM told ORDER BY n")]


def write_twice(connection: psycopg.Connection) -> None:
    """Two statements, each a commit."""
    connection.execute("INSERT INTO told VALUES (1)")
    connection.execute("INSERT INTO told VALUES (2)")


def cut_at(moment: Moment, fault: Fault, *, name: str = "insert told") -> Cut:
    """A cut of the first message of a name."""
    return Cut(number=1, message=Message(name=name, nth=1), moment=moment, fault=fault)


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT * FROM liyagent_step(%s, %s)", "liyagent_step"),
        ('SELECT "id" FROM "agents_agent" WHERE true', "select agents_agent"),
        ("INSERT INTO told VALUES (1)", "insert told"),
        ("BEGIN", "begin"),
        ("UPDATE entry_arrival SET started_at = liyagent_now()", "update entry_arrival"),
        ('RELEASE SAVEPOINT "s140599602697920_x2"', "release savepoint"),
    ],
)
def test_a_statement_is_named_by_our_function_or_by_its_table(sql: str, name: str) -> None:
    assert named(sql) == name


def test_what_is_handed_on_is_in_doubt_from_its_claim_to_its_settle() -> None:
    names = ["select a", "update entry_delivery", "connector put activities"]
    course = course_of(["insert entry_arrival", *names, "update entry_delivery", "commit"])
    assert numbers_in_doubt(course) == [3, 4, 5]
    assert numbers_in_doubt(COURSE) == list(span_in_doubt(COURSE))


def test_of_a_way_in_a_sample_makes_four_cuts_of_messages_that_change_something() -> None:
    course = course_of(f"{verb} entry_arrival" for _ in range(9) for verb in ("select", "update"))
    cuts = planned(course, size=Size.SAMPLE, seed=1, is_of_way=True)
    assert len(cuts) == 4
    assert {it.message.name for it in cuts} == {"update entry_arrival"}


def test_of_a_saga_a_sample_has_each_undo_in_doubt_and_its_hand_off() -> None:
    call = ["liyagent_step", "liyagent_mark", "v tools/call write", "liyagent_settle"]
    course = course_of([*call * 6, "insert approvals_approval", "commit"])
    undos = spans_of_marks(course)[-3:]
    assert [list(it) for it in undos] == [[14, 15, 16], [18, 19, 20], [22, 23, 24]]
    cuts = planned(course, size=Size.SAMPLE, seed=3, is_long=True)
    killed = {it.number for it in cuts if it.fault is Fault.KILL}
    assert all(killed & set(span) for span in [*undos, {25}])
    assert len(cuts) <= MOST_OF_A_LONG + 4 + MOST_IN_DOUBT
    assert 17 not in each_in_doubt(course)


@pytest.mark.parametrize(
    ("first_line", "name"),
    [
        ("PUT /v3/conversations/a%3A1/activities/1:3-41 HTTP/1.1", "put activities"),
        ("POST /0c3c6a70-21a8/oauth2/v2.0/token HTTP/1.1", "post token"),
        ("GET /v1/.well-known/openidconfiguration HTTP/1.1", "get openidconfiguration"),
    ],
)
def test_a_request_to_another_end_is_named_by_its_verb_and_what_is_no_id(
    first_line: str, name: str
) -> None:
    request = http_wire.HttpMessage(first_line=first_line, raw=b"", body=b"")
    assert http_wire.named_end(request) == name


def test_every_message_is_killed_at_three_moments_and_those_in_doubt_are_frozen_and_disconnected_too() -> (
    None
):
    cuts = planned(COURSE, size=Size.ALL, seed=1)
    assert [it.number for it in cuts if it.fault is Fault.KILL] == [
        1,
        1,
        1,
        2,
        2,
        2,
        3,
        3,
        3,
        4,
        4,
        4,
        5,
        5,
        5,
    ]
    assert span_in_doubt(COURSE) == range(2, 5)
    for fault in (Fault.FREEZE, Fault.DISCONNECT):
        assert [it.number for it in cuts if it.fault is fault] == [2, 2, 2, 3, 3, 3, 4, 4, 4]


def test_a_sample_repeats_by_its_seed_and_has_every_message_that_can_change_something() -> None:
    sample = planned(COURSE, size=Size.SAMPLE, seed=7)
    assert sample == planned(COURSE, size=Size.SAMPLE, seed=7)
    assert {1, 2, 3, 4} <= {it.number for it in sample if it.fault is Fault.KILL}


def test_what_the_victim_asks_is_numbered_and_what_others_ask_is_not(
    through: PostgresProxy,
) -> None:
    with psycopg.connect(through.url, autocommit=True) as connection:
        connection.execute("SELECT 1")
    through.gate.follow(os.getpid())
    with psycopg.connect(through.url, autocommit=True) as connection:
        connection.execute("INSERT INTO told VALUES (%s)", [1], prepare=True)
        with connection.pipeline():
            connection.execute("SELECT n FROM told")
            connection.execute("SELECT 2")
    assert course_of(through.gate.course) == course_of(
        ["prepare insert told", "insert told", "select told and 1 more"]
    )


@pytest.mark.parametrize(
    ("moment", "found"), [(Moment.BEFORE, []), (Moment.EFFECTED, [1]), (Moment.PASSED, [1])]
)
def test_a_message_is_cut_before_it_at_its_answer_or_after(
    through: PostgresProxy, fresh_db: FreshDatabase, moment: Moment, found: list[int]
) -> None:
    through.gate.begin(cut_at(moment, Fault.DISCONNECT))
    through.gate.follow(os.getpid())
    connection = psycopg.connect(through.url, autocommit=True)
    with pytest.raises(psycopg.OperationalError):
        write_twice(connection)
    connection.close()
    assert through.gate.struck.is_set()
    assert told(fresh_db) == found
    with psycopg.connect(through.url, autocommit=True) as connection:
        connection.execute("INSERT INTO told VALUES (3)")
    assert told(fresh_db) == [*found, 3]


@pytest.mark.parametrize(
    ("moment", "found"), [(Moment.BEFORE, []), (Moment.EFFECTED, [1]), (Moment.PASSED, [1])]
)
def test_a_killed_process_sends_nothing_more(
    through: PostgresProxy, fresh_db: FreshDatabase, moment: Moment, found: list[int]
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITES, through.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin
    assert child.stdout
    through.gate.begin(cut_at(moment, Fault.KILL))
    through.gate.follow(child.pid)
    with child:
        assert child.stdout.readline() == "ready\n"
        child.stdin.write("go\n")
        child.stdin.flush()
        assert child.wait(10) == -9
    assert told(fresh_db) == found


def test_requests_and_answers_end_where_their_length_or_their_last_chunk_says() -> None:
    client, server = socket.socketpair()
    body = b'{"method": "tools/call", "params": {"name": "put"}}'
    plain = b"POST /jira/mcp HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    threading.Thread(target=client.sendall, args=(plain + chunked,)).start()
    stream = HttpStream(server)
    request, answer = stream.message(), stream.message()
    assert (request.raw, answer.raw, answer.body) == (plain, chunked, b"abc")
    assert http_wire.named(request) == "jira tools/call put"
    client.close()
    server.close()
