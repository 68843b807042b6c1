"""Fixtures of what seals the record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from tests.unit.events.seals.root_store import set_target


@pytest.fixture
def with_keys(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the ring of sealing keys, the first of which seals and signs."""

    def set_keys(*keys: tuple[str, bytes]) -> None:
        monkeypatch.setattr(
            settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, seal_keys=keys)
        )

    return set_keys


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that roots are exported to."""
    target = tmp_path / "roots"
    target.mkdir()
    set_target(monkeypatch, str(target))
    return target
