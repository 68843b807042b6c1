"""The caps of a run, as its agent has them now: steps, calls, tokens, seconds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from runs.authority import AgentNow
from runs.ending import MayNotGoOn, failed
from runs.endings import EndError
from runs.hot import Counters


def check_calls(agent: AgentNow, counters: Counters) -> None:
    """Before a call. Raises `MayNotGoOn` where more calls were asked for than allowed, the last step's included.

    So the step that goes beyond is stored, and none of its calls is made.
    """
    if counters.calls > agent.max_calls:
        asked = f"{counters.calls} were asked for"
        raise _reached(EndError.CAP_CALLS, f"{agent.max_calls} calls", asked)


def check_time(
    agent: AgentNow, *, started: datetime, now: datetime, waited: Callable[[], float]
) -> None:
    """Before a call or model step. Raises `MayNotGoOn` where the run is too old, waits included but those for people.

    `now` is the database's time; `waited` says for how many seconds people were waited for, and is asked only where it
    matters.
    """
    age = (now - started).total_seconds()
    if not agent.max_seconds or age < agent.max_seconds:
        return
    age -= waited()
    if age >= agent.max_seconds:
        raise _reached(
            EndError.CAP_SECONDS, f"{agent.max_seconds} seconds", f"{age:.0f} have passed"
        )


def check_steps(agent: AgentNow, counters: Counters) -> None:
    """Before a model step. Raises `MayNotGoOn` where as many steps were taken as allowed, or tokens used."""
    if counters.steps >= agent.max_steps:
        told = f"{counters.steps} were taken"
        raise _reached(EndError.CAP_STEPS, f"{agent.max_steps} model steps", told)
    used = counters.input_tokens + counters.output_tokens
    if agent.max_tokens and used >= agent.max_tokens:
        raise _reached(EndError.CAP_TOKENS, f"{agent.max_tokens} tokens", f"{used} were used")


def _reached(error: EndError, cap: str, told: str) -> MayNotGoOn:
    return MayNotGoOn(failed(error, f"the cap of {cap} was reached: {told}"))
