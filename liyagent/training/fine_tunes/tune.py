"""`fine_tune`: collect lines, upload them, create the endpoint's job, and ask how it goes; from its cursor on in any process.

The upload and the creation are writes without a key: each is marked before it is sent, and where nobody knows what became of it, it
is looked for at the endpoint. A job of the endpoint that is not found is never created again blindly: whoever is asked finds the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from liyagent.core.transactions import require_transaction
from liyagent.jobs.errors import JobFailed
from liyagent.jobs.handlers import HANDLERS, Handler, Step
from liyagent.jobs.models import Job, JobStatus
from liyagent.training.fine_tunes.ask import KIND, Wanted, refusal_of
from liyagent.training.fine_tunes.collect import Found, Line, collect
from liyagent.training.fine_tunes.errors import Busy, NotSent, Refused, Unclear
from liyagent.training.fine_tunes.models import Example
from liyagent.training.fine_tunes.vendor import Vendor, id_of
from liyagent.training.spans import database_now
from runs.checkpoint import keyring
from runs.sealed_rows import SEALED_ROWS, SealedRows

# OpenAI wants ten at least.
FEWEST_LINES = 10
# A mark may be sent for so long; after the second nothing of it is still on its way.
SEND_SECONDS, SETTLED_SECONDS = 20.0, 360.0
POLL_SECONDS, LOOK_SECONDS, AGAIN_SECONDS = 30.0, 10.0, 20.0
MOST_TRIES = 60
UNANSWERED, LONGEST = timedelta(days=1), timedelta(days=14)
FILE, JOB = "file", "job"
ENDED = ("succeeded", "failed", "cancelled")
ENDPOINT_ANSWERS = (NotSent, Busy, Refused, Unclear)
LONGEST_SUFFIX = 40
FORMAT = 1


@dataclass(slots=True, kw_only=True)
class At:
    """Where a fine-tuning is: what the cursor keeps. `sending` is the write that is marked, empty where none is."""

    found: dict[str, Any] = field(default_factory=dict)
    is_collected: bool = False
    sending: str = ""
    marked_at: str = ""
    tries: int = 0
    file_id: str = ""
    vendor_job: str = ""
    unanswered_since: str = ""
    model: str = ""

    def told(self) -> dict[str, Any]:
        """What came of it so far."""
        told = dict(Found(**self.found).told())
        named = {"file": self.file_id, "endpoint_job": self.vendor_job, "fine_tuned_model": self.model}  # fmt: skip
        return told | {name: value for name, value in named.items() if value}


class Tuning:
    """One take of a fine-tuning."""

    def __init__(self, job: Job) -> None:
        """`job.cursor` is where it goes on."""
        self.job = job
        self.wanted = Wanted(**job.params)
        self.at = At(**job.cursor)
        self.leaves_until = 0.0
        self.vendor = Vendor(
            base_url=self.wanted.base_url,
            api_key_env=self.wanted.api_key_env,
            may_leave=self._may_leave,
        )

    def steps(self) -> Iterator[Step]:
        """Yield what is left. Raises `JobFailed`."""
        refusal = refusal_of(self.wanted, asked_by=self.job.asked_by)
        if refusal:
            raise JobFailed(refusal)
        at = self.at
        if not at.is_collected:
            yield from self._collect()
        if not at.file_id:
            at.file_id = yield from self._write(FILE, self._upload, self.find_file)
            yield self._step(words=f"uploaded as {at.file_id}")
        if not at.vendor_job:
            at.vendor_job = yield from self._write(JOB, self._create, self.find_job)
            yield self._step(words=f"created as {at.vendor_job}")
        yield from self._watch()

    def find_file(self) -> str:
        """Return the id of our file at the endpoint, empty where none is listed."""
        mine = (it for it in self.vendor.files() if it.get("filename") == self.file_name)
        return next((id_of(it) for it in mine), "")

    def find_job(self) -> str:
        """Return the id of our job at the endpoint, empty where none is listed."""
        return next((id_of(it) for it in self.vendor.jobs() if self._is_mine(it)), "")

    def may_still_appear(self) -> bool:
        """Whether what was marked may still be on its way to the endpoint."""
        marked = datetime.fromisoformat(self.at.marked_at)
        return database_now() < marked + timedelta(seconds=SETTLED_SECONDS)

    @property
    def file_name(self) -> str:
        """The name of our file there: of this job alone."""
        return f"liyagent-{self.job.id}.jsonl"

    def _is_mine(self, it: dict[str, Any]) -> bool:
        metadata = it.get("metadata")
        named = metadata.get("liyagent_job") if isinstance(metadata, dict) else None
        return named == str(self.job.id) or (it.get("training_file") == self.at.file_id != "")

    def _collect(self) -> Iterator[Step]:
        found = Found(**self.at.found)
        for made in collect(self.wanted, found):
            first = found.lines - len(made)
            keep = partial(_keep_lines, self.job.id, first, made)
            self.at.found = asdict(found)
            yield self._step(words="reading transcripts", keep=keep)
        if found.lines < FEWEST_LINES:
            reasons = "; ".join(f"{count} {reason}" for reason, count in sorted(found.skipped.items()))  # fmt: skip
            raise JobFailed(f"{found.lines} transcripts can be used, and it takes {FEWEST_LINES} at least. Skipped: {reasons or 'none'}")  # fmt: skip
        self.at.found, self.at.is_collected = asdict(found), True

    def _write(self, what: str, send: Callable[[], str], find: Callable[[], str]) -> Generator[Step, None, str]:  # fmt: skip
        """Have something made at the endpoint once, and return its id; not settled yet."""
        at = self.at
        while True:
            if at.sending:
                made = yield from self._looked_for(what, find)
                if made:
                    break
            at.sending, at.marked_at = what, database_now().isoformat()
            began = time.monotonic()
            yield self._step(words=f"sending the {what}", is_mark=True)
            self.leaves_until = began + SEND_SECONDS
            try:
                made = send()
                break
            except Refused as error:
                at.sending = ""
                yield self._step(words=f"the endpoint took no {what}")
                raise JobFailed(f"the endpoint took no {what}: {error}") from None
            except (NotSent, Busy) as error:
                at.sending, at.tries = "", at.tries + 1
                if at.tries > MOST_TRIES:
                    raise JobFailed(f"the {what} could not be sent {at.tries} times: {error}") from None  # fmt: skip
                yield self._step(words=f"sent again later: {error}", again_in=AGAIN_SECONDS)
            except Unclear as error:
                words = f"in doubt whether the {what} is there: {error}"
                yield self._step(words=words, again_in=LOOK_SECONDS)
        at.sending, at.tries = "", 0
        return made

    def _looked_for(self, what: str, find: Callable[[], str]) -> Generator[Step, None, str]:
        """Return the id of what was marked, empty where it may be sent anew. Raises `JobFailed` where nobody can tell."""
        at = self.at
        while True:
            try:
                found = find()
            except ENDPOINT_ANSWERS as error:
                at.tries += 1
                if at.tries > MOST_TRIES:
                    raise JobFailed(self._untold(f"the endpoint does not list what it has: {error}")) from None  # fmt: skip
                words = f"in doubt whether the {what} is there, and looked again: {error}"
                yield self._step(words=words, again_in=AGAIN_SECONDS)
                continue
            if found:
                return found
            if self.may_still_appear():
                words = f"in doubt whether the {what} is there: not yet, looked again"
                yield self._step(words=words, again_in=LOOK_SECONDS)
            elif what == JOB:
                raise JobFailed(self._untold("none is listed"))
            else:
                # A file alone does nothing, and costs nothing: an orphan of it is harmless.
                at.sending = ""
                return ""

    def _untold(self, why: str) -> str:
        where = self.wanted.base_url or "OpenAI"
        return (
            f"nobody can tell whether {where} made the fine-tuning job ({why}). Look there for a job of file {self.at.file_id}, or with "
            f"metadata liyagent_job={self.job.id}; where there is none, ask for the fine-tuning anew"
        )

    def _upload(self) -> str:
        rows = Example.objects.filter(job_id=self.job.id).order_by("number")
        content = b"".join(_opened(it) + b"\n" for it in rows.iterator(chunk_size=200))
        return self.vendor.upload(self.file_name, content)

    def _create(self) -> str:
        suffix = f"{self.wanted.agent[: LONGEST_SUFFIX - 9]}-{self.job.id.hex[-8:]}"
        return self.vendor.create(
            {
                "training_file": self.at.file_id,
                "model": self.wanted.model,
                "suffix": suffix,
                "metadata": {"liyagent_job": str(self.job.id)},
            }
        )

    def _watch(self) -> Iterator[Step]:
        at = self.at
        while not at.model:
            try:
                said = self.vendor.job(at.vendor_job)
            except ENDPOINT_ANSWERS as error:
                self._check_patience(error)
                yield self._step(words=f"asked again: {error}", again_in=POLL_SECONDS)
                continue
            at.unanswered_since = ""
            at.model = self._made_of(said)
            if at.model:
                yield self._step(words=f"the model is {at.model}")
            elif database_now() > self.job.created_at + LONGEST:
                raise JobFailed(f"the endpoint's job {at.vendor_job} has not ended in {LONGEST.days} days")  # fmt: skip
            else:
                words = f"the endpoint's job {at.vendor_job} is {str(said.get('status'))[:60]}"
                yield self._step(words=words, again_in=POLL_SECONDS)

    def _made_of(self, said: dict[str, Any]) -> str:
        """The model's name, empty where there is none yet. Raises `JobFailed`."""
        status, job = said.get("status"), self.at.vendor_job
        if status == "cancelled":
            raise JobFailed(f"the job {job} was cancelled at the endpoint")
        if status == "failed":
            error = said.get("error")
            why = error.get("message") if isinstance(error, dict) else error
            raise JobFailed(f"the endpoint failed the job {job}: {str(why or 'it does not say why')[:300]}")  # fmt: skip
        model = said.get("fine_tuned_model")
        if status == "succeeded" and not (isinstance(model, str) and model):
            raise JobFailed(f"the job {job} succeeded, and names no model; look for it at the endpoint")  # fmt: skip
        return str(model) if status == "succeeded" else ""

    def _check_patience(self, error: Exception) -> None:
        now = database_now()
        since = datetime.fromisoformat(self.at.unanswered_since or now.isoformat())
        self.at.unanswered_since = since.isoformat()
        if now - since > UNANSWERED:
            raise JobFailed(f"the endpoint has told nothing of its job {self.at.vendor_job} for a day: {error}")  # fmt: skip

    def _may_leave(self) -> None:
        if time.monotonic() > self.leaves_until:
            raise NotSent("the mark is too old to be sent by")

    def _step(self, **facts: Any) -> Step:
        found = Found(**self.at.found)
        return Step(
            cursor=asdict(self.at),
            done=found.looked_at,
            total=found.total,
            result=self.at.told(),
            **facts,
        )


def _keep_lines(job_id: UUID, first: int, made: list[Line]) -> None:
    require_transaction("keeping lines")
    ring = keyring()
    sealer = ring.sealer(key_id=ring.newest, run_id=job_id, format_number=FORMAT)
    Example.objects.bulk_create(
        Example(
            job_id=job_id,
            number=number,
            run_id=run_id,
            key_id=ring.newest,
            sealed=sealer.seal(line.decode(), kind="example", number=number),
        )
        for number, (run_id, line) in enumerate(made, start=first)
    )


def _opened(row: Example) -> bytes:
    sealer = keyring().sealer(key_id=row.key_id, run_id=row.job_id, format_number=FORMAT)
    text: str = sealer.open(row.sealed, kind="example", number=row.number)
    return text.encode()


def fine_tune(job: Job) -> Iterator[Step]:
    """Yield the steps that are left of a fine-tuning."""
    return Tuning(job).steps()


def after_end(job: Job) -> float:
    """Forget the lines; end the endpoint's job where ours did not come to its end, and have the file deleted there."""
    Example.objects.filter(job_id=job.id).delete()
    if job.status == JobStatus.DONE or not job.cursor:
        return 0.0
    tuning = Tuning(job)
    tuning.leaves_until = time.monotonic() + SEND_SECONDS
    at = tuning.at
    vendor_job, file_id = at.vendor_job, at.file_id
    if at.sending == JOB:
        vendor_job = tuning.find_job()
    elif at.sending == FILE:
        file_id = tuning.find_file()
    is_open = bool(at.sending) and not (vendor_job or (at.sending == FILE and file_id))
    if is_open and tuning.may_still_appear():
        return LOOK_SECONDS
    if vendor_job and tuning.vendor.job(vendor_job).get("status") not in ENDED:
        tuning.vendor.cancel(vendor_job)
    if file_id:
        tuning.vendor.delete_file(file_id)
    return 0.0


HANDLERS[KIND] = Handler(steps=fine_tune, after_end=after_end)
SEALED_ROWS.append(
    SealedRows(model=Example, kind="example", of="job_id", number="number", format_number=FORMAT)
)
