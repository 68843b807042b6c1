"""A person who asks the survivor, over its API and again and again, to undo what a run did."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from typing import Self
from urllib.parse import urlsplit
from uuid import UUID

PAUSE_SECONDS = 0.05
ANSWER_SECONDS = 20.0
# Begun or found at it; and what is told where there is nothing to do, or not yet.
UNDERSTOOD = frozenset({200, 202, 404, 409})


class Pressing:
    """Asks from a thread of its own until the block ends."""

    def __init__(self, url: str, token: str, saga: UUID, *, is_wanted: bool) -> None:
        """`is_wanted`: whether anybody asks at all."""
        self.answers: Counter[int] = Counter()
        self._address = urlsplit(url).netloc
        self._path = f"/api/sagas/{saga}/compensate"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._press) if is_wanted else None

    def __enter__(self) -> Self:
        """Begin to ask."""
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_how: object) -> None:
        """Ask no more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def broken(self) -> list[str]:
        """Answers that nobody should get."""
        odd = {status: times for status, times in self.answers.items() if status not in UNDERSTOOD}
        return [f"asked to compensate: answered with {odd}"] if odd else []

    def ask_once(self) -> int:
        """Ask; the status of the answer, 0 for none."""
        connection = http.client.HTTPConnection(self._address, timeout=ANSWER_SECONDS)
        try:
            connection.request("POST", self._path, body=b"{}", headers=self._headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            status = 0
        finally:
            connection.close()
        self.answers[status] += 1
        return status

    def _press(self) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            self.ask_once()
