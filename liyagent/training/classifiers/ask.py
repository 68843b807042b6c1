"""Ask for the training of a classifier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from liyagent.core.errors import BadInput
from liyagent.core.ids import new_id
from liyagent.jobs.ask import Asked, ask_for
from liyagent.jobs.models import NOW
from liyagent.training.classifiers.bayes import Example
from liyagent.training.classifiers.models import TrainingInput
from runs.checkpoint import keyring

KIND = "classifier_training"
KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
FORMAT = 1


def ask_training(
    key: str,
    *,
    asked_by: str,
    examples: Sequence[Example] = (),
    runs: dict[str, Any] | None = None,
    mission: str = "",
) -> Asked:
    """Ask for one more version of a classifier, from checked `examples` or from `runs` (`since`, `until`, `agents`).

    A training of it that goes on already is found, and then nothing is kept of what was given.
    """
    if not KEY.fullmatch(key):
        raise BadInput("key wants 1 to 80 letters, digits, - and _")
    if runs:
        return ask_for(KIND, key, asked_by=asked_by, params={"runs": runs}, mission=mission)
    row = _sealed(examples)
    params = {"input": str(row.id)}
    # The job forgets them once it has ended: without one they would stay for ever.
    beside = partial(row.save, force_insert=True)
    return ask_for(KIND, key, asked_by=asked_by, params=params, mission=mission, beside=beside)


def _sealed(examples: Sequence[Example]) -> TrainingInput:
    ring = keyring()
    input_id = new_id()
    sealer = ring.sealer(key_id=ring.newest, run_id=input_id, format_number=FORMAT)
    return TrainingInput(
        id=input_id,
        key_id=ring.newest,
        sealed=sealer.seal([list(it) for it in examples], kind="examples", number=0),
        created_at=NOW,
    )
