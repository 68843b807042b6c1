"""The table of fates, line by line, for a write and for a read."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.gateway.fates import fate_of_answer
from liyagent.gateway.outcome import Fate
from tests.unit.gateway.support import a_payload, a_read_payload


def rpc_error(code: int) -> dict[str, Any]:
    """A JSON-RPC response that reports an error."""
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "as told"}}


def result(**fields: Any) -> dict[str, Any]:
    """A JSON-RPC response with a tool's result."""
    return {"jsonrpc": "2.0", "id": 1, "result": {"content": [], **fields}}


def text(words: str, **fields: Any) -> dict[str, Any]:
    """A tool's result that is one text block."""
    return result(content=[{"type": "text", "text": words}], **fields)


@pytest.mark.parametrize(
    ("status", "answer", "write"),
    [
        *((status, None, Fate.FAILED) for status in (400, 401, 403, 405, 413, 415, 422, 429)),
        *((status, None, Fate.UNKNOWN) for status in (202, 302, 404, 408, 409, 500, 502, 503, 504)),
        (404, rpc_error(-32600), Fate.UNKNOWN),
        (500, rpc_error(-32602), Fate.UNKNOWN),
        (400, rpc_error(-32020), Fate.FAILED),
        *((200, rpc_error(code), Fate.FAILED) for code in (-32700, -32600, -32601, -32602)),
        *((200, rpc_error(code), Fate.UNKNOWN) for code in (-32603, -32000, -32042, 7)),
        (200, None, Fate.UNKNOWN),
        (200, [], Fate.UNKNOWN),
        (200, {"result": "?"}, Fate.UNKNOWN),
        (200, result(isError=True), Fate.FAILED),
        (200, result(resultType="input_required"), Fate.FAILED),
        (200, result(), Fate.DONE),
    ],
)
def test_each_answer_has_one_fate(status: int, answer: Any, write: Fate) -> None:
    """What is in doubt for a write is an error for a read: nothing was changed."""
    assert fate_of_answer(status, answer, a_payload()).fate is write
    read = Fate.FAILED if write is Fate.UNKNOWN else write
    assert fate_of_answer(status, answer, a_read_payload()).fate is read


@pytest.mark.field("FL-77")
def test_is_error_decides_and_a_text_that_begins_with_error_does_not() -> None:
    failed = fate_of_answer(200, text("field required", isError=True), a_payload())
    assert (failed.fate, failed.error, failed.result) == (Fate.FAILED, "field required", None)
    said = fate_of_answer(200, text("Error: field required", isError=False), a_payload())
    assert (said.fate, said.result) == (Fate.DONE, "Error: field required")


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (result(structuredContent={"id": 1}, content=[{"type": "text", "text": "x"}]), {"id": 1}),
        (text('{"id": 1}'), {"id": 1}),
        (text(" [1, 2]"), [1, 2]),
        (text("[not JSON"), "[not JSON"),
        (text("007"), "007"),
        (text("12345678901234567890.123"), "12345678901234567890.123"),
        (result(), None),
        (
            result(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            ["a", "b"],
        ),
    ],
)
def test_a_result_is_its_structured_content_else_what_its_blocks_say(
    answer: Any, value: Any
) -> None:
    assert fate_of_answer(200, answer, a_payload()).result == value


@pytest.mark.field("FL-42")
def test_images_and_links_to_resources_are_plain_data() -> None:
    blocks = [
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///log", "name": "log"},
    ]
    assert fate_of_answer(200, result(content=blocks), a_payload()).result == blocks


@pytest.mark.field("FL-32")
def test_a_nul_is_replaced_and_the_text_that_spells_one_is_kept() -> None:
    assert fate_of_answer(200, text("boot\x00ok"), a_payload()).result == "boot\ufffdok"
    assert fate_of_answer(200, text('{"log":"boot\\u0000ok"}'), a_payload()).result == {
        "log": "boot\ufffdok"
    }
    assert fate_of_answer(200, text("boot\\u0000ok"), a_payload()).result == "boot\\u0000ok"
    assert fate_of_answer(200, text("no\x00", isError=True), a_payload()).error == "no\ufffd"


@pytest.mark.field("FL-33")
def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert fate_of_answer(200, text("cut \ud83d"), a_payload()).result == "cut \ufffd"


@pytest.mark.field("FL-34")
def test_numbers_that_json_does_not_have_become_text() -> None:
    words = '{"load":NaN,"max":Infinity}'
    expected = {"load": "NaN", "max": "Infinity"}
    assert fate_of_answer(200, text(words), a_payload()).result == expected
    structured = result(structuredContent={"load": float("nan"), "max": float("inf")})
    assert fate_of_answer(200, structured, a_payload()).result == expected


@pytest.mark.parametrize("hostile", ["x" * 2000, [[[[]]]] * 700], ids=["long", "many"])
def test_a_result_over_the_limit_fails_a_read_and_leaves_a_write_done(hostile: Any) -> None:
    answer = result(structuredContent={"value": hostile})
    read = fate_of_answer(200, answer, a_read_payload(limit_bytes=1000))
    assert read.fate is Fate.FAILED
    assert "larger than 1000 bytes" in read.error
    write = fate_of_answer(200, answer, a_payload(limit_bytes=1000))
    assert write.fate is Fate.DONE
    assert "larger than 1000 bytes" in write.result["error"]


def test_a_result_that_is_too_deep_is_treated_alike() -> None:
    deep: Any = "x"
    for _ in range(150):
        deep = [deep]
    answer = result(structuredContent={"value": deep})
    assert fate_of_answer(200, answer, a_read_payload()).fate is Fate.FAILED
    assert "deeper than 100" in fate_of_answer(200, answer, a_payload()).result["error"]
