"""Provider `scripted`: a model that says what a YAML file tells it to, for trials, demos and tests."""

from __future__ import annotations

import re
import time
from pathlib import Path

from django.conf import settings

from liyagent.providers.script import BadScript, Step, play, read_script, task_in
from liyagent.providers.types import (
    ModelAnswer,
    ModelClient,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
)

# The name becomes a file's: nothing that could leave the directory.
SCRIPT_NAME = re.compile(r"[a-z0-9-]{1,100}")


class ScriptedClient(ModelClient):
    """Plays the script named by the request's `model` from one directory."""

    def __init__(self, scripts_dir: Path | None = None) -> None:
        """Without `scripts_dir`, the setting LIYAGENT_SCRIPTS_DIR counts at each call."""
        self._scripts_dir = scripts_dir

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Play the step after `steps_taken`. Raises `ModelRejected` for a script that is missing or wrong."""
        try:
            step = read_script(self._path(request.model)).step_at(
                request.steps_taken, task=task_in(request.messages)
            )
            _wait(step, request.timeout_seconds)
            return play(
                step,
                run_id=request.run_id,
                steps_taken=request.steps_taken,
                messages=request.messages,
            )
        except BadScript as error:
            raise ModelRejected(f"script {error}") from None

    def _path(self, model: str) -> Path:
        if not SCRIPT_NAME.fullmatch(model):
            raise ModelRejected(
                f"the model of provider scripted is {model!r}; it wants the name of a script "
                "of a-z, 0-9 and -, without .yaml"
            )
        return (self._scripts_dir or settings.LIYAGENT.scripts_dir) / f"{model}.yaml"


def _wait(step: Step, timeout_seconds: float) -> None:
    time.sleep(min(step.delay_seconds, timeout_seconds))
    if step.delay_seconds > timeout_seconds:
        raise ModelUnavailable(f"the model did not answer within {timeout_seconds:g} s")
    if step.error == "unavailable":
        raise ModelUnavailable(f"{step.place} says that the model is unavailable")
    if step.error == "rejected":
        raise ModelRejected(f"{step.place} says that the model rejects the request")
