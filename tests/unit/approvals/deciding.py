"""What tests of held calls share: who decides, and a hot pool that is cut at a named statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.database import hot_pool
from liyagent.core.hot_connection import HotConnection

HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true"
HOLD_AND_GO_ON = "UPDATE agents_agent SET write_posture = 'hold', may_wait = false"


def let_decide(*names: str) -> None:
    """Make users who may decide."""
    for name in names:
        user = get_user_model().objects.create_user(name, password="x")
        user.user_permissions.add(Permission.objects.get(codename="decide"))


def the_request(**facts: object) -> Approval:
    return Approval.objects.get(**facts)


def decided(
    approval: Approval,
    status: ApprovalStatus,
    *,
    by: str = "olga",
    reason: str = "looked at",
) -> Approval:
    """Decide about a request as it was shown."""
    return decide(
        approval_id=approval.id, status=status, actor=by, reason=reason, digest=approval.digest
    )


def approve(approval: Approval, *, by: str = "olga") -> Approval:
    return decided(approval, ApprovalStatus.APPROVED, by=by)


def reject(approval: Approval, *, by: str = "olga", reason: str = "wrong host") -> Approval:
    return decided(approval, ApprovalStatus.REJECTED, by=by, reason=reason)


class CutPool:
    """The hot pool; `act` is done once, before a named hot function is called or after its commit.

    What `act` raises is what the attempt meets there: a process that dies is one that raises `Killed`.
    """

    def __init__(self, function: str, *, is_after: bool, act: Callable[[], None]) -> None:
        self.function = f"{function}("
        self.is_after = is_after
        self.act = act
        self.has_acted = False

    def getconn(self) -> Any:
        return _Watched(hot_pool().getconn(), self)

    def putconn(self, watched: _Watched) -> None:
        hot_pool().putconn(watched.real)

    def reached(self, sql: str, *, is_after: bool) -> None:
        if self.function in sql and is_after is self.is_after and not self.has_acted:
            self.has_acted = True
            self.act()


class _Watched:
    def __init__(self, real: HotConnection, pool: CutPool) -> None:
        self.real = real
        self.pool = pool

    def execute(self, sql: str, *values: Any, **more: Any) -> Any:
        self.pool.reached(sql, is_after=False)
        cursor = self.real.execute(sql, *values, **more)
        self.pool.reached(sql, is_after=True)
        return cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)
