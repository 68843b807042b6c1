"""Naive Bayes over words, in plain Python: pure, no database."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

# Letters and digits of any language; of a long text the beginning tells.
WORD = re.compile(r"\w{1,40}")
MOST_WORDS_A_TEXT, MOST_VOCABULARY = 2000, 20_000
# One of so many examples is held out, the same ones whatever their order.
HELD_OUT_OF = 5

Example = tuple[str, str]
Model = dict[str, Any]


def train(examples: Iterable[Example]) -> Model:
    """Return what (text, label) examples teach: how often each label came, and each word with it."""
    labels: Counter[str] = Counter()
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for text, label in examples:
        labels[label] += 1
        for word in set(words_of(text)):
            words[word][label] += 1
    kept = sorted(words, key=lambda it: (-words[it].total(), it))[:MOST_VOCABULARY]
    return {"labels": dict(labels), "words": {word: dict(words[word]) for word in kept}}


def probabilities(model: Model, text: str) -> list[tuple[str, float]]:
    """Return each label with its probability, the likeliest first. A word that was never seen says nothing."""
    labels: dict[str, int] = model["labels"]
    seen = [model["words"][it] for it in set(words_of(text)) if it in model["words"]]
    total = sum(labels.values())
    scores = {
        label: math.log(count / total)
        + sum(math.log((it.get(label, 0) + 1) / (count + 2)) for it in seen)
        for label, count in labels.items()
    }
    most = max(scores.values())
    shares = {label: math.exp(score - most) for label, score in scores.items()}
    whole = sum(shares.values())
    return sorted(((label, it / whole) for label, it in shares.items()), key=lambda it: (-it[1], it[0]))  # fmt: skip


def split(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Return those to train on and those held out, by what their text is: the same text is never on both sides."""
    held_out = [it for it in examples if _is_held_out(it[0])]
    return [it for it in examples if not _is_held_out(it[0])], held_out


def accuracy(model: Model, held_out: Sequence[Example]) -> tuple[float | None, float | None]:
    """Return the share that is told right, and the share that always saying the commonest label would tell right."""
    if not held_out:
        return None, None
    right = sum(probabilities(model, text)[0][0] == label for text, label in held_out)
    commonest = max(sorted(model["labels"]), key=model["labels"].__getitem__)
    always = sum(label == commonest for _, label in held_out)
    return right / len(held_out), always / len(held_out)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [it.group() for it, _ in zip(WORD.finditer(text.lower()), range(MOST_WORDS_A_TEXT), strict=False)]  # fmt: skip


def _is_held_out(text: str) -> bool:
    return hashlib.sha256(" ".join(words_of(text)).encode()).digest()[0] % HELD_OUT_OF == 0
