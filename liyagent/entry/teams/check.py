"""Whether a bot could receive and answer: its keys and its own token are fetched, nothing is posted."""

from __future__ import annotations

from liyagent.core.errors import LiyagentError
from liyagent.entry.teams.connector import TOKENS
from liyagent.entry.teams.keys import read_keys
from liyagent.entry.teams.models import TeamsBot


class BotAmiss(LiyagentError):
    """A bot is not as it should be."""

    code = "teams.bot_amiss"


def check_bot(bot: TeamsBot) -> list[str]:
    """Return what was found, a line each. Raises `BotAmiss` with all of it where something is missing."""
    lines, amiss = [], False
    try:
        keys = read_keys(bot.metadata_url)
        lines.append(f"{len(keys)} signing keys can be read at {bot.metadata_url}")
    except LiyagentError as error:
        lines.append(f"no signing keys: {error}")
        amiss = True
    try:
        TOKENS.forget(bot)
        TOKENS.token(bot)
        lines.append(f"a token is given out at {bot.tokens_from}")
    except LiyagentError as error:
        lines.append(f"no token: {error}")
        amiss = True
    if not bot.is_enabled:
        lines.append("it is switched off")
    if amiss:
        raise BotAmiss("; ".join(lines))
    return lines
