"""Tools that run in this process: Python callables registered by name, never code in a row (ruling 35)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from liyagent.core.errors import LiyagentError
from liyagent.gateway.outcome import Effect, MaySend, NotSent, Outcome, Payload
from liyagent.gateway.results import done, failed, in_doubt

logger = logging.getLogger(__name__)

LocalCallable = Callable[[Payload], Any]
C = TypeVar("C", bound=LocalCallable)


class ToolFailed(LiyagentError):
    """The tool did nothing; its text says why."""

    code = "tool.failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTool:
    """A registered callable and what it says of itself."""

    name: str
    effect: Effect
    run: LocalCallable
    description: str = ""
    schema: dict[str, Any] = field(default_factory=dict)


LOCAL_TOOLS: dict[str, LocalTool] = {}


def local_tool(
    name: str,
    *,
    effect: Effect = Effect.WRITE,
    description: str = "",
    schema: dict[str, Any] | None = None,
) -> Callable[[C], C]:
    """Register a callable as `server/tool`. It is given the Payload: `.args`, `.key`, `.mission`.

    What it returns becomes plain JSON. `ToolFailed` says that nothing happened; after any other
    exception a write is in doubt. It is not interrupted at the contract's timeout: it keeps its own.
    Raises `ValueError` for a name that is taken or is not `server/tool`.
    """

    def register(run: C) -> C:
        if name in LOCAL_TOOLS or not all(name.partition("/")[::2]):
            raise ValueError(f"local tool {name!r}: wants a free name of the form server/tool")
        LOCAL_TOOLS[name] = LocalTool(
            name=name,
            effect=effect,
            run=run,
            description=description or (run.__doc__ or "").strip(),
            schema=schema or {"type": "object"},
        )
        return run

    return register


def call_local(payload: Payload, may_send: MaySend) -> Outcome:
    """Call the registered tool and return what became of it. Raises `NotSent` where `may_send` says no."""
    name = f"{payload.server}/{payload.tool}"
    tool = LOCAL_TOOLS.get(name)
    if tool is None:
        return failed(f"not sent: no local tool {name} is registered in this process", payload)
    # The tool gets arguments of its own: what was marked must not change under its hands.
    given = replace(payload, args=deepcopy(payload.args))
    if not may_send():
        raise NotSent(f"the deadline of {name} passed before it was called")
    try:
        result = tool.run(given)
    except ToolFailed as error:
        return failed(str(error), payload, by_tool=True)
    except Exception as error:
        logger.warning("local tool %s raised", name, exc_info=True)
        return in_doubt(f"{name} raised {type(error).__name__}: {error}", payload)
    return done(result, payload)
