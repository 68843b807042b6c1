"""Threads and snapshots as plain data for whoever may see them: bodies only for who may read words."""

from __future__ import annotations

import json
from typing import Any

from handoffs.content import Content
from handoffs.listing import Listed
from handoffs.models import Version
from handoffs.read_snapshot import SnapshotTold
from handoffs.read_thread import ThreadTold, VersionTold
from liyagent.core.plain import NotStorable, parse_json

NOT_FOR_YOU = "bodies are shown to who holds transcripts.content.read"
GONE = "it is gone"
NO_JSON = "what is stored is no JSON"


def shown_thread(told: ThreadTold, *, with_words: bool) -> dict[str, Any]:
    """Return a thread as its serializer takes it."""
    return {
        "thread": told.thread,
        "chain_holds": told.chain_holds,
        "problems": told.problems,
        "versions": [_version(it, with_words=with_words) for it in told.versions],
        "readings": told.readings,
        "more_readings": told.has_more_readings,
    }


def shown_snapshot(told: SnapshotTold, *, with_words: bool) -> dict[str, Any]:
    """Return a snapshot as its serializer takes it."""
    content = told.content
    return {
        **shown_content(content, is_verified=not told.flaw, with_words=with_words),
        "digest": told.digest,
        "verified": not told.flaw,
        "problem": told.flaw,
        "content": content.text() if content is not None and with_words else None,
        "versions": [{**facts_of(it.version), **_verdict(it.flaw)} for it in told.versions],
        "more_versions": told.has_more,
    }


def shown_listed(listed: Listed) -> dict[str, Any]:
    """Return a thread as the list shows it."""
    about = listed.about
    return {
        "thread": listed.first.thread,
        "sender": about and about.sender,
        "recipient": about and about.recipient,
        "kind": about and about.kind,
        "author": listed.first.author,
        "run_id": listed.first.run_id,
        "mission": listed.first.mission,
        "versions": listed.head.number,
        "opened_at": listed.first.at,
        "changed_at": listed.head.at,
    }


def shown_content(
    content: Content | None, *, is_verified: bool, with_words: bool, long: str = ""
) -> dict[str, Any]:
    """Return who handed over what; the body is None where `withheld` says why. `long`: why a body was not read."""
    body, withheld = None, GONE if content is None else long
    if content is not None and not with_words:
        withheld = NOT_FOR_YOU
    elif content is not None and not long:
        body, withheld = body_of(content, is_verified=is_verified)
    return {
        "sender": content and content.sender,
        "recipient": content and content.recipient,
        "kind": content and content.kind,
        "body": body,
        "withheld": withheld,
    }


def body_of(content: Content, *, is_verified: bool) -> tuple[Any, str]:
    """Return a body, and why it is not there. One that verifies is JSON; any other may be whatever somebody wrote."""
    if is_verified:
        return json.loads(content.body), ""
    try:
        return parse_json(content.body), ""
    except NotStorable:
        return None, NO_JSON


def _version(told: VersionTold, *, with_words: bool) -> dict[str, Any]:
    long = f"too long for one answer; `/api/handoff-snapshots/{told.version.snapshot_id}` has it"
    return {
        **facts_of(told.version),
        **shown_content(
            told.content,
            is_verified=not told.flaw,
            with_words=with_words,
            long=long if told.is_long else "",
        ),
        **_verdict(told.flaw),
    }


def facts_of(version: Version) -> dict[str, Any]:
    """Return the row of a version by the names that serializers read."""
    names = ("thread", "number", "snapshot_id", "parent", "author", "run_id", "correlation_id", "mission", "at")  # fmt: skip
    return {name: getattr(version, name) for name in names}


def _verdict(flaw: str) -> dict[str, Any]:
    return {"verified": not flaw, "problem": flaw}
