"""What each process does for Teams; imported when the process starts."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection

from liyagent.entry.hand_on import hand_on_by
from liyagent.entry.teams.deliver import receiver_of, send
from liyagent.entry.teams.keys import signing_keys
from liyagent.entry.teams.models import WAY, TeamsBot
from runs.rounds import ROUNDS, Round

KEPT_DAYS = 90
MOST_FORGOTTEN = 500
MOST_ADDRESSES = 100
# A turn is kept as long as it goes on, and as history for a while.
FORGET = """
DELETE FROM teams_teamsturn WHERE run_id IN (SELECT t.run_id FROM teams_teamsturn t
    WHERE t.created_at < liyagent_now() - make_interval(days => %s) AND NOT EXISTS (
        SELECT 1 FROM entry_arrival a WHERE a.run_id = t.run_id AND a.state IN ('received', 'started'))
    ORDER BY t.created_at LIMIT %s FOR UPDATE SKIP LOCKED)
"""


def forget_turns(_give_up: Callable[[], bool]) -> int:
    """Forget turns that ended and are 90 days old, at most 500 a look; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [KEPT_DAYS, MOST_FORGOTTEN])
        return int(cursor.rowcount)


def keep_keys(give_up: Callable[[], bool]) -> int:
    """Have the channel's keys of every bot that receives, so that no message waits for them; return of how many."""
    bots = TeamsBot.objects.filter(is_enabled=True).order_by("metadata_url")
    addresses = list(bots.values_list("metadata_url", flat=True).distinct()[:MOST_ADDRESSES])
    for address in addresses:
        if give_up():
            break
        signing_keys(address).keep_fresh()
    return len(addresses)


hand_on_by(WAY, send, receiver=receiver_of)
ROUNDS["teams keys"] = Round(look=keep_keys)
ROUNDS["teams turns"] = Round(look=forget_turns)
