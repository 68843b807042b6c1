"""Keep bots: which agent answers at which registration, and as whom its runs are started."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from liyagent.agents.models import Agent
from liyagent.audit.record import record
from liyagent.core.environment import OUR_OWN, is_secret_name
from liyagent.core.errors import BadInput, Conflict
from liyagent.entry.models import Arrival, ArrivalState
from liyagent.entry.teams.addresses import SAFE_ADDRESS, is_safe_address
from liyagent.entry.teams.errors import AppTaken, BotUnknown
from liyagent.entry.teams.models import (
    CLOUD_ISSUER,
    CLOUD_METADATA,
    CLOUD_SCOPE,
    NOW,
    WAY,
    TeamsBot,
)
from liyagent.entry.whom import Saver, named_by

KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
LONGEST = 300
MOST_NAMED = 20
REQUIRED = ("agent", "app_id", "tenant", "secret_env")
DEFAULTS: Mapping[str, Any] = {
    "is_enabled": True,
    "metadata_url": CLOUD_METADATA,
    "issuer": CLOUD_ISSUER,
    "token_url": "",
    "scope": CLOUD_SCOPE,
}


class BotInvalid(BadInput):
    """The bot has fields that cannot be used."""

    code = "teams.bot_invalid"

    def __init__(self, problems: Mapping[str, str]) -> None:
        """`problems`: of each wrong field, what is wrong with it."""
        self.errors = [{"field": name, "detail": said} for name, said in problems.items()]
        super().__init__("; ".join(f"{name} {said}" for name, said in problems.items()))


def find_bot(key: str) -> TeamsBot:
    """Return a bot. Raises `BotUnknown` that names those there are."""
    bot = TeamsBot.objects.filter(key=key.replace("\x00", "")).first()
    if bot is None:
        keys = list(TeamsBot.objects.values_list("key", flat=True)[:MOST_NAMED])
        known = ", ".join(keys) or "none yet"
        raise BotUnknown(f"there is no bot {key[:80]!r}; there are: {known}")
    return bot


def save_bot(key: str, given: Mapping[str, Any], *, saver: Saver) -> TeamsBot:
    """Keep a bot; what is left out stays, or has its default in a new one.

    Its runs are `started_by` who is named, else by who saves it last. Raises `BotInvalid` that names every field that
    is wrong, `MayNotName`, `AppTaken`.
    """
    try:
        with transaction.atomic(durable=True):
            return _saved(key, given, saver)
    except IntegrityError:
        raise AppTaken("another bot has this key or app id") from None


def switch_bot(key: str, *, to_enabled: bool, actor: str) -> TeamsBot:
    """Let a bot receive, or not; what it received before goes on. Raises `BotUnknown`."""
    with transaction.atomic(durable=True):
        bot = find_bot(key)
        if TeamsBot.objects.filter(pk=bot.pk).exclude(is_enabled=to_enabled).update(is_enabled=to_enabled):  # fmt: skip
            record(f"teams.bot_{'enabled' if to_enabled else 'disabled'}", actor=actor, detail={"bot": key})  # fmt: skip
    return find_bot(key)


def remove_bot(key: str, *, actor: str) -> None:
    """Forget a bot. Raises `BotUnknown`; `Conflict` while turns of it are open, whose answers would be lost."""
    with transaction.atomic(durable=True):
        bot = find_bot(key)
        is_open = (ArrivalState.RECEIVED, ArrivalState.STARTED)
        if Arrival.objects.filter(way=WAY, source=key, state__in=is_open).exists():
            raise Conflict(f"bot {key} has turns that go on; disable it, and remove it once they ended")  # fmt: skip
        bot.delete()
        record("teams.bot_removed", actor=actor, detail={"bot": key, "app_id": bot.app_id})


def _saved(key: str, given: Mapping[str, Any], saver: Saver) -> TeamsBot:
    found = TeamsBot.objects.select_for_update().filter(key=key).first()
    bot = found or TeamsBot(key=key)
    values = _checked(key, {**(DEFAULTS if found is None else {}), **given}, is_new=found is None)
    standing = bot.started_by
    values["started_by"] = named_by(saver, values.get("started_by", ""), standing=standing)
    values |= {"saved_by": saver.actor[:150], "updated_at": NOW}
    for name, value in values.items():
        setattr(bot, name, value)
    bot.save(update_fields=[*values] if found else None)
    bot.refresh_from_db()
    told = {name: getattr(bot, name) for name in values if name not in {"saved_by", "updated_at"}}
    record("teams.bot_saved", actor=saver.actor, detail={"bot": key, "set": told})
    return bot


def _checked(key: str, given: Mapping[str, Any], *, is_new: bool) -> dict[str, Any]:
    problems: dict[str, str] = {}
    values: dict[str, Any] = {}
    if not KEY.fullmatch(key):
        problems["key"] = "wants 1 to 80 letters, digits, - and _"
    for name in REQUIRED if is_new else ():
        if name not in given:
            problems[name] = "is missing"
    for name, value in given.items():
        if name not in CHECKS:
            problems[name[:80]] = f"is not known; the known ones are {', '.join(CHECKS)}"
            continue
        column, check, wants = CHECKS[name]
        checked = check(value)
        if checked is None:
            problems[name] = f"wants {wants}"
        values[column] = checked
    if problems:
        raise BotInvalid(problems)
    return values


def _uuid(value: Any) -> str | None:
    try:
        return str(UUID(value)) if isinstance(value, str) and len(value) == 36 else None
    except ValueError:
        return None


def _agent(value: Any) -> str | None:
    is_known = isinstance(value, str) and KEY.fullmatch(value)
    return value if is_known and Agent.objects.filter(key=value).exists() else None


def _text(value: Any) -> str | None:
    is_text = isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable()
    return value if is_text else None


def _secret(value: Any) -> str | None:
    return value if isinstance(value, str) and is_secret_name(value) else None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) <= 150 and "\x00" not in value else None


def _address(value: Any) -> str | None:
    return value if isinstance(value, str) and is_safe_address(value) else None


def _address_or_none(value: Any) -> str | None:
    return "" if value == "" else _address(value)


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


# By the name outside: the column, its check, and what it wants.
CHECKS: Mapping[str, tuple[str, Callable[[Any], Any], str]] = {
    "agent": (
        "agent_key",
        _agent,
        "the key of an agent there is: `manage.py agents list` shows them",
    ),
    "app_id": ("app_id", _uuid, "the app id of the registration, a UUID"),
    "tenant": ("tenant", _uuid, "the id of the tenant, a UUID"),
    "secret_env": (
        "secret_env",
        _secret,
        f"the name of an environment variable that does not begin with {', '.join(OUR_OWN)}",
    ),
    "started_by": ("started_by", _name, "the name of a user"),
    "is_enabled": ("is_enabled", _flag, "true or false"),
    "metadata_url": ("metadata_url", _address, SAFE_ADDRESS),
    "issuer": ("issuer", _text, "a text of 1 to 300 characters"),
    "token_url": ("token_url", _address_or_none, f"nothing, or {SAFE_ADDRESS}"),
    "scope": ("scope", _text, "a text of 1 to 300 characters"),
}
