"""What is declared of a trigger, checked field by field, by the names that it has outside."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from liyagent.agents.models import Agent
from liyagent.core.conditions import check_condition
from liyagent.core.environment import OUR_OWN, is_secret_name
from liyagent.core.errors import LiyagentError
from liyagent.core.templates import PLACEHOLDER
from liyagent.core.webhook_secrets import MOST_SECRETS
from liyagent.entry.webhooks.errors import TriggerInvalid
from liyagent.entry.webhooks.models import (
    LONGEST_SHORT,
    LONGEST_TEMPLATE,
    MOST_A_MINUTE,
    Kind,
    Scheme,
)

KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
HEADER = re.compile(r"[A-Za-z0-9-]{1,80}")
PREFIX = re.compile(r"[!-~]{0,20}")
MAPPING = {"task", "mission"}


def checked(key: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns' values of what is given. Raises `TriggerInvalid` that names every field that is wrong."""
    problems: dict[str, str] = {}
    values: dict[str, Any] = {}
    if not KEY.fullmatch(key):
        problems["key"] = "wants 1 to 80 letters, digits, - and _"
    for name, value in given.items():
        if name == "mapping":
            _put_mapping(value, values, problems)
        elif name not in CHECKS:
            known = ", ".join((*CHECKS, "mapping", "sample"))
            problems[name[:80]] = f"is not known; the known ones are {known}"
        else:
            column, check, wants = CHECKS[name]
            values[column] = check(value)
            if values[column] is None:
                problems[name] = f"wants {wants}"
    _check_filter(values, problems)
    if problems:
        raise TriggerInvalid(problems)
    return values


def _put_mapping(value: Any, values: dict[str, Any], problems: dict[str, str]) -> None:
    """A mapping is given as a whole: without a mission it has none."""
    if not isinstance(value, dict) or not {"task"} <= set(value) <= MAPPING:
        problems["mapping"] = 'wants an object with "task", and "mission" where it has one'
        return
    values["task"], values["mission"] = value["task"], value.get("mission", "")
    if not _is_text(values["task"], LONGEST_TEMPLATE) or not values["task"].strip():
        problems["mapping.task"] = f"wants a template of 1 to {LONGEST_TEMPLATE} characters"
    if not _is_text(values["mission"], LONGEST_SHORT):
        problems["mapping.mission"] = f"wants a template of at most {LONGEST_SHORT} characters"


def _check_filter(values: Mapping[str, Any], problems: dict[str, str]) -> None:
    if values.get("filter"):
        try:
            check_condition(values["filter"])
        except LiyagentError as error:
            problems["filter"] = str(error)


def _is_text(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and "\x00" not in value


def _one_of(known: Any) -> Callable[[Any], str | None]:
    return lambda value: value if isinstance(value, str) and value in known.values else None


def _agent(value: Any) -> str | None:
    is_known = isinstance(value, str) and KEY.fullmatch(value)
    return value if is_known and Agent.objects.filter(key=value).exists() else None


def _name(value: Any) -> str | None:
    return value if _is_text(value, 150) else None


def _secrets(value: Any) -> list[str] | None:
    if not isinstance(value, list) or not all(isinstance(it, str) for it in value):
        return None
    is_fit = 1 <= len(value) <= MOST_SECRETS and len(set(value)) == len(value)
    return value if is_fit and all(is_secret_name(it) for it in value) else None


def _matching(rule: re.Pattern[str]) -> Callable[[Any], str | None]:
    return lambda value: value if isinstance(value, str) and rule.fullmatch(value) else None


def _short(value: Any) -> str | None:
    return value if _is_text(value, LONGEST_SHORT) else None


def _delivery(value: Any) -> str | None:
    """What reads nothing of the payload would make all deliveries one."""
    is_fit = value == "" or (_is_text(value, LONGEST_SHORT) and PLACEHOLDER.search(value))
    return value if is_fit else None


def _count(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and 1 <= value <= MOST_A_MINUTE else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


# By the name outside: the column, its check, and what it wants.
CHECKS: Mapping[str, tuple[str, Callable[[Any], Any], str]] = {
    "kind": ("kind", _one_of(Kind), f"one of {', '.join(Kind.values)}"),
    "agent": (
        "agent_key",
        _agent,
        "the key of an agent there is: `manage.py agents list` shows them",
    ),
    "started_by": ("started_by", _name, "the name of a user"),
    "scheme": ("scheme", _one_of(Scheme), f"one of {', '.join(Scheme.values)}"),
    "secret_envs": (
        "secret_envs",
        _secrets,
        f"1 to {MOST_SECRETS} names of environment variables that do not begin with {', '.join(OUR_OWN)}",
    ),
    "signature_header": ("signature_header", _matching(HEADER), "the name of a header"),
    "signature_prefix": (
        "signature_prefix",
        _matching(PREFIX),
        "at most 20 visible characters of ASCII",
    ),
    "filter": ("filter", _short, f"at most {LONGEST_SHORT} characters"),
    "delivery_id": (
        "delivery_id",
        _delivery,
        f"nothing, or a template of at most {LONGEST_SHORT} characters that reads the payload, as '{{{{ event.id }}}}'",
    ),
    "most_a_minute": ("most_a_minute", _count, f"a whole number from 1 to {MOST_A_MINUTE}"),
    "is_enabled": ("is_enabled", _flag, "true or false"),
}
