"""What a process does again and again outlives whatever one look meets."""

from __future__ import annotations

import threading

from runs.rounds import Round, go_round


def test_a_look_that_meets_what_nobody_expected_does_not_end_its_round() -> None:
    ended = threading.Event()
    looks: list[int] = []

    def look(_give_up: object) -> None:
        looks.append(len(looks))
        if len(looks) < 3:
            raise KeyError("config")
        ended.set()

    go_round("odd rows", Round(look=look, is_waited_for=True), ended=ended)
    assert looks == [0, 1, 2]
