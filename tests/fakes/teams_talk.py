"""Talk to a bot without Teams: the local connector with a person at the keyboard.

`python -m tests.fakes.teams_talk --app http://127.0.0.1:8001`: a line is said to the bot, `approve` and `reject` press the
last card that waits. What the bot shows is printed as it changes. At the end of input, it ends once all is answered.
What is answered with 429 or 503 is said again after the time that the app names, as the channel does. The key that it signs
with stays in a file, so that an app process that knows it from the last talk knows it in the next one.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes.teams_channel import APP_ID, PERSON, TENANT, Answered, Channel, kept_key
from tests.fakes.teams_connector import SECRET, Shown, TeamsConnector

PORT = 3978
BUTTONS = frozenset({"approve", "reject"})
PATIENCE_SECONDS = 60.0
KEY_FILE = Path(os.environ.get("LIYAGENT_STATE_DIR") or ".liyagent") / "teams-connector.pem"
LATER = frozenset({429, 503})
# A process asks for keys that it could not read once a minute.
MOST_TRIES, LONGEST_WAIT_SECONDS = 4, 60.0
LOOK_SECONDS = 0.1


class Screen:
    """Prints what stands in the conversation, each message anew in every form that it takes, however short it stood."""

    def __init__(self, connector: TeamsConnector) -> None:
        self.connector = connector
        self.ended = threading.Event()
        self._seen: dict[str, int] = {}

    def show(self) -> None:
        """Print what is new since the last look."""
        for it in self.connector.messages():
            for number in range(self._seen.get(it.id, 0), len(it.forms)):
                self._seen[it.id] = number + 1
                for line in told(replace(it, forms=it.forms[: number + 1])):
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


def send(channel: Channel, app: str, activity: dict[str, Any], key: str) -> Answered:
    """Send an activity, and the very same again where the app says that it comes too early."""
    for left in reversed(range(MOST_TRIES)):
        answer = channel.send(app, activity, token=channel.token(key=key))
        if answer.status_code not in LATER or not left:
            break
        seconds = min(float(answer.headers.get("retry-after", "1")), LONGEST_WAIT_SECONDS)
        sys.stdout.write(
            f"HTTP {answer.status_code}, said again in {seconds:.0f} s: {words(answer)}\n"
        )
        sys.stdout.flush()
        time.sleep(seconds)
    return answer


def words(answer: Answered) -> str:
    """Why the app did not take it."""
    told = answer.json() if answer.content and answer.status_code != 200 else None
    return str(told.get("detail", told)) if isinstance(told, dict) else ""


def press(connector: TeamsConnector, channel: Channel, app: str, verb: str, key: str) -> str:
    card = until(lambda: waiting(connector))
    if card is None:
        return "there is no card to press"
    button = next(it for it in card.buttons if it["verb"] == verb)
    answer = send(channel, app, channel.press(button, card=card.id), key).json()
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
    parser.add_argument("--key-file", type=Path, default=KEY_FILE, help="what it signs with")
    given = parser.parse_args()
    key = kept_key(given.key_file)
    taken = True
    facts = {"app_id": given.app_id, "tenant": given.tenant, "secret": given.secret}
    with TeamsConnector(port=given.port, **facts) as connector:
        connector.keys = [key]
        channel, screen = connector.channel(person=given.person), Screen(connector)
        looking = threading.Thread(target=screen.look_until_ended)
        looking.start()
        try:
            for line in map(str.strip, sys.stdin):
                if line in BUTTONS:
                    sys.stdout.write(f"{press(connector, channel, given.app, line, key)}\n")
                elif line:
                    answer = send(channel, given.app, channel.message(line), key)
                    taken = answer.status_code == 200
                    sys.stdout.write(
                        f"said: HTTP {answer.status_code} {words(answer)}".rstrip() + "\n"
                    )
                sys.stdout.flush()
                if not taken:
                    break
            if taken and not until(lambda: is_all_answered(connector)):
                sys.stdout.write("not all is answered yet; a card that waits is decided in the console too\n")  # fmt: skip
        finally:
            screen.ended.set()
            looking.join()
    sys.exit(0 if taken else 1)


if __name__ == "__main__":
    main()
