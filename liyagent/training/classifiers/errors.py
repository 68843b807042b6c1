"""Why a classifier was refused or is not there."""

from __future__ import annotations

from liyagent.core.errors import BadInput, NotFound


class ExamplesInvalid(BadInput):
    """The examples cannot be learned from."""

    code = "classifiers.examples_invalid"


class ClassifierUnknown(NotFound):
    """There is no such classifier, or none of that version."""

    code = "classifiers.not_found"
