"""Keep what was read of a document; forget those that are gone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import psycopg
from django.db import OperationalError, connection, transaction

from liyagent.core.transactions import require_transaction
from liyagent.jobs.sources.models import Source
from liyagent.jobs.sources.origin import Content
from liyagent.jobs.sources.text import Text, text_of

# Raised where texts are read differently: all are then read anew.
READING = 1
# Of a text with more different words than PostgreSQL indexes at once.
FEWER_CHARACTERS = 20_000

KEEP = """
INSERT INTO sources_document AS d (source_id, path, digest, title, text, is_cut, fetched_at)
    SELECT id, %s, %s, %s, %s, %s, liyagent_now() FROM sources_source WHERE id = %s FOR KEY SHARE
    ON CONFLICT (source_id, path) DO UPDATE SET digest = EXCLUDED.digest, title = EXCLUDED.title, text = EXCLUDED.text,
        is_cut = EXCLUDED.is_cut, fetched_at = EXCLUDED.fetched_at
"""
FORGET = "DELETE FROM sources_document WHERE source_id = %s AND path = ANY(%s)"


def digest_of(content: Content) -> str:
    """Return the digest of what was fetched and of how it is read."""
    how = f"{READING} {int(content.is_html)} {content.title}\x00".encode()
    return hashlib.sha256(how + content.content).hexdigest()


def keep_document(source: Source, path: str, content: Content, digest: str) -> None:
    """Write one document, new or changed, in the transaction of the step."""
    require_transaction("keeping a document")
    text = text_of(content.content, is_html=content.is_html, title=content.title or path)
    try:
        with transaction.atomic():
            _write(source, path, digest, text)
    except OperationalError as error:
        if not isinstance(error.__cause__, psycopg.errors.ProgramLimitExceeded):
            raise
        short = Text(title=text.title, text=text.text[:FEWER_CHARACTERS], is_cut=True)
        _write(source, path, digest, short)


def forget_documents(source: Source, paths: Sequence[str]) -> None:
    """Forget documents that are gone, in the transaction of the step."""
    require_transaction("forgetting documents")
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [source.id, list(paths)])


def _write(source: Source, path: str, digest: str, text: Text) -> None:
    with connection.cursor() as cursor:
        cursor.execute(KEEP, [path, digest, text.title, text.text, text.is_cut, source.id])
