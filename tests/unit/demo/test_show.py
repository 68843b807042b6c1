"""What the demo writes."""

from __future__ import annotations

import io
from dataclasses import replace

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
    text = report(Verdict(caught=CAUGHT), runs=12, effects=72, recovery_seconds=1.25)

    assert text.splitlines()[-1] == "The promise held."
    assert "2 keyed, 1 readable, 1 blind" in text
    assert "1.2 s" in text


def test_the_report_ends_with_what_broke() -> None:
    lost = RunShown(id="r1", agent="triage-keyed", status="failed")

    text = report(Verdict(lost=(lost,), caught=CAUGHT), runs=1, effects=0, recovery_seconds=0)

    assert text.splitlines()[-1] == "lost: run r1 of triage-keyed is failed"
    assert "held" not in text.splitlines()[-1]


def test_a_write_told_to_a_person_as_unknown_is_listed_with_what_the_ledger_knows() -> None:
    blind = WriteShown(run_id="r9", vendor="servicenow", step_key="k", fate="unknown")
    unknown = Unknown(write=blind, marker="r9/2", took_effect=True)

    text = report(Verdict(unknown=(unknown,), caught=CAUGHT), runs=1, effects=0, recovery_seconds=0)

    assert "0 keyed, 0 readable, 1 blind" in text
    assert "servicenow: r9/2 took effect" in text
    assert text.endswith("The promise held.")
