"""What a model step costs, and price files that are refused with the place that is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from liyagent.core.errors import BadSetting
from liyagent.providers.prices import active_prices, cost_micros, read_prices

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "operate" / "prices.example.yaml"
GOOD = """
currency: EUR
models:
  small-1: {input: 0.15, output: 0.6, cached_input: 0.05}
  small-*: {input: 1, output: 2}
  small-1-*: {input: 3, output: 4}
  free: {input: 0, output: 0}
"""


@pytest.fixture
def prices(tmp_path: Path, settings: Any) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(GOOD)
    settings.LIYAGENT = replace(django_settings.LIYAGENT, prices_file=path)


@pytest.mark.usefixtures("prices")
@pytest.mark.parametrize(
    ("model", "tokens", "cost"),
    [
        ("small-1", (1_000_000, 0), 150_000),
        ("small-1", (0, 1_000_000), 600_000),
        ("small-1", (10, 10), 8),  # 1.5 + 6.0 = 7.5, rounded half up
        ("small-1", (1, 0), 0),
        ("small-2", (3, 5), 13),
        ("small-1-mini", (3, 5), 29),
        ("free", (1_000_000, 1_000_000), 0),
        ("large-1", (1_000_000, 1_000_000), 0),
        ("small-2", (2**62, 2**62), 3 * 2**62),
    ],
)
def test_a_step_costs_its_tokens_by_name_or_longest_beginning(
    model: str, tokens: tuple[int, int], cost: int
) -> None:
    assert cost_micros(model, input_tokens=tokens[0], output_tokens=tokens[1]) == cost


@pytest.mark.usefixtures("prices")
def test_input_that_the_provider_had_at_hand_has_its_own_price() -> None:
    def cost(model: str, cached: int) -> int:
        return cost_micros(model, input_tokens=100, output_tokens=0, cached_tokens=cached)

    assert [cost("small-1", cached) for cached in (0, 100, 1000)] == [15, 5, 5]
    assert cost("small-2", 100) == 100


def test_without_a_file_nothing_costs_anything(settings: Any) -> None:
    settings.LIYAGENT = replace(django_settings.LIYAGENT, prices_file=None)
    assert cost_micros("small-1", input_tokens=10**6, output_tokens=10**6) == 0
    assert active_prices().currency == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("currency: EUR\nmodels: {a: {input: 1", "line"),
        ("currency: EUR\nmodels: {}\ncurrency: USD", "stands twice"),
        ("[]", "the file wants names of currency, models"),
        ("models: {}", "the file.currency wants a value"),
        ("currency: EUR", "the file.models wants a value"),
        ("currency: EUR\nmodels: {}\nprices: {}", "the file.prices wants one of currency, models"),
        ("currency: 7\nmodels: {}", "currency wants a short name"),
        ("currency: a very long name of one\nmodels: {}", "currency wants a short name"),
        ("currency: EUR\nmodels: []", "models wants at most"),
        ("currency: EUR\nmodels: {a: 5}", "models.a wants names of"),
        ("currency: EUR\nmodels: {a*b: {input: 1, output: 1}}", r"models.a\*b wants a name"),
        ("currency: EUR\nmodels: {a: {input: 1}}", "models.a.output wants a value"),
        ("currency: EUR\nmodels: {a: {input: 1, output: 1, out: 1}}", "models.a.out wants one of"),
        ("currency: EUR\nmodels: {a: {input: -1, output: 1}}", "models.a.input wants a number"),
        ("currency: EUR\nmodels: {a: {input: .nan, output: 1}}", "models.a.input wants a number"),
        ("currency: EUR\nmodels: {a: {input: 1, output: '1'}}", "models.a.output wants a number"),
        ("currency: EUR\nmodels: {a: {input: true, output: 1}}", "models.a.input wants a number"),
        ("currency: EUR\nmodels: {a: {input: 1e9, output: 1}}", "models.a.input wants a number"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(BadSetting, match=f"LIYAGENT_PRICES_FILE .*prices.yaml.*{said}"):
        read_prices(path)


def test_a_file_that_is_gone_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"LIYAGENT_PRICES_FILE .*cannot be read"):
        read_prices(tmp_path / "gone.yaml")


def test_the_example_can_be_used() -> None:
    prices = read_prices(EXAMPLE)
    assert prices.currency == "EUR"
    assert prices.price_of("example-large-2") is not None
    assert prices.price_of("anything else") is None
