"""What `up` refuses before it starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from liyagent.launcher.__main__ import main


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--port", "9100", "--port", "9100"], "port 9100 is asked for twice"),
        (["--port", "9100", "--vendors-port", "9100"], "port 9100 is asked for twice"),
        (["--vendors-port", "8001"], "port 8001 is asked for twice"),
        (["--port", "80000"], "--port: is '80000'; it wants 1 to 65535"),
        (["--port", "0"], "--port: is '0'; it wants 1 to 65535"),
        (["--vendors-port", "web"], "--vendors-port: is 'web'; it wants 1 to 65535"),
    ],
)
def test_ports_that_cannot_be_are_one_line_before_anything_starts(
    words: list[str],
    wanted: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LIYAGENT_STATE_DIR", str(tmp_path / "state"))
    with pytest.raises(SystemExit) as ended:
        main(["up", *words])
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert wanted in line
    assert not (tmp_path / "state").exists()
