"""Looking ahead: a step's calls are judged while the database still writes the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import Call, Verdict
from liyagent.gateway.policies import PolicySet


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What was judged ahead at configuration version `config`, -1 for nothing. The gates are pure, so it may be early."""

    config: int = -1
    calls: Sequence[Call] = ()
    policy: PolicySet | None = None
    verdicts: Sequence[Verdict] = ()

    def judge(self, call: Call, policy: PolicySet) -> Verdict:
        """Return the verdict on exactly this call under exactly these policies; what was not judged ahead is judged now."""
        if policy is not self.policy or call not in self.calls[call.index : call.index + 1]:
            return judge(call, policy)
        return self.verdicts[call.index]


NOTHING_AHEAD = Ahead()


def judge_ahead(calls: Sequence[Call], policy: PolicySet, *, config: int) -> Ahead:
    """Return the verdicts on a step's calls as they stand at `config`."""
    return Ahead(
        config=config,
        calls=calls,
        policy=policy,
        verdicts=[judge(call, policy) for call in calls],
    )
