"""What models cost, as the operator's price file says: read once at the start, strictly."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from django.conf import settings

from liyagent.core.errors import BadInput, BadSetting
from liyagent.core.files import parse_yaml, read_text

SETTING = "LIYAGENT_PRICES_FILE"
LONGEST_CURRENCY = 10
MOST_MODELS = 1000
DEAREST = 1_000_000
FILE_KEYS = frozenset({"currency", "models"})
PRICE_KEYS = frozenset({"input", "output", "cached_input"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Units of the currency for a million tokens. `cached_input`: of input that the provider had at hand."""

    input: Decimal
    output: Decimal
    cached_input: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A price file. A name in `models` that ends in `*` stands for every model that begins so."""

    currency: str
    models: dict[str, Price]

    def price_of(self, model: str) -> Price | None:
        """Return the price by name, else by the longest beginning, None where there is none."""
        if model in self.models:
            return self.models[model]
        fitting = [it for it in self.models if it.endswith("*") and model.startswith(it[:-1])]
        return self.models[max(fitting, key=len)] if fitting else None


def cost_micros(
    model: str, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0
) -> int:
    """Return what a model step cost, in millionths of the currency's unit; 0 where there is no price.

    `cached_tokens` are those of `input_tokens` that the provider had at hand.
    """
    price = active_prices().price_of(model)
    if price is None:
        return 0
    cached = min(cached_tokens, input_tokens)
    # A price for a million tokens, in units, is the price of one token, in millionths.
    cost = price.input * (input_tokens - cached) + price.cached_input * cached
    return int((cost + price.output * output_tokens).to_integral_value(ROUND_HALF_UP))


def active_prices() -> Prices:
    """Return the prices of LIYAGENT_PRICES_FILE; none where it is not set. Raises `BadSetting`."""
    return read_prices(settings.LIYAGENT.prices_file)


@functools.lru_cache(maxsize=8)
def read_prices(path: Path | None) -> Prices:
    """Read a price file, once in the life of a process. Raises `BadSetting` with file, place and what it wants."""
    if path is None:
        return Prices(currency="", models={})
    try:
        return parse_prices(parse_yaml(read_text(path)))
    except BadInput as error:
        raise BadSetting(f"{SETTING} {path}: {error}") from None


def parse_prices(document: Any) -> Prices:
    """Return the prices that a parsed file tells. Raises `BadInput` with the place and what it wants there."""
    _want_names(document, "the file", known=FILE_KEYS, needed=FILE_KEYS)
    currency, models = document["currency"], document["models"]
    is_name = isinstance(currency, str) and 0 < len(currency) <= LONGEST_CURRENCY
    _want(is_name and currency.isprintable(), "currency", "a short name such as EUR")
    _want(
        isinstance(models, dict) and len(models) <= MOST_MODELS,
        "models",
        f"at most {MOST_MODELS} names of models, each with its price",
    )
    return Prices(
        currency=currency, models={name: _price(name, raw) for name, raw in models.items()}
    )


def _price(name: str, raw: Any) -> Price:
    place = f"models.{name}"
    _want("*" not in name[:-1] and name != "", place, "a name, or a beginning with * at its end")
    _want_names(raw, place, known=PRICE_KEYS, needed=PRICE_KEYS - {"cached_input"})
    prices = {key: _amount(value, f"{place}.{key}") for key, value in raw.items()}
    return Price(**{"cached_input": prices["input"], **prices})


def _amount(value: Any, place: str) -> Decimal:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_price = is_number and math.isfinite(value) and 0 <= value <= DEAREST
    _want(is_price, place, f"a number from 0 to {DEAREST}, for a million tokens")
    return Decimal(str(value))


def _want_names(raw: Any, place: str, *, known: frozenset[str], needed: frozenset[str]) -> None:
    _want(isinstance(raw, dict), place, f"names of {', '.join(sorted(known))}")
    unknown = sorted(str(key) for key in raw if key not in known)
    _want(not unknown, f"{place}.{'.'.join(unknown[:1])}", f"one of {', '.join(sorted(known))}")
    for name in sorted(needed):
        _want(name in raw, f"{place}.{name}", "a value")


def _want(met: bool, place: str, what: str) -> None:
    if not met:
        raise BadInput(f"{place} wants {what}")
