"""Why a cohort replay was refused."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.core.errors import BadInput, Conflict, NotFound


class ReplayUnknown(NotFound):
    """There is no such cohort replay."""

    code = "replays.not_found"


class ReplayEnded(Conflict):
    """The cohort replay has ended; it cannot be cancelled any more."""

    code = "replays.ended"


class ReplayInvalid(BadInput):
    """What was asked cannot be replayed."""

    code = "replays.invalid"

    def __init__(self, problems: Mapping[str, str]) -> None:
        """`problems`: by the path of what was given, what is wrong there."""
        self.errors = [{"field": path, "detail": said} for path, said in problems.items()]
        super().__init__("; ".join(f"{path} {said}" for path, said in problems.items()))


class ResultUnknown(NotFound):
    """Nothing came of this run yet, or it is not in the cohort."""

    code = "replays.no_result"
