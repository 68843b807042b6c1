"""An activity of the channel, read and checked once, where it enters."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from liyagent.core.canonical import canonical
from liyagent.entry.teams.errors import ActivityMisshapen, NothingSaid

MESSAGE, INVOKE = "message", "invoke"
TEAMS = "msteams"
LONGEST_TYPE, LONGEST_ID, LONGEST_CONVERSATION, LONGEST_TEXT = 80, 255, 300, 50_000
BOT_PREFIX = "28:"
# What stands between a channel's conversation and the message that a thread of it began with.
OF_THREAD = ";messageid="
OTHER_MENTION = re.compile(r"</?at(?:\s[^<>]*)?>", re.IGNORECASE)
SPACES = str.maketrans({"\xa0": " "})


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What came in. Of those that are neither message nor invoke only `type`, `channel` and `service_url` are sure."""

    type: str
    channel: str
    service_url: str
    id: str
    conversation: str
    tenant: str
    person: str
    recipient: str
    raw: dict[str, Any]

    @property
    def delivery_id(self) -> str:
        """What the channel names it by, however often it is sent: ids of activities are its conversation's."""
        return hashlib.sha256(canonical([self.conversation, self.id])).hexdigest()

    @property
    def app_id(self) -> str:
        """The app id of the bot that it is for; in Teams its account is `28:<app id>`."""
        return self.recipient.removeprefix(BOT_PREFIX).lower()


def read_activity(body: Any) -> Activity:
    """Return an activity. Raises `ActivityMisshapen` that names the field and what it wants."""
    if not isinstance(body, dict):
        raise ActivityMisshapen("the body wants an object: an activity of the Bot Framework")
    kind = _text(body, "type", LONGEST_TYPE)
    is_used = kind in {MESSAGE, INVOKE}
    return Activity(
        type=kind,
        channel=_text(body, "channelId", LONGEST_TYPE),
        service_url=_text(body, "serviceUrl", LONGEST_CONVERSATION),
        id=_text(body, "id", LONGEST_ID, is_needed=is_used),
        conversation=_text(body, "conversation.id", LONGEST_CONVERSATION, is_needed=is_used),
        tenant=_tenant(body),
        person=_text(body, "from.aadObjectId", LONGEST_TYPE, is_needed=False).lower(),
        recipient=_text(body, "recipient.id", LONGEST_CONVERSATION, is_needed=is_used),
        raw=body,
    )


def said_to(activity: Activity) -> str:
    """Return what a message says to the bot: mentions of it taken out, others by their names.

    Raises `NothingSaid`, and `ActivityMisshapen` where its text cannot be used.
    """
    text = activity.raw.get("text")
    if text is None:
        text = ""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise ActivityMisshapen(f"text wants a text of {LONGEST_TEXT} characters at most")
    for mention in _mentions(activity):
        text = text.replace(mention, "")
    text = OTHER_MENTION.sub("", text).replace("&nbsp;", " ").translate(SPACES).strip()
    if not text:
        raise NothingSaid("text is empty without the mention; it wants what the agent is asked")
    return text


def base_of(conversation: str) -> str:
    """Return a conversation without the thread of it that is meant."""
    return conversation.partition(OF_THREAD)[0]


def _mentions(activity: Activity) -> list[str]:
    """The texts by which the bot itself is mentioned."""
    entities = activity.raw.get("entities")
    found = []
    for it in entities if isinstance(entities, list) else ():
        mentioned = it.get("mentioned") if isinstance(it, dict) else None
        is_ours = isinstance(mentioned, dict) and mentioned.get("id") == activity.recipient
        if is_ours and it.get("type") == "mention" and isinstance(it.get("text"), str):
            found.append(it["text"])
    return [it for it in found if it]


def _tenant(body: dict[str, Any]) -> str:
    return (
        _text(body, "conversation.tenantId", LONGEST_TYPE, is_needed=False)
        or _text(body, "channelData.tenant.id", LONGEST_TYPE, is_needed=False)
    ).lower()


def _text(body: dict[str, Any], path: str, longest: int, *, is_needed: bool = True) -> str:
    value: Any = body
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None and not is_needed:
        return ""
    if not isinstance(value, str) or len(value) > longest or (is_needed and not value):
        raise ActivityMisshapen(f"{path} wants a text of 1 to {longest} characters")
    return value
