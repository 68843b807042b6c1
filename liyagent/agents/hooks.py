"""Hooks: an operator's code around model steps and calls, registered by name, never code in a row (ruling 35).

An agent names its hooks; they are asked in that order. A hook observes and refuses, it changes nothing: what was judged is
what is sent. It may be asked again for what it was asked before (a step that was not written, a call that is
routed again), by another process, so its answer must hang on nothing but what it is given. The modules that
`LIYAGENT_HOOK_MODULES` names are imported at the start; importing registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from liyagent.core.errors import BadSetting, LiyagentError

MOST_NAME = 80


class HookRefused(LiyagentError):
    """A hook refused."""

    code = "hook.refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Of which run and step a hook is asked. `step` counts the model steps taken.

    `is_replay`: of a run that is tried again on what was recorded, where nothing is for real: its id is that of no run.
    """

    run_id: str
    agent: str
    entry: str
    mission: str
    run_as: str
    step: int
    is_replay: bool = False


class Hook:
    """What a hook may do; each does what it overrides. All that is given is a copy of its own.

    `HookRefused` before or after the model ends the run as failed with `hook.failed`; before a call, the call is
    refused and the model is told; after a call it ends the run, and the call stands. Anything else that a hook
    raises ends the run likewise.
    """

    def before_model(self, about: About, request: Any) -> None:
        """See what the model is about to be asked: a `providers.types.ModelRequest`."""

    def after_model(self, about: About, answer: Any) -> None:
        """See the model's answer, guardrails passed, before it is stored: a `providers.types.ModelAnswer`."""

    def before_call(self, about: About, call: Any) -> None:
        """See a call before the gates judge it: a `gateway.outcome.Call`."""

    def after_call(self, about: About, call: Any, outcome: Any) -> None:
        """See what became of a call: a `gateway.outcome.Outcome`."""


HOOKS: dict[str, Hook] = {}
H = TypeVar("H", bound=type[Hook])


def register_hook(name: str) -> Callable[[H], H]:
    """Register a class under a name; one instance of it serves all runs, from many threads.

    Raises `ValueError` where the name is taken or no name, or the class is no `Hook`.
    """

    def register(hook: H) -> H:
        if name in HOOKS or not 0 < len(name) <= MOST_NAME or not name.isidentifier():
            raise ValueError(f"hook {name!r}: wants a free name of letters, digits and _")
        given: object = hook
        if not (isinstance(given, type) and issubclass(given, Hook)):
            raise ValueError(f"hook {name!r}: wants a subclass of Hook")
        HOOKS[name] = hook()
        return hook

    return register


def unknown_hooks(names: Iterable[str]) -> list[str]:
    """Return those of `names` that nothing in this process registered."""
    return [name for name in names if name not in HOOKS]


def import_hook_modules(modules: Iterable[str]) -> None:
    """Import the modules that register hooks and local tools. Raises `BadSetting` naming the one that cannot be."""
    for module in modules:
        try:
            import_module(module)
        except (ImportError, SyntaxError, ValueError) as error:
            raise BadSetting(
                f"LIYAGENT_HOOK_MODULES names {module!r}, which cannot be imported: {error}"
            ) from error
        except (Exception, SystemExit) as error:
            # Foreign code (decision 65); one that ends the program would end ours as if all were well.
            raise BadSetting(
                f"LIYAGENT_HOOK_MODULES names {module!r}, which raised while it was imported: "
                f"{type(error).__name__}: {error}"
            ) from error
