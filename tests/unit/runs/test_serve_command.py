"""What `serve` refuses before it serves."""

from __future__ import annotations

import pytest
from django.core.management import CommandError

from runs.management.commands.serve import check_address


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("127.0.0.1", 0, "1 to 65535"),
        ("127.0.0.1", 65_536, "1 to 65535"),
        ("", 18_000, "--host is empty"),
        (" ", 18_000, "--host is empty"),
        ("256.1.1.1", 18_000, "cannot listen on"),
        ("ä" * 70, 18_000, "the name or address"),
        ("a\x00b", 18_000, "the name or address"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_told(host: str, port: int, said: str) -> None:
    with pytest.raises(CommandError, match=said):
        check_address(host, port)
