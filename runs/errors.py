"""What can go wrong with a run, each with its code."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import LiyagentError


class LostLease(LiyagentError):
    """Another process took this run over; this attempt may write nothing more."""

    code = "run.lost_lease"
    http_status = HTTPStatus.CONFLICT


class NotStarted(LiyagentError):
    """The database is away: whether the run was stored is not known. Ask again with the same Idempotency-Key."""

    code = "run.not_started"
    http_status = HTTPStatus.SERVICE_UNAVAILABLE


class AgentContained(LiyagentError):
    """This agent, or everything, is contained, or it is switched off: nothing of it starts, resumes or sends."""

    code = "agent.contained"
    http_status = HTTPStatus.CONFLICT


class StartKeyReused(LiyagentError):
    """This Idempotency-Key was used before with another body."""

    code = "run.start_key_reused"
    http_status = HTTPStatus.CONFLICT


class CheckpointBroken(LiyagentError):
    """The checkpoint is not what this run wrote: a part is missing, older, or not its own."""

    code = "run.checkpoint_broken"
    http_status = HTTPStatus.CONFLICT


class RunNotFound(LiyagentError):
    """There is no run with this id."""

    code = "run.not_found"
    http_status = HTTPStatus.NOT_FOUND


def no_run(run_id: object) -> RunNotFound:
    """Return the error for a run that is not there, with what to do."""
    return RunNotFound(
        f"there is no run {run_id}; `GET /api/runs` and `manage.py runs list` show those there are, the newest first"
    )


class NotAnswered(LiyagentError):
    """The run that was waited for has not ended with an answer."""

    code = "run.not_answered"
    http_status = HTTPStatus.CONFLICT


class RunEnded(LiyagentError):
    """This run has already ended."""

    code = "run.ended"
    http_status = HTTPStatus.CONFLICT


class RunGoesOn(LiyagentError):
    """This run has not ended: it goes on by itself."""

    code = "run.goes_on"
    http_status = HTTPStatus.CONFLICT


class RunAnswered(LiyagentError):
    """This run has answered: nothing of it is left to go on with. Start a new one."""

    code = "run.answered"
    http_status = HTTPStatus.CONFLICT


class AlreadyContinued(LiyagentError):
    """Another run goes on from this one."""

    code = "run.already_continued"
    http_status = HTTPStatus.CONFLICT


class NotItsOwn(LiyagentError):
    """This run was asked for by another: go on with that one."""

    code = "run.not_its_own"
    http_status = HTTPStatus.CONFLICT


class OfWorkflow(LiyagentError):
    """A workflow goes the course of its definition: start a run of it anew, or approve its hand-off."""

    code = "run.of_workflow"
    http_status = HTTPStatus.CONFLICT


class WordsNotKept(LiyagentError):
    """Nothing of what was said in this run is kept, so nothing can go on from it. Start a new one."""

    code = "run.words_not_kept"
    http_status = HTTPStatus.CONFLICT


class NotAgain(LiyagentError):
    """What this run was given is not kept, so it cannot begin again. Start a new one, and close what this one left."""

    code = "run.not_again"
    http_status = HTTPStatus.CONFLICT


class UnknownWrites(LiyagentError):
    """Writes of this run are of unknown outcome: say what happened to each first, or go on despite them."""

    code = "run.unknown_writes"
    http_status = HTTPStatus.CONFLICT


class CallNotFound(LiyagentError):
    """There is no marked call with this id."""

    code = "call.not_found"
    http_status = HTTPStatus.NOT_FOUND


class CallUnderWay(LiyagentError):
    """Its run settles this call itself; a person says what happened once nobody else can."""

    code = "call.under_way"
    http_status = HTTPStatus.CONFLICT


class CallSettled(LiyagentError):
    """What became of this call is known already."""

    code = "call.settled"
    http_status = HTTPStatus.CONFLICT


class CallFound(LiyagentError):
    """This call was found at its vendor: it happened."""

    code = "call.found"
    http_status = HTTPStatus.CONFLICT


class NoReader(LiyagentError):
    """The tool of this call cannot be read back: look at the vendor, and say what happened."""

    code = "call.no_reader"
    http_status = HTTPStatus.CONFLICT
