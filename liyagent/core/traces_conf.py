"""The settings of traces: where spans are sent to, as OpenTelemetry names it, and what of a run they tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from liyagent.core.errors import BadSetting

ENDPOINT, TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
HEADERS, PROTOCOL = "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_PROTOCOL"
SERVICE, DISABLED = "OTEL_SERVICE_NAME", "OTEL_SDK_DISABLED"
WORDS, SHARE = "LIYAGENT_TRACES_WORDS", "LIYAGENT_TRACES_SHARE"
PATH = "/v1/traces"
SPOKEN = "http/protobuf"
LONGEST_URL, LONGEST_NAME, LONGEST_VALUE, MOST_HEADERS = 2_000, 200, 4_000, 20
LIMIT = re.compile(r"OTEL_[A-Z_]{1,80}_LIMIT")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$&'*+.^_`|~-]{1,100}")
# What says how the body is to be read, and to whom it goes, is not an operator's to set.
OURS = frozenset(
    {"content-type", "content-length", "content-encoding", "host", "transfer-encoding"}
)
FLAGS = {"": False, "0": False, "false": False, "no": False, "off": False} | dict.fromkeys(
    ("1", "true", "yes", "on"), True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracesConf:
    """`url` is called as it stands. `share` of all traces, 0 to 1, is written; `has_words` where recorded in full."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    service: str = "liyagent"
    share: float = 1.0
    has_words: bool = False


def read_traces(env: Mapping[str, str]) -> TracesConf | None:
    """Return where spans go; None where no address is set, or OTEL_SDK_DISABLED is: then no span is made at all.

    Raises `BadSetting`, which tells no header: they hold tokens.
    """
    url = _url(env)
    headers, service = _headers(env), _service(env)
    share, has_words = _share(env), _flag(env, WORDS)
    if (spoken := env.get(PROTOCOL, "").strip()) not in {"", SPOKEN}:
        raise BadSetting(
            f"{PROTOCOL} is {spoken[:80]!r}; it wants {SPOKEN}, the one that is spoken here"
        )
    if _flag(env, DISABLED) or not url:
        return None
    _check_limits(env)
    return TracesConf(url=url, headers=headers, service=service, share=share, has_words=has_words)


def _url(env: Mapping[str, str]) -> str:
    """The whole address where it is set, else the collector's with the path that OTLP gives traces."""
    whole, base = (env.get(name, "").strip() for name in (TRACES_ENDPOINT, ENDPOINT))
    _check_url(TRACES_ENDPOINT, whole)
    _check_url(ENDPOINT, base)
    return whole or (base and f"{base.rstrip('/')}{PATH}")


def _check_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        is_usable = (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and "@" not in parts.netloc
            and parts.port != 0
            and not (parts.query or parts.fragment)
        )
    except ValueError:
        is_usable = False
    is_plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= LONGEST_URL
    if url and not (is_usable and is_plain):
        raise BadSetting(
            f"{name} cannot be called; it wants an address such as http://collector.internal:4318"
        )


def _headers(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """`name=value,name=value`, the values percent-encoded."""
    parts = [it.strip() for it in env.get(HEADERS, "").split(",") if it.strip()]
    found = tuple(_header(it) for it in parts)
    if len(found) > MOST_HEADERS or len({name.lower() for name, _ in found}) != len(found):
        raise BadSetting(f"{HEADERS} wants at most {MOST_HEADERS} headers, each once")
    return found


def _header(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    name, value = name.strip(), unquote(value.strip())
    is_plain = value.isascii() and value.isprintable() and len(value) <= LONGEST_VALUE
    if not (equals and HEADER_NAME.fullmatch(name) and is_plain) or name.lower() in OURS:
        raise BadSetting(
            f"{HEADERS} cannot be used; it wants name=value[,name=value], values percent-encoded, and none of "
            f"{', '.join(sorted(OURS))}"
        )
    return name, value


def _service(env: Mapping[str, str]) -> str:
    name = env.get(SERVICE, "").strip() or "liyagent"
    if not (name.isascii() and name.isprintable() and len(name) <= LONGEST_NAME):
        raise BadSetting(
            f"{SERVICE} cannot be used; it wants at most {LONGEST_NAME} ASCII characters"
        )
    return name


def _share(env: Mapping[str, str]) -> float:
    text = env.get(SHARE, "").strip() or "1"
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise BadSetting(f"{SHARE} is {text[:80]!r}; it wants a number from 0 to 1")
    return share


def _check_limits(env: Mapping[str, str]) -> None:
    """Nothing is limited by these here; but the SDK cannot even be imported with one that is no number."""
    for name, value in env.items():
        if LIMIT.fullmatch(name) and not re.fullmatch(r"[0-9]{0,18}", value.strip()):
            raise BadSetting(f"{name} is {value[:80]!r}; it wants a whole number")


def _flag(env: Mapping[str, str], name: str) -> bool:
    value = env.get(name, "").strip().lower()
    if value not in FLAGS:
        raise BadSetting(f"{name} is {value[:80]!r}; it wants true or false")
    return FLAGS[value]
