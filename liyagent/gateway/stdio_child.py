"""The child that a server by stdio is: started with little of our environment, logged, and ended with all it started."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

import anyio

from liyagent.gateway.commands import Command, environment_for, executable_for

logger = logging.getLogger(__name__)

GUARD = str(Path(__file__).with_name("stdio_guard.py"))
CHUNK_BYTES = 64 << 10
# How long a child may go on after its input was closed, and after it was killed.
GRACE_SECONDS = 0.5
REAP_SECONDS = 2.0
# Of its standard error: the longest line, and how many lines of it in how many seconds.
LONGEST_WORDS = 2000
MOST_LINES = 100
LINES_SECONDS = 10.0
# Shorter values stand everywhere in ordinary words.
SHORTEST_SECRET = 6


class Child:
    """One running command. `stdin` is a file number that does not block; `words` what it complained with last."""

    def __init__(self, process: asyncio.subprocess.Process, stdin: int, log: ChildLog) -> None:
        """Take over what `start_child` started."""
        assert process.stdout is not None
        self.stdin = stdin
        self.stdout = process.stdout
        self._process = process
        self._log = log
        self._logging = asyncio.create_task(log.follow(process.stderr))

    @property
    def words(self) -> str:
        """The last lines of its standard error, "" where it said nothing."""
        return "; ".join(self._log.last)

    async def heard_out(self) -> None:
        """Wait a moment until all that it complained with is read; for a child whose output has ended."""
        await asyncio.wait([self._logging], timeout=GRACE_SECONDS)

    async def end(self) -> None:
        """Close its input, give it a moment to end by itself, then kill its whole process group."""
        os.close(self.stdin)
        try:
            with anyio.move_on_after(GRACE_SECONDS):
                while self._process.returncode is None:
                    await anyio.sleep(0.01)
        finally:
            # In any case: what it started itself may still be there.
            self.kill()
        with anyio.move_on_after(REAP_SECONDS, shield=True):
            await asyncio.wait([self._logging], timeout=GRACE_SECONDS)
            self._logging.cancel()
            # A pipe that was not read to its end would stay open.
            while await self.stdout.read(CHUNK_BYTES):
                pass
            while self._process.returncode is None:
                await anyio.sleep(0.01)

    def kill(self) -> None:
        """Kill the process group at once."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


async def start_child(command: Command, server: str) -> Child:
    """Start `command` behind the guard that ends it with us.

    Raises `BadInput` for a variable or a program that is not there, OSError where it cannot be started.
    """
    environment = environment_for(command)
    program = executable_for(command, environment)
    log = ChildLog(server, [environment[name] for name in command.env])
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", GUARD, str(os.getpid()), program, *command.args),
            stdin=read_end,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            cwd=command.cwd or None,
            start_new_session=True,
            limit=CHUNK_BYTES,
        )
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return Child(process, write_end, log)


class ChildLog:
    """What a child writes to its standard error, in our log: with its server's key, bounded, its secrets starred out."""

    def __init__(self, server: str, secrets: list[str]) -> None:
        """Begin with nothing said."""
        self.last: deque[str] = deque(maxlen=2)
        self._server = server
        self._secrets = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
        self._began = time.monotonic()
        self._logged = 0
        self._dropped = 0

    async def follow(self, stream: asyncio.StreamReader | None) -> None:
        """Log its lines until it ends."""
        assert stream is not None
        async for line in _lines(stream):
            self._say(line)
        self._tell_dropped()

    def _say(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if not text:
            return
        for secret in self._secrets:
            text = text.replace(secret, "***")
        self.last.append(text)
        now = time.monotonic()
        if now - self._began >= LINES_SECONDS:
            self._tell_dropped()
            self._began, self._logged = now, 0
        if self._logged < MOST_LINES:
            self._logged += 1
            logger.info("server %s says: %s", self._server, text)
        else:
            self._dropped += 1

    def _tell_dropped(self) -> None:
        if self._dropped:
            logger.warning("server %s said %d lines more", self._server, self._dropped)
        self._dropped = 0


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines of a stream, each cut at `LONGEST_WORDS`."""
    kept = b""
    while chunk := await stream.read(CHUNK_BYTES):
        *whole, rest = (kept + chunk).split(b"\n")
        for line in whole:
            yield line[:LONGEST_WORDS]
        kept = rest[:LONGEST_WORDS]
    yield kept
