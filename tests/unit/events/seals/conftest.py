"""Fixtures of what seals the record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from django.conf import settings


@pytest.fixture
def with_keys(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the ring of sealing keys, the first of which seals and signs."""

    def set_keys(*keys: tuple[str, bytes]) -> None:
        monkeypatch.setattr(
            settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, seal_keys=keys)
        )

    return set_keys
