"""The client of an agent's provider, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module

from liyagent.core.errors import BadInput
from liyagent.providers.anthropic import AnthropicClient
from liyagent.providers.openai import OpenAIClient
from liyagent.providers.scripted import ScriptedClient
from liyagent.providers.types import ModelClient

Make = Callable[[str, str], ModelClient]

# Ollama and vLLM speak OpenAI's format; `openai` with their base_url is theirs too.
PROVIDERS: dict[str, Make] = {
    "anthropic": lambda base_url, api_key_env: AnthropicClient(
        base_url=base_url, api_key_env=api_key_env
    ),
    "openai": lambda base_url, api_key_env: OpenAIClient(
        base_url=base_url, api_key_env=api_key_env
    ),
    "scripted": lambda _base_url, _api_key_env: ScriptedClient(),
}

SDKS = {"anthropic": "anthropic", "openai": "openai"}


def load_sdk(provider: str) -> None:
    """Import what the first step of a provider's client would import."""
    if provider in SDKS:
        import_module(SDKS[provider])


@functools.lru_cache(maxsize=256)
def client_for(*, provider: str, base_url: str = "", api_key_env: str = "") -> ModelClient:
    """Return the client of a provider, one per endpoint and key. Raises `BadInput` naming the known ones.

    `api_key_env` is the name of the environment variable that holds the key, never the key.
    """
    make = PROVIDERS.get(provider)
    if make is None:
        raise BadInput(
            f"provider {provider!r} is not known; it wants one of {', '.join(sorted(PROVIDERS))}"
        )
    return make(base_url, api_key_env)
