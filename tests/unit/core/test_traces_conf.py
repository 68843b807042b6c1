"""The settings of traces: an address in OpenTelemetry's own names, and a loud refusal of what cannot be used."""

from __future__ import annotations

import pytest

from liyagent.core.errors import BadSetting
from liyagent.core.traces_conf import TracesConf, read_traces

AT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.internal:4318"}


def test_without_an_address_there_are_no_traces() -> None:
    assert read_traces({}) is None
    assert read_traces({"OTEL_SERVICE_NAME": "x", "LIYAGENT_TRACES_WORDS": "true"}) is None


def test_the_address_of_a_collector_gets_the_path_and_one_of_traces_stays_as_it_is() -> None:
    assert read_traces(AT) == TracesConf(url="http://collector.internal:4318/v1/traces")
    below = read_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://x.example/otlp/"})
    assert below == TracesConf(url="https://x.example/otlp/v1/traces")
    whole = read_traces({**AT, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://x.example/in"})
    assert whole == TracesConf(url="https://x.example/in")


def test_all_that_can_be_set_is_read() -> None:
    env = {
        **AT,
        "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20a%2Cb, x-tenant=ops",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_SERVICE_NAME": "ops",
        "LIYAGENT_TRACES_SHARE": "0.25",
        "LIYAGENT_TRACES_WORDS": "yes",
    }
    conf = read_traces(env)
    assert conf == TracesConf(
        url="http://collector.internal:4318/v1/traces",
        headers=(("Authorization", "Bearer a,b"), ("x-tenant", "ops")),
        service="ops",
        share=0.25,
        has_words=True,
    )
    assert "Bearer" not in repr(conf)


def test_what_opentelemetry_disables_is_off() -> None:
    assert read_traces({**AT, "OTEL_SDK_DISABLED": "true"}) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://collector:4317"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:p@collector"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:0"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:99999"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector?x=1"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://coll\u00e9ctor"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a b"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{'a' * 2000}"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://[::1"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Bearer"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=b%0d%0ax: y"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Content-Type=text/plain"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,A=2"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_SERVICE_NAME", "a\nb"),
        ("LIYAGENT_TRACES_SHARE", "2"),
        ("LIYAGENT_TRACES_SHARE", "nan"),
        ("LIYAGENT_TRACES_WORDS", "perhaps"),
        ("OTEL_SDK_DISABLED", "perhaps"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "many"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=name):
        read_traces({**AT, name: value})


def test_a_refusal_tells_no_token() -> None:
    with pytest.raises(BadSetting) as refused:
        read_traces({**AT, "OTEL_EXPORTER_OTLP_HEADERS": "authorization=hunter2\u00e9"})
    assert "hunter2" not in str(refused.value)
