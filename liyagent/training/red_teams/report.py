"""What a red team found: each prompt with its verdict, and the evidence for who may read words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection

from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.jobs.ask import find_job
from liyagent.jobs.errors import JobUnknown
from liyagent.jobs.models import Job
from liyagent.training.red_teams.ask import KIND
from liyagent.training.red_teams.models import Finding
from liyagent.training.red_teams.prompts import all_prompts
from liyagent.training.red_teams.trial import FORMAT
from runs.checkpoint import keyring

MOST_FINDINGS = 200
# Past their job, which is forgotten 90 days after its end.
FORGET_SECONDS, MOST_A_LOOK = 97 * 86_400.0, 500
FORGET = """
DELETE FROM red_teams_finding WHERE id IN (SELECT id FROM red_teams_finding
    WHERE created_at < (SELECT liyagent_now()) - make_interval(secs => %s) ORDER BY created_at LIMIT %s)
"""


def find_red_team(job_id: str | UUID) -> Job:
    """Return the job of a red team. Raises `JobUnknown`."""
    job = find_job(job_id)
    if job.kind != KIND:
        raise JobUnknown(f"job {job.id} is no red team, but a {job.kind}")
    return job


def findings_of(job: Job) -> list[Finding]:
    """Return what was found, in the order of the prompts."""
    return list(Finding.objects.filter(job_id=job.id).order_by("number")[:MOST_FINDINGS])


def evidence_of(finding: Finding) -> list[dict[str, Any]]:
    """Return what was said, for who may read words; where it cannot be opened, why."""
    try:
        sealer = keyring().sealer(key_id=finding.key_id, run_id=finding.job_id, format_number=FORMAT)  # fmt: skip
        said: list[dict[str, Any]] = sealer.open(finding.sealed, kind="finding", number=finding.number)  # fmt: skip
    except (KeyMissing, SealBroken) as error:
        return [{"role": "system", "text": f"cannot be opened: {error.title}"}]
    return said


def task_of(finding: Finding) -> str:
    """Return the prompt as it stands now, empty where the product has it no more."""
    return next((it.task for it in all_prompts() if it.id == finding.prompt), "")


def forget_findings(_give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Forget at most `limit` findings of long ago, and return how many went."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [FORGET_SECONDS, limit])
        return int(cursor.rowcount)
