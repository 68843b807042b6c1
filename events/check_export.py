"""`events verify` over what was exported: the database holds the newest root that stands at the target."""

from __future__ import annotations

from collections.abc import Iterator

from events.checking import Asked, Finding, Looked
from events.rollback import NotOurs, read_exported, rolled_back
from events.root_targets import NEWEST, TargetDown, own_target

CHECK, WHERE = "exported roots", "target of roots"


def check_export(asked: Asked) -> Iterator[Finding | Looked]:
    """Compare, where all is asked for and a target is set. It only tells: alarms are for the process that serves."""
    target = own_target() if asked.is_all else None
    if target is None:
        return
    try:
        with target:
            data = target.read(NEWEST)
        rolled = rolled_back(read_exported(data)) if data is not None else None
    except TargetDown as error:
        yield Finding(where=WHERE, reason="down", sentence=str(error), is_break=False)
        return
    except NotOurs as error:
        yield Finding(where=WHERE, reason="not_ours", sentence=str(error))
        return
    if rolled is not None:
        yield Finding(where=WHERE, reason=rolled.reason, sentence=rolled.sentence)
    yield Looked(check=CHECK, chains=int(data is not None))
