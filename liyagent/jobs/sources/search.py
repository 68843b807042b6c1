"""Search the documents that an agent may see, by PostgreSQL's full text search."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from django.db import OperationalError, connection, transaction

from liyagent.core.errors import LiyagentError
from liyagent.jobs.sources.models import LANGUAGE, Source

LONGEST_QUERY = 500
MOST_FOUND = 20
# Of more than these that fit, the best of them is told: ranking costs by the document.
MOST_RANKED = 2000
SECONDS = 5
SNIPPET = "StartSel='', StopSel='', MaxFragments=2, MaxWords=40, MinWords=15, ShortWord=0, FragmentDelimiter=' ... '"
# A snippet is looked for in the beginning of a long text: that costs by the character.
SNIPPET_CHARACTERS = 50_000

SEARCH = """
WITH asked AS (SELECT websearch_to_tsquery(%(language)s, %(query)s) AS query), fitting AS (
    SELECT d.id, ts_rank_cd(d.search, asked.query, 1) AS rank FROM sources_document d, asked
        WHERE d.search @@ asked.query AND d.source_id = ANY(%(sources)s) LIMIT %(ranked)s
), best AS (
    SELECT id, rank FROM fitting ORDER BY rank DESC, id LIMIT %(limit)s
)
SELECT s.key, d.path, d.title, ts_headline(%(language)s, left(d.text, %(characters)s), asked.query, %(snippet)s), d.fetched_at
    FROM best JOIN sources_document d ON d.id = best.id JOIN sources_source s ON s.id = d.source_id, asked
    ORDER BY best.rank DESC, best.id
"""


class SearchTooSlow(LiyagentError):
    """The search takes too long; ask with rarer words."""

    code = "sources.search_too_slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A document that fits; `snippet` are its words around those asked for."""

    source: str
    path: str
    title: str
    snippet: str
    fetched_at: str


def sources_of(agent: str) -> list[Source]:
    """Return the sources that name an agent."""
    found = Source.objects.order_by("key")
    return [it for it in found if any(fnmatchcase(agent, pattern) for pattern in it.agents)]


def search_documents(agent: str, query: str, *, limit: int) -> list[Found]:
    """Return what fits best of the sources that name `agent`, at most `limit`.

    `query` as people write it: words, "a phrase", or, -not. Raises `SearchTooSlow` after 5 s.
    """
    values: dict[str, Any] = {
        "language": LANGUAGE,
        "query": query[:LONGEST_QUERY],
        "sources": [it.id for it in sources_of(agent)],
        "ranked": MOST_RANKED,
        "limit": min(limit, MOST_FOUND),
        "characters": SNIPPET_CHARACTERS,
        "snippet": SNIPPET,
    }
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{SECONDS}s'")
            cursor.execute(SEARCH, values)
            rows = cursor.fetchall()
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
    except OperationalError as error:
        if "statement timeout" in str(error):
            raise SearchTooSlow from None
        raise
    return [
        Found(
            source=key, path=path, title=title, snippet=snippet, fetched_at=fetched_at.isoformat()
        )
        for key, path, title, snippet, fetched_at in rows
    ]
