"""The state directory: what outlives a start, and what does not outlive its deletion."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from liyagent.launcher import state
from liyagent.launcher.state import State


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> State:
    """A state directory below one that only we may enter: as root its data have to lie elsewhere."""
    monkeypatch.setattr(state, "REACHABLE", tmp_path / "reachable")
    tmp_path.chmod(0o700)
    return State(root=tmp_path / ".liyagent")


def keep(state: State) -> Path:
    """A file among the data."""
    state.prepare()
    data = state.postgres().resolve()
    data.mkdir(exist_ok=True)
    (data / "kept").touch()
    return data / "kept"


def test_the_data_are_found_again_at_the_next_start(closed: State) -> None:
    kept = keep(closed)
    assert closed.postgres().resolve() == kept.parent


def test_deleting_the_state_directory_starts_anew_without_the_old_data(closed: State) -> None:
    keep(closed)
    shutil.rmtree(closed.root)
    closed.prepare()
    assert not (closed.postgres() / "kept").exists()
