"""Which mind decides about a run's steps, by what its sealed first part names: filled in by `AppConfig.ready()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The name in a run's first part; a run that names none asks its agent's model.
MIND = "mind"
# By that name. Takes an `Attempt` and returns its `Mind`; the apps' registry is not ready where this is imported.
MINDS: dict[str, Callable[[Any], Any]] = {}
