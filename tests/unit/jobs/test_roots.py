"""`LIYAGENT_SOURCE_ROOTS` names directories that are there, or the start is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from liyagent.core.conf import read_conf
from liyagent.core.errors import BadSetting


def roots(tmp_path: Path, text: str) -> tuple[Path, ...]:
    env = {"LIYAGENT_DEBUG": "true", "LIYAGENT_STATE_DIR": str(tmp_path), "DATABASE_URL": "postgresql://a:b@127.0.0.1:1/c", "LIYAGENT_SOURCE_ROOTS": text}  # fmt: skip
    return read_conf(env, base_dir=tmp_path).source_roots


def test_roots_are_resolved_and_none_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "docs")
    assert roots(tmp_path, "") == ()
    docs = (tmp_path / "docs").resolve()
    assert roots(tmp_path, f"{tmp_path}/docs, {tmp_path}/link") == (docs, docs)


@pytest.mark.parametrize("text", ["docs", "/", "/none/such", "/etc/passwd", "/usr/.."])
def test_a_root_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting, match="LIYAGENT_SOURCE_ROOTS has"):
        roots(tmp_path, text)
