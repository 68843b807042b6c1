"""What tests of notices share: a channel that is told, and a look at what is due."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.conf import settings

from liyagent.approvals.deliver import deliver_due
from liyagent.approvals.models import Notice
from tests.fakes.webhook_receiver import Receiver

SECRET = b"s" * 24


def tell(receiver: Receiver, patch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Set the address of the channel, as an operator does."""
    known: dict[str, Any] = {
        "approval_webhook_url": receiver.url,
        "approval_webhook_secrets": (SECRET,),
        "allowed_private_hosts": ("127.0.0.1",),
    }
    conf = dataclasses.replace(settings.LIYAGENT, **{**known, **changes})
    patch.setattr(settings, "LIYAGENT", conf)


def deliver(**bounds: int) -> int:
    """One look of one process."""
    return deliver_due(give_up=lambda: False, **bounds)


def notices() -> list[tuple[str, str]]:
    """What is to be told, or was."""
    return list(Notice.objects.order_by("id").values_list("kind", "state"))
