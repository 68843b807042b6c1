"""Ask for the training of a classifier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.db import transaction

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
    params: dict[str, Any] = {"runs": runs} if runs else {"input": _kept(examples)}
    asked = ask_for(KIND, key, asked_by=asked_by, params=params, mission=mission)
    if not asked.is_new and "input" in params:
        TrainingInput.objects.filter(id=params["input"]).delete()
    return asked


def _kept(examples: Sequence[Example]) -> str:
    ring = keyring()
    input_id = new_id()
    sealer = ring.sealer(key_id=ring.newest, run_id=input_id, format_number=FORMAT)
    with transaction.atomic(durable=True):
        TrainingInput.objects.create(
            id=input_id,
            key_id=ring.newest,
            sealed=sealer.seal([list(it) for it in examples], kind="examples", number=0),
            created_at=NOW,
        )
    return str(input_id)
