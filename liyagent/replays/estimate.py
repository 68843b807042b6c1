"""What a cohort replay will about cost, from what its runs cost: asked before anything is sent."""

from __future__ import annotations

from typing import Any

from liyagent.providers.prices import active_prices, cost_micros
from liyagent.replays.cohort import Cohort


def estimate_of(cohort: Cohort, *, model: str, own_model: str, baseline: int) -> dict[str, Any]:
    """Return how many runs, model calls and tokens, and their cost: once under the override, `baseline` times with the agent as it is.

    `cost_micros` is null where a model has no price.
    """
    calls = sum(it["model_steps"] for it in cohort.runs)
    tokens_in = sum(it["input_tokens"] for it in cohort.runs)
    tokens_out = sum(it["output_tokens"] for it in cohort.runs)
    times = 1 + baseline
    asked = [model, *[own_model] * baseline]
    prices = active_prices()
    has_prices = all(prices.price_of(it) is not None for it in asked)
    cost = sum(cost_micros(it, input_tokens=tokens_in, output_tokens=tokens_out) for it in asked)
    return {
        "runs": len(cohort.runs),
        "replays": len(cohort.runs) * times,
        "model_calls": calls * times,
        "input_tokens": tokens_in * times,
        "output_tokens": tokens_out * times,
        "cost_micros": cost if has_prices else None,
        "currency": prices.currency,
    }
