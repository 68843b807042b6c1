"""What is read becomes text, whatever is in it, and in a time that grows with its length alone."""

from __future__ import annotations

import time

import pytest

from liyagent.jobs.sources.text import text_of

PAGE = b"""<!doctype html><html><head><title>How to &amp; why</title><style>p {}</style></head>
<body><script>alert(1)</script><h1>Mail</h1><p>Ask <b>the</b> desk.<br>Then &lt;wait&gt;.</p>
<ul><li>one<li>two</ul><!-- hidden --><noscript>no</noscript> tail &amp</body></html>"""


def test_html_becomes_lines_without_tags_scripts_and_comments() -> None:
    text = text_of(PAGE, is_html=True, title="page")
    assert text.title == "How to & why"
    assert text.text == "Mail\nAsk the desk.\nThen <wait>.\none\ntwo\ntail &"


def test_plain_text_stays_and_a_heading_is_its_title() -> None:
    assert text_of(b"# One\nb", is_html=False, title="x.md").title == "One"
    assert text_of(b"b\x00\xff", is_html=False, title="x.md").text == "b\ufffd\ufffd"
    assert text_of("\ufeffb".encode(), is_html=False, title="x.md").text == "b"
    assert text_of(b"<p>no", is_html=False, title="x.md").text == "<p>no"


def test_a_long_text_is_cut_and_says_so() -> None:
    text = text_of(b"x" * 200_001, is_html=False)
    assert (len(text.text), text.is_cut) == (200_000, True)


HOSTILE = ["<", "<!", "<!--", "<![CDATA[", "<?", "</", "<a ", "<a b='", '<a b="', "<a b=", "&", "&#", "<script>", "</script", "<a/", "<!-- --", "<a b c ", "<a'", "<body></head>", "<title>", "<p", "<!doctype "]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_html_is_read_in_a_time_that_grows_with_its_length(piece: str) -> None:
    def seconds(size: int) -> float:
        content = (piece * (size // len(piece) + 1))[:size].encode()
        started = time.process_time()
        text_of(content, is_html=True)
        return time.process_time() - started

    # Twice as long may cost four times, never sixteen times for four: measured where it can be told from noise.
    assert seconds(1 << 20) < max(2.0, 8 * seconds(1 << 18))
