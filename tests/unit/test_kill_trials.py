"""Kill trials: victims begin entries by every way and are killed at random moments; a survivor ends them all (CR-32).

The judge is tried always; the trials are played where `LIYAGENT_KILL_TRIALS` says how many. `docs/trials.md` tells the rest.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from tests.kills.plan import SEED, trials_asked
from tests.kills.report import table, too_few
from tests.kills.whole import play_all

TRIALS = trials_asked(os.environ)
MOST_SECONDS = 120 + 12 * TRIALS


if TRIALS:

    @pytest.mark.promise("CR-32")
    @pytest.mark.timeout(MOST_SECONDS)
    def test_none_is_lost_and_nothing_is_done_twice_by_what_killed_processes_had_begun(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        seed = int(os.environ.get(SEED) or secrets.randbelow(1_000_000))

        def say(text: str) -> None:
            with capsys.disabled():
                print(text, flush=True)  # noqa: T201 - what was measured

        say(
            f"\n{TRIALS} trials, seed {seed} ({SEED}={seed} repeats the moments); logs in {tmp_path}"
        )
        whole = play_all(TRIALS, seed=seed, logs=tmp_path, say=say)
        say(table(whole.played, whole.judged, whole.in_doubt))
        assert whole.judged.faults == ()
        assert too_few(TRIALS, whole.in_doubt) == []
