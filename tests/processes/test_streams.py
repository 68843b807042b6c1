"""A listener whose process dies, or drains, goes on at the other one and hears each event once."""

from __future__ import annotations

import http.client
import signal
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from tests.flows.serving import Stream, Told
from tests.processes.place import Place

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180)]
NUMBERS = "SELECT number FROM events_runevent WHERE run_id = %s ORDER BY number"


def listen(place: Place, at: str, run: UUID, last: str = "0") -> Stream:
    """Open the run's stream at a process, from after the event `last` on."""
    listening = Stream(port=urlsplit(place.stage.url(at)).port or 0, token=place.stage.token)
    assert listening.open(f"/api/runs/{run}/stream", Last_Event_ID=last) == 200
    return listening


def until_broken(listening: Stream) -> list[Told]:
    """Return all that is told until the connection breaks or the stream ends."""
    told: list[Told] = []
    try:
        told += [it for it in listening.blocks() if it.event]
    except (OSError, http.client.HTTPException):
        return told
    return told


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_listener_goes_on_at_the_other_process_and_hears_each_event_once(
    place: Place, how: signal.Signals
) -> None:
    place.stage.vendors.set_pace("incident", before_ms=0, after_ms=3000)  # longer than A drains
    (run,) = place.start_runs("keyed", at="A")
    first = listen(place, "A", run)
    heard = first.events(2)
    place.stage.signal("A", how)
    heard += until_broken(first)
    place.stage.wait_gone("A")
    place.stage.set_pace(0)
    second = listen(place, "B", run, heard[-1].id)
    heard += second.events()
    assert heard[-1].event == "end"
    assert heard[-1].data["status"] == "answered"
    numbers = [int(it.id) for it in heard[:-1]]
    assert numbers == [it["number"] for it in place.watch.rows(NUMBERS, [run])]
