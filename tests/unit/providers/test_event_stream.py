"""Server-sent events are read alike wherever the network cuts them."""

from __future__ import annotations

import pytest

from liyagent.providers.event_stream import event_data

TEXT = "\ufeffdata: ü☃\n\n: beat\n\ndata\r\ndata: two\r\ndata:  lines\r\n\r\nid: 7\revent: x\rdata: {}\r\rdata: [DONE]"
EVENTS = ["ü☃", "\ntwo\n lines", "{}", "[DONE]"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_in_pieces_of_any_size(size: int) -> None:
    content = TEXT.encode()
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    assert list(event_data(pieces)) == EVENTS


def test_what_is_no_data_is_no_event() -> None:
    assert list(event_data([])) == []
    assert list(event_data([b"\n\n", b"", b": a\n", b"retry: 5\n\n", b"datax: 1\n\n", b"\r"])) == []


def test_bytes_that_are_no_text_are_marked() -> None:
    assert list(event_data([b"data: a\xff\n\n", b"data: \xe2\x98"])) == ["a\ufffd", "\ufffd"]


def test_a_line_of_a_million_pieces_is_read_in_one_go() -> None:
    pieces = [b"data: ", *([b"x"] * 1_000_000), b"\n\n"]
    assert [len(it) for it in event_data(pieces)] == [1_000_000]
