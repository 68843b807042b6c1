"""API keys."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from liyagent.access.errors import KeyUnknown, UserUnknown
from liyagent.access.keys import TOKEN, create_key, key_of, revoke_key
from liyagent.access.models import ApiKey
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from tests.databases import FreshDatabase


def user_of(token: str) -> User | None:
    """Whom a token stands for."""
    key = key_of(token)
    return None if key is None else key.user


@pytest.fixture
def ada(fresh_db: FreshDatabase) -> User:
    """A user."""
    return User.objects.create_user("ada")


def test_a_key_stands_for_its_user_and_its_secret_is_not_stored(ada: User) -> None:
    new = create_key(name="ci", username="ada")
    parts = TOKEN.fullmatch(new.token)
    assert parts is not None
    stored = str(ApiKey.objects.values().get())
    assert parts[2] not in stored
    assert parts[1] == new.key.prefix
    assert user_of(new.token) == ada


def test_a_wrong_secret_prefix_or_form_stands_for_nobody(ada: User) -> None:
    token = create_key(name="ci", username="ada").token
    other = create_key(name="other", username="ada").token
    for wrong in (
        "",
        token[:-1],
        token + "x",
        token + "\n",
        token[:17] + other[17:],
        "liy_000000000000_" + token[17:],
        token.upper(),
        token[:20] + "\x00" + token[21:],
        "liy_" + "é" * 60,
    ):
        assert user_of(wrong) is None, wrong


def test_an_expired_key_stands_for_nobody(ada: User) -> None:
    new = create_key(name="ci", username="ada", days=1)
    assert new.key.expires_at is not None
    assert new.key.expires_at - new.key.created_at >= timedelta(days=1)
    assert user_of(new.token) == ada
    ApiKey.objects.update(expires_at=F("expires_at") - timedelta(days=1))
    assert user_of(new.token) is None


def test_a_revoked_key_stands_for_nobody_and_cannot_be_revoked_twice(ada: User) -> None:
    new = create_key(name="ci", username="ada")
    revoke_key(new.key.prefix, actor="test")
    assert user_of(new.token) is None
    with pytest.raises(KeyUnknown):
        revoke_key(new.key.prefix, actor="test")


def test_a_key_of_a_user_switched_off_stands_for_nobody(ada: User) -> None:
    token = create_key(name="ci", username="ada").token
    User.objects.update(is_active=False)
    assert user_of(token) is None


def test_the_last_use_is_written_at_most_once_a_minute(ada: User) -> None:
    token = create_key(name="ci", username="ada").token
    user_of(token)
    first = ApiKey.objects.get().last_used_at
    assert first is not None
    with CaptureQueriesContext(connection) as queries:
        user_of(token)
    assert len(queries) == 1
    ApiKey.objects.update(last_used_at=first - timedelta(seconds=61))
    user_of(token)
    again = ApiKey.objects.get().last_used_at
    assert again is not None
    assert again >= first


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"name": " "}, BadInput, "name"),
        ({"name": "x" * 101}, BadInput, "name"),
        ({"days": 0}, BadInput, "1 to 3650"),
        ({"days": 3651}, BadInput, "1 to 3650"),
        ({"username": "bob"}, UserUnknown, "bob"),
    ],
)
def test_what_cannot_be_used_is_refused(
    ada: User, given: dict[str, object], error: type[Exception], says: str
) -> None:
    asked: dict[str, object] = {"name": "ci", "username": "ada", "days": None, **given}
    with pytest.raises(error, match=says):
        create_key(**asked)  # type: ignore[arg-type]
    assert not ApiKey.objects.exists()


def test_the_command_prints_the_token_once_and_lists_no_secret(
    ada: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("apikeys", "create", "ci", "--user", "ada", "--days", "30")
    token = capsys.readouterr().out.strip()
    assert user_of(token) == ada
    call_command("apikeys", "list")
    listed = capsys.readouterr().out
    assert token[4:16] in listed
    assert token[17:] not in listed
    assert "ada" in listed
    call_command("apikeys", "revoke", token[4:16])
    assert user_of(token) is None
    with pytest.raises(KeyUnknown):
        call_command("apikeys", "revoke", "000000000000")


def test_making_and_revoking_a_key_is_audited_without_the_secret(ada: User) -> None:
    new = create_key(name="ci", username="ada", actor="root")
    revoke_key(new.key.prefix, actor="root")
    rows = list(AuditRow.objects.order_by("id").values_list("action", "actor", "detail"))
    assert [(action, actor) for action, actor, _ in rows] == [
        ("api_key.created", "root"),
        ("api_key.revoked", "root"),
    ]
    assert new.token.rpartition("_")[2] not in str(rows)
