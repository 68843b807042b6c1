"""Wrong passwords are counted by every process, and a flood from one address locks out nobody elsewhere."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client

from liyagent.access.attempts import LIMITS, reserve_login, settle_login
from liyagent.access.models import Attempt, Counted
from liyagent.core.client_address import client_address, counted_as
from tests.databases import FreshDatabase

PAIR, ADDRESS, USER = (LIMITS[it] for it in (Counted.PAIR, Counted.ADDRESS, Counted.USER))


def age(seconds: int) -> None:
    """Let time pass for all counts."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE access_attempt SET expires_at = expires_at - %s * interval '1 second'",
            [seconds],
        )


def test_a_user_name_from_one_address_waits_after_ten(fresh_db: FreshDatabase) -> None:
    assert [reserve_login("ada", "192.0.2.1") for _ in range(PAIR)] == [0] * PAIR
    assert 0 < reserve_login("ada", "192.0.2.1") <= 900
    assert reserve_login("bob", "192.0.2.1") == 0
    age(901)
    assert reserve_login("ada", "192.0.2.1") == 0


def test_a_flood_from_one_address_locks_nobody_out_elsewhere(fresh_db: FreshDatabase) -> None:
    for _ in range(500):
        reserve_login("ada", "192.0.2.1")
    assert reserve_login("ada", "192.0.2.2") == 0
    assert Attempt.objects.get(kind=Counted.USER).count == PAIR + 1


def test_an_address_that_tries_many_names_waits(fresh_db: FreshDatabase) -> None:
    waits = [reserve_login(f"user{number}", "192.0.2.1") for number in range(ADDRESS + 5)]
    assert waits[:ADDRESS] == [0] * ADDRESS
    assert all(waits[ADDRESS:])
    # What is refused is not kept: a row for each name would grow without end.
    assert Attempt.objects.filter(kind=Counted.PAIR).count() == ADDRESS


def test_a_user_attacked_from_everywhere_gets_in_from_where_they_were(
    fresh_db: FreshDatabase,
) -> None:
    reserve_login("ada", "198.51.100.7")
    settle_login("ada", "198.51.100.7")
    waits = [reserve_login("ada", f"192.0.2.{number}") for number in range(USER + 5)]
    assert waits[-1] > 0
    assert reserve_login("ada", "198.51.100.8") > 0
    assert reserve_login("ada", "198.51.100.7") == 0


def test_a_login_that_succeeds_counts_no_more(fresh_db: FreshDatabase) -> None:
    for _ in range(3 * PAIR):
        assert reserve_login("ada", "192.0.2.1") == 0
        settle_login("ada", "192.0.2.1")
    assert set(Attempt.objects.exclude(kind=Counted.KNOWN).values_list("count", flat=True)) == {0}


def test_of_many_at_once_no_more_than_the_limit_are_tried(fresh_db: FreshDatabase) -> None:
    def attempt(_: int) -> int:
        try:
            return reserve_login("ada", "192.0.2.1")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        waits = list(threads.map(attempt, range(60)))
    assert waits.count(0) == PAIR


def test_old_counts_are_removed(fresh_db: FreshDatabase) -> None:
    for number in range(20):
        reserve_login(f"user{number}", f"192.0.2.{number}")
    age(901)
    reserve_login("ada", "198.51.100.1")
    assert Attempt.objects.count() == 3


def test_no_name_and_no_address_is_stored_as_it_is(fresh_db: FreshDatabase) -> None:
    reserve_login("hunter2\x00\ud800", "192.0.2.1")
    assert {len(it) for it in Attempt.objects.values_list("subject", flat=True)} == {64}


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_an_ipv6_network_counts_as_one_client(address: str, counted: str) -> None:
    assert counted_as(address) == counted


@pytest.mark.parametrize(
    ("proxies", "told", "client"),
    [
        (0, "203.0.113.9", "10.0.0.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        (2, "1.1.1.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        (2, "203.0.113.9", "10.0.0.1"),
        (1, "", "10.0.0.1"),
        (1, "nonsense", "10.0.0.1"),
        (1, "203.0.113.9:443", "10.0.0.1"),
    ],
)
def test_a_client_is_believed_no_further_than_our_proxies_reach(
    monkeypatch: pytest.MonkeyPatch, proxies: int, told: str, client: str
) -> None:
    monkeypatch.setattr(
        settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, proxies=proxies)
    )
    meta = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": told}
    assert client_address(meta) == client


def log_in(password: str, address: str = "192.0.2.1", *, csrf: bool = False) -> int:
    """One login at the console by a fresh browser."""
    client = Client(enforce_csrf_checks=csrf, REMOTE_ADDR=address)
    form = {"username": "ada", "password": password, "next": "/admin/"}
    return client.post("/admin/login/", form).status_code


def test_the_console_says_how_long_to_wait(fresh_db: FreshDatabase) -> None:
    User.objects.create_superuser("ada", password="right")
    assert {log_in("wrong") for _ in range(PAIR)} == {200}
    client = Client(REMOTE_ADDR="192.0.2.1")
    page = client.post("/admin/login/", {"username": "ada", "password": "right"})
    assert page.status_code == 429
    assert 0 < int(page["Retry-After"]) <= 900
    assert "Try again in 15 minutes" in page.content.decode()
    assert log_in("right", "192.0.2.2") == 302


def test_right_passwords_never_wait(fresh_db: FreshDatabase) -> None:
    User.objects.create_superuser("ada", password="right")
    assert {log_in("right") for _ in range(PAIR + 2)} == {302}


def test_a_form_that_another_site_sends_does_not_count(fresh_db: FreshDatabase) -> None:
    """Else any page could have its visitors locked out."""
    assert {log_in("wrong", csrf=True) for _ in range(PAIR + 2)} == {403}
    assert not Attempt.objects.exists()
