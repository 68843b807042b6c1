"""No pickle names a class in our processes, but plain data in django-q2's queue (ruling 33)."""

from __future__ import annotations

import sys
from typing import Any

from liyagent.core.errors import LiyagentError

EVENT = "pickle.find_class"
# Who may unpickle, told by the very code that calls `pickle`. The queue's packages are signed, but who has the
# key must not be able to run code by it: its jobs carry ids and times, and so do the pipes behind it.
QUEUE = frozenset(
    {"django_q.signing", "multiprocessing.queues", "multiprocessing.connection"},
)
PLAIN = frozenset(
    {
        ("builtins", "frozenset"),
        ("builtins", "set"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("decimal", "Decimal"),
        ("uuid", "UUID"),
    }
)
# Reads back what this very process has pickled into its own memory.
OWN_MEMORY = frozenset({"django.core.cache.backends.locmem"})


class UnpicklingRefused(LiyagentError, TypeError):
    """A pickle that names a class is not read here; jobs carry ids, times and plain values only.

    A TypeError because django-q2 throws a package away on that; on anything else its pusher would die of the
    same package again and again.
    """

    code = "pickle.refused"


def refuse_unpickling() -> None:
    """Refuse it from now on, in this process and its forks. It cannot be taken back: call it where a process starts."""
    sys.addaudithook(_judge)


def _judge(event: str, args: tuple[Any, ...]) -> None:
    if event != EVENT:
        return
    caller = str(sys._getframe(1).f_globals.get("__name__", ""))
    named = (str(args[0]), str(args[1]))
    if caller in OWN_MEMORY or (caller in QUEUE and named in PLAIN):
        return
    raise UnpicklingRefused(name=".".join(named), caller=caller)
