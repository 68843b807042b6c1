"""What the page of a request shows, held against what is sent: letters that are not seen have to be written out."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from io import StringIO
from itertools import groupby

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

from liyagent.approvals.models import Approval
from liyagent.approvals.words import arguments_of

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Printable by their category, and blank on a screen.
BLANK = set("\u115f\u1160\u3164\uffa0") | {chr(code) for code in range(0xE0100, 0xE01F0)}
TAG = re.compile(r"<[^>]*>")
# So much of the beginning and of the end of a long text has to stand on the page itself.
EDGE = 100


def page_of(approval: Approval) -> str:
    """The page on which a request is decided about, as olga gets it."""
    client = Client()
    client.force_login(get_user_model().objects.get(username="olga"))
    answer = client.get(f"/admin/approvals/approval/{approval.id}/change/")
    assert answer.status_code == 200
    return answer.content.decode()


def told_at_the_shell(approval: Approval) -> str:
    """What `manage.py approvals show` writes of it."""
    written = StringIO()
    call_command("approvals", "show", str(approval.id), stdout=written)
    return written.getvalue()


def hides_something(approval: Approval) -> bool:
    """Whether the page, or the shell, holds a letter that is not seen as itself, or leaves one out that is sent."""
    page = page_of(approval)
    if any(map(is_unseen, page + told_at_the_shell(approval))):
        return True
    seen = html.unescape(TAG.sub("", page))
    texts = [it for name, value in arguments_of(approval).items() for it in (name, str(value))]
    return not all(_is_told(it, seen) for it in texts)


def is_unseen(letter: str) -> bool:
    """Whether a screen shows nothing for a letter, or does something on it."""
    if letter in "\n\t":
        return False
    return unicodedata.category(letter) in UNSEEN or letter in BLANK


def _is_told(text: str, seen: str) -> bool:
    """Each unseen letter stands on the page as its number, and what lies between as it is."""
    for unseen, run in groupby(text, key=is_unseen):
        letters = "".join(run)
        if unseen:
            if not all(_is_written_out(it, seen) for it in letters):
                return False
        elif not all(it in seen for it in _edges(letters)):
            return False
    return True


def _is_written_out(letter: str, seen: str) -> bool:
    return f"U+{ord(letter):04X}" in seen or json.dumps(letter).strip('"') in seen


def _edges(text: str) -> list[str]:
    words = text.split()
    return [it[-EDGE:] for it in words if it] if len(text) <= EDGE else [words[0], words[-1]]
