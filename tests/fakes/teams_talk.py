"""Talk to a bot without Teams: the local connector with a person at the keyboard.

`python -m tests.fakes.teams_talk --app http://127.0.0.1:8001`: a line is said to the bot, `approve` and `reject` press the
last card that waits. What the bot shows is printed as it changes. At the end of input, it ends once all is answered.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.fakes.teams_channel import APP_ID, PERSON, TENANT, Channel
from tests.fakes.teams_connector import SECRET, Shown, TeamsConnector

PORT = 3978
BUTTONS = frozenset({"approve", "reject"})
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.1


class Screen:
    """Prints what stands in the conversation, each message anew when it changes."""

    def __init__(self, connector: TeamsConnector) -> None:
        self.connector = connector
        self.ended = threading.Event()
        self._seen: dict[str, int] = {}

    def show(self) -> None:
        """Print what is new since the last look."""
        for it in self.connector.messages():
            if self._seen.get(it.id, 0) < len(it.forms):
                self._seen[it.id] = len(it.forms)
                for line in told(it):
                    sys.stdout.write(f"{it.id}  {line}\n")
                sys.stdout.flush()

    def look_until_ended(self) -> None:
        while not self.ended.wait(LOOK_SECONDS):
            self.show()
        self.show()


def told(shown: Shown) -> list[str]:
    """What a message says, a line each; buttons in brackets."""
    lines = [shown.text] if shown.text else []
    for block in (shown.card or {}).get("body", []):
        lines += ["".join(it["text"] for it in block["inlines"])] if "inlines" in block else []
    buttons = " ".join(f"[{it['title']}]" for it in shown.buttons)
    return [*lines, *([buttons] if buttons else [])]


def until(holds: Callable[[], Any]) -> Any:
    """Return what is asked for once it is so, or what it is after a minute."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not (found := holds()) and time.monotonic() < give_up:
        time.sleep(LOOK_SECONDS)
    return found


def waiting(connector: TeamsConnector) -> Shown | None:
    """The newest card that can be decided by."""
    return next((it for it in reversed(connector.messages()) if it.buttons), None)


def press(connector: TeamsConnector, channel: Channel, app: str, verb: str) -> str:
    card = until(lambda: waiting(connector))
    if card is None:
        return "there is no card to press"
    button = next(it for it in card.buttons if it["verb"] == verb)
    answer = channel.send(app, channel.press(button, card=card.id)).json()
    value = answer.get("value")
    if not isinstance(value, dict):
        return str(value or answer)
    card.forms.append({"attachments": [{"content": value}]})
    return f"{verb} is pressed"


def is_all_answered(connector: TeamsConnector) -> bool:
    """Whether each place that was held has its answer, and each card what became of it."""
    shown = connector.messages()
    return bool(shown) and all(len(it.forms) > 1 for it in shown)


def main() -> None:
    """Listen, and talk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--app", default="http://127.0.0.1:8001", help="an app process")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--app-id", default=APP_ID)
    parser.add_argument("--tenant", default=TENANT)
    parser.add_argument("--secret", default=SECRET)
    parser.add_argument("--person", default=PERSON, help="the account of who talks")
    given = parser.parse_args()
    facts = {"app_id": given.app_id, "tenant": given.tenant, "secret": given.secret}
    with TeamsConnector(port=given.port, **facts) as connector:
        channel, screen = connector.channel(person=given.person), Screen(connector)
        looking = threading.Thread(target=screen.look_until_ended)
        looking.start()
        try:
            for line in map(str.strip, sys.stdin):
                if line in BUTTONS:
                    sys.stdout.write(f"{press(connector, channel, given.app, line)}\n")
                elif line:
                    answer = channel.send(given.app, channel.message(line))
                    sys.stdout.write(f"said: HTTP {answer.status_code}\n")
            until(lambda: is_all_answered(connector))
        finally:
            screen.ended.set()
            looking.join()


if __name__ == "__main__":
    main()
