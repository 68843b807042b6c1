"""What the demo writes."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from liyagent.demo.__main__ import main
from liyagent.demo.judge import Kind, RunShown, Unknown, Verdict, WriteShown
from liyagent.demo.show import RunLine, Screen, report

LINE = RunLine(
    number=3,
    kind="keyed",
    status="running",
    step=2,
    holder="A",
    attempt=1,
    fates=("done", "", "unknown"),
)
TWELVE = {f"r{number}": number for number in range(1, 13)}
CAUGHT = {Kind.KEYED: 2, Kind.READABLE: 1, Kind.BLIND: 1}


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_a_run_is_shown_with_its_status_holder_step_and_the_fates_of_its_writes() -> None:
    text = LINE.text()

    assert text.split() == ["run", "3", "keyed", "running", "A", "attempt", "1", "step", "2", "✓…?"]


def test_without_a_terminal_only_changes_are_written() -> None:
    out = io.StringIO()
    screen = Screen(out)

    screen.show([LINE])
    screen.show([LINE])
    screen.show([replace(LINE, holder="B", attempt=2)])

    assert [line.split()[4] for line in out.getvalue().splitlines()] == ["A", "B"]
    assert "\x1b" not in out.getvalue()


def test_at_a_terminal_the_table_is_redrawn_in_its_place_until_something_else_is_said() -> None:
    out = Terminal()
    screen = Screen(out)

    screen.show([LINE])
    screen.show([replace(LINE, step=3)])
    screen.say("A is killed")
    screen.show([replace(LINE, step=4)])

    assert out.getvalue().count("\x1b[2A") == 1


def test_the_report_ends_with_the_promise_where_nothing_broke() -> None:
    text = report(Verdict(caught=CAUGHT), numbers=TWELVE, effects=72, recovery_seconds=1.25)

    assert text.splitlines()[-1] == "The promise held."
    assert "2 keyed, 1 readable, 1 blind" in text
    assert "1.2 s" in text


def test_the_report_ends_with_what_broke() -> None:
    lost = RunShown(id="r1", agent="triage-keyed", status="failed")

    text = report(
        Verdict(lost=(lost,), caught=CAUGHT), numbers={"r1": 1}, effects=0, recovery_seconds=0
    )

    assert text.splitlines()[-1] == "lost: run r1 of triage-keyed is failed"
    assert "held" not in text.splitlines()[-1]


@pytest.mark.parametrize(
    ("marker", "took_effect", "told"),
    [
        ("r9/2", True, "run 9 write 2: servicenow says it took effect"),
        ("r9/2", False, "run 9 write 2: servicenow says it had no effect"),
        ("", False, "run 9: a write to servicenow never left the killed process"),
    ],
)
def test_a_write_told_to_a_person_as_unknown_is_listed_by_its_runs_number_with_what_the_ledger_knows(
    marker: str, took_effect: bool, told: str
) -> None:
    blind = WriteShown(run_id="r9", vendor="servicenow", step_key="k", fate="unknown")
    unknown = Unknown(write=blind, marker=marker, took_effect=took_effect)

    text = report(
        Verdict(unknown=(unknown,), caught=CAUGHT), numbers=TWELVE, effects=0, recovery_seconds=0
    )

    assert "0 keyed, 0 readable, 1 blind" in text
    assert f"    {told}" in text.splitlines()
    assert text.endswith("The promise held.")


def test_help_says_what_the_demo_does_and_starts_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "kill it in the middle of writes" in capsys.readouterr().out
