"""An agent's hooks, asked around each model step and each call that is routed (ruling 35)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import deepcopy
from traceback import format_exception_only
from typing import Any

from liyagent.agents.hooks import HOOKS, About, Hook, HookRefused
from liyagent.core.plain import clean_text
from liyagent.gateway.outcome import Call, Outcome
from liyagent.providers.types import ModelAnswer, ModelRequest
from runs.authority import AgentNow
from runs.ending import MayNotGoOn, failed
from runs.endings import EndError
from runs.models import Run

logger = logging.getLogger(__name__)

LONGEST_WORDS = 2000


class Hooks:
    """The hooks of one agent, for one step of a run.

    Each method raises `MayNotGoOn` where a hook refuses a model step or what came of a call, or does not work.
    """

    def __init__(
        self,
        run: Run,
        agent: AgentNow,
        *,
        step: int,
        ends_run: bool = True,
        is_replay: bool = False,
    ) -> None:
        """`step` counts the model steps taken. With `ends_run=False` a hook that breaks refuses its call, and no more."""
        self._names: Sequence[str] = agent.hooks
        self._ends_run = ends_run
        self._about = About(
            run_id=str(run.id),
            agent=agent.key,
            entry=run.entry,
            mission=run.mission,
            run_as=agent.run_as or run.started_by,
            step=step,
            is_replay=is_replay,
        )

    def before_model(self, request: ModelRequest) -> None:
        """Ask before the model is."""
        self._ask_each("before_model", request)

    def after_model(self, answer: ModelAnswer) -> None:
        """Ask before the answer is kept."""
        self._ask_each("after_model", answer)

    def before_call(self, call: Call) -> str:
        """Return why a call is refused, "" where it is not."""
        for name in self._names:
            try:
                self._ask(name, "before_call", call)
            except HookRefused as refusal:
                return f"hook {name} refused it: {_words(refusal)}"
            except MayNotGoOn as over:
                if self._ends_run:
                    raise
                return over.ending.reason
        return ""

    def after_call(self, call: Call, outcome: Outcome) -> None:
        """Ask once the call is settled; it stands, whatever a hook says."""
        try:
            self._ask_each("after_call", call, outcome)
        except MayNotGoOn as over:
            if self._ends_run:
                raise
            logger.warning("%s; the next undo is made all the same", over.ending.reason)

    def _ask_each(self, point: str, *given: Any) -> None:
        for name in self._names:
            try:
                self._ask(name, point, *given)
            except HookRefused as refusal:
                raise _over(
                    f"hook {name} refused, {_spoken(point)}: {_words(refusal)}"
                ) from refusal

    def _ask(self, name: str, point: str, *given: Any) -> None:
        hook = HOOKS.get(name)
        if hook is None:
            raise _over(f"hook {name} is not registered in the process that carries the run")
        if getattr(type(hook), point) is getattr(Hook, point):
            return
        # What it is given is its own: what was judged must not change under its hands.
        own = deepcopy(given)
        try:
            getattr(hook, point)(self._about, *own)
        except HookRefused:
            raise
        except (Exception, SystemExit) as error:
            logger.warning("hook %s raised, %s", name, _spoken(point), exc_info=True)
            told = f"hook {name} raised {type(error).__name__}, {_spoken(point)}: {_words(error)}"
            raise _over(told) from error


def _over(reason: str) -> MayNotGoOn:
    return MayNotGoOn(failed(EndError.HOOK_FAILED, reason))


def _spoken(point: str) -> str:
    return point.replace("_", " the ")


def _words(error: BaseException) -> str:
    """What an operator's error says, storable and of bounded length; one that cannot be shown says so."""
    _, _, said = format_exception_only(error)[0].partition(": ")
    return clean_text(said.rstrip("\n"))[:LONGEST_WORDS]
