"""What each field of an agent's definition may be, and what it is told to want otherwise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from django.contrib.auth import get_user_model

from liyagent.agents.channels import ANY, CHANNELS
from liyagent.agents.compensations import Wrong, clean_compensations, problems_in_world
from liyagent.agents.guardrails import clean_guardrails
from liyagent.agents.hooks import HOOKS, unknown_hooks
from liyagent.agents.models import Recording, WritePosture
from liyagent.core.addresses import WEB_ADDRESS, is_web_address
from liyagent.core.environment import OUR_OWN, is_secret_name
from liyagent.core.files import Place
from liyagent.core.plain import clean_text

KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
PROVIDER = re.compile(r"[a-z][a-z0-9_-]{0,39}")
PATTERN = re.compile(r"\*|[^/\s]{1,80}/\S{1,200}")
MOST_PATTERNS = 500
LONGEST_INSTRUCTIONS = 200_000
MOST_STEPS = 1000
MOST_CALLS = 100_000
MOST_TOKENS = 10**12
MOST_ANSWER_TOKENS = 1_000_000
MOST_RUN_SECONDS = 366 * 86_400
MOST_TIMEOUT_SECONDS = 3600
MOST_HOOKS = 20

REQUIRED = ("key", "name", "provider", "model")
DEFAULTS: dict[str, Any] = {
    "base_url": "",
    "api_key_env": "",
    "model_timeout_seconds": 120.0,
    "instructions": "",
    "is_streaming": False,
    "max_answer_tokens": 0,
    "tool_patterns": [],
    "write_posture": WritePosture.HOLD.value,
    "may_wait": False,
    "recording": Recording.METADATA.value,
    "max_steps": 50,
    "max_calls": 500,
    "max_tokens": 0,
    "max_seconds": 0,
    "compensations": {},
    "guardrails": {},
    "hooks": [],
    "owner": "",
    "channels": [ANY],
    "run_as": "",
    "require_replay": False,
    "is_enabled": True,
}

Check = Callable[[Any], Any]


def _text(longest: int, *, may_be_empty: bool = False) -> Check:
    wants = f"text of {0 if may_be_empty else 1} to {longest} characters"

    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > longest or not (may_be_empty or value):
            raise ValueError(wants)
        return clean_text(value)

    return check


def _matching(rule: re.Pattern[str], wants: str, *, may_be_empty: bool = False) -> Check:
    def check(value: Any) -> str:
        if may_be_empty and value == "":
            return ""
        if not isinstance(value, str) or not rule.fullmatch(value):
            raise ValueError(wants)
        return value

    return check


def _one_of(values: list[str]) -> Check:
    def check(value: Any) -> str:
        if value not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return str(value)

    return check


def _is_true_or_false(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _whole(low: int, high: int, unit: str = "") -> Check:
    wants = f"a whole number{f' of {unit}' if unit else ''} from {low} to {high}"

    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{wants}{', 0 for no cap' if not low else ''}")
        return value

    return check


def _timeout(value: Any) -> float:
    is_number = type(value) in (int, float) and math.isfinite(value)
    if not is_number or not 0 < value <= MOST_TIMEOUT_SECONDS:
        raise ValueError(f"seconds, above 0 and at most {MOST_TIMEOUT_SECONDS}")
    return float(value)


def _patterns(value: Any) -> list[str]:
    wants = f"a list of at most {MOST_PATTERNS} patterns such as jira/create_issue, jira/* or *"
    if not isinstance(value, list) or len(value) > MOST_PATTERNS:
        raise ValueError(wants)
    wrong = [it for it in value if not _is_pattern(it)]
    if wrong:
        raise ValueError(f"{wants}; {wrong[0]!r} is none")
    return list(value)


def _is_pattern(value: Any) -> bool:
    return (
        isinstance(value, str)
        and PATTERN.fullmatch(value) is not None
        and clean_text(value) == value
    )


def _hooks(value: Any) -> list[str]:
    known = ", ".join(sorted(HOOKS))
    wants = f"a list of at most {MOST_HOOKS} names of hooks; those of this process are {known}"
    is_list = isinstance(value, list) and len(value) <= MOST_HOOKS
    if not is_list or any(not isinstance(it, str) for it in value):
        raise ValueError(wants)
    if unknown := unknown_hooks(value):
        raise ValueError(f"{wants}; {unknown[0][:80]!r} is none of them")
    return list(dict.fromkeys(value))


def _channels(value: Any) -> list[str]:
    wants = f'a list of ways in, at least one of {", ".join(CHANNELS)}, or "{ANY}" for any'
    if not isinstance(value, list) or not value:
        raise ValueError(wants)
    wrong = [it for it in value if it not in (*CHANNELS, ANY)]
    if wrong:
        raise ValueError(f"{wants}; {str(wrong[0])[:80]!r} is none")
    return [ANY] if ANY in value else [it for it in CHANNELS if it in value]


def _address(value: Any) -> str:
    if value == "":
        return ""
    if not isinstance(value, str) or len(value) > 500 or not is_web_address(value):
        raise ValueError(f"{WEB_ADDRESS}, or nothing")
    return value


def _variable(value: Any) -> str:
    if value == "":
        return ""
    if not isinstance(value, str) or not is_secret_name(value):
        raise ValueError(
            "the name of an environment variable such as OPENAI_API_KEY, never the key itself, "
            f"and none that begins with {', '.join(OUR_OWN)}"
        )
    return value


def _user(or_nothing: str) -> Check:
    wants = f"the name of an active user, or nothing{or_nothing}"

    def check(value: Any) -> str:
        if value == "":
            return ""
        users = get_user_model().objects
        is_name = isinstance(value, str) and clean_text(value) == value
        if not is_name or not users.filter(username=value, is_active=True).exists():
            raise ValueError(wants)
        return str(value)

    return check


CHECKS: dict[str, Check] = {
    "key": _matching(KEY, "1 to 80 letters, digits, - and _"),
    "name": _text(200),
    "provider": _matching(PROVIDER, "a provider's name in lower case, such as scripted or openai"),
    "base_url": _address,
    "api_key_env": _variable,
    "model": _text(200),
    "model_timeout_seconds": _timeout,
    "instructions": _text(LONGEST_INSTRUCTIONS, may_be_empty=True),
    "is_streaming": _is_true_or_false,
    "max_answer_tokens": _whole(0, MOST_ANSWER_TOKENS, "tokens"),
    "tool_patterns": _patterns,
    "write_posture": _one_of(WritePosture.values),
    "may_wait": _is_true_or_false,
    "recording": _one_of(Recording.values),
    "max_steps": _whole(1, MOST_STEPS),
    "max_calls": _whole(1, MOST_CALLS),
    "max_tokens": _whole(0, MOST_TOKENS, "tokens"),
    "max_seconds": _whole(0, MOST_RUN_SECONDS, "seconds"),
    "compensations": clean_compensations,
    "guardrails": clean_guardrails,
    "hooks": _hooks,
    "owner": _user(""),
    "channels": _channels,
    "run_as": _user(" for whoever asks"),
    "require_replay": _is_true_or_false,
    "is_enabled": _is_true_or_false,
}


def problems_of(
    definition: dict[str, Any], *, is_whole: bool = False
) -> tuple[dict[str, Any], dict[Place, str]]:
    """Return the full definition with its defaults, and by its place what is wrong and what is wanted there.

    A map of undos that stands as it is is not looked up again in the catalogue, unless `is_whole`: a tool that is gone
    shall keep nobody from saving something else.
    """
    checked: dict[str, Any] = {}
    problems: dict[Place, str] = {
        (str(name),): f"is not known; the known fields are {', '.join(CHECKS)}"
        for name in definition
        if name not in CHECKS
    }
    for name, check in CHECKS.items():
        if name not in definition and name in REQUIRED:
            problems[name,] = "is missing"
            continue
        value = definition.get(name, DEFAULTS.get(name))
        try:
            checked[name] = check(value)
        except Wrong as error:
            problems |= {(name, *place): said for place, said in error.problems}
        except ValueError as error:
            shown = repr(value) if name != "api_key_env" else "something else"
            problems[name,] = f"is {shown[:80]}; it wants {error}"
    if {"key", "tool_patterns", "compensations"} <= set(checked):
        problems |= dict(problems_in_world(checked, is_whole=is_whole))
    return checked, problems
