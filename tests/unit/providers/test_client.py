"""A provider is chosen by name."""

import pytest

from liyagent.core.errors import BadInput
from liyagent.providers.anthropic import AnthropicClient
from liyagent.providers.client import PROVIDERS, client_for
from liyagent.providers.openai import OpenAIClient
from liyagent.providers.scripted import ScriptedClient


def test_each_known_provider_has_its_client() -> None:
    assert set(PROVIDERS) == {"anthropic", "openai", "scripted"}
    assert isinstance(client_for(provider="scripted", base_url="", api_key_env=""), ScriptedClient)
    assert isinstance(
        client_for(provider="anthropic", base_url="", api_key_env=""), AnthropicClient
    )
    assert isinstance(client_for(provider="openai", base_url="", api_key_env=""), OpenAIClient)


def test_an_endpoint_and_its_key_have_one_client() -> None:
    def client(base_url: str, api_key_env: str) -> object:
        return client_for(provider="openai", base_url=base_url, api_key_env=api_key_env)

    assert client("http://a/v1", "K1") is client("http://a/v1", "K1")
    assert client("http://a/v1", "K1") is not client("http://a/v1", "K2")
    assert client("http://a/v1", "K1") is not client("http://b/v1", "K1")


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        BadInput, match="'mystery' is not known; it wants one of anthropic, openai, scripted"
    ):
        client_for(provider="mystery", base_url="", api_key_env="")
