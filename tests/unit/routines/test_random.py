"""Whatever runs passed and were answered: no compiled routine gives an argument that one of its source runs contradicts."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings

from liyagent.core.canonical import canonical, digest
from liyagent.workflows.check import problems_of
from routines.compile import compile_routine
from routines.recorded import RecordedRun
from routines.score import score
from tests.unit.routines.drawn import as_the_database_keeps, carried_out, given_by, patterns

# More of them: ROUTINE_TABLES=20000.
TABLES = int(os.environ.get("ROUTINE_TABLES", "150"))
many = settings(
    max_examples=TABLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip


@pytest.mark.promise("RT-02", "RT-03")
@pytest.mark.field("FL-91")
@many
@given(patterns())
def test_no_compiled_routine_gives_an_argument_that_one_of_its_source_runs_contradicts(
    runs: list[RecordedRun],
) -> None:
    compiled = compile_routine(runs, agent="desk")
    assert (compiled.withheld, problems_of(compiled.definition)) == ("", [])
    assert sorted(compiled.runs) == [it.id for it in runs]
    for run in runs:
        made = carried_out(compiled, run)
        for args, call in zip(made, run.calls, strict=True):
            assert canonical(args) == canonical(call.args)


@many
@given(patterns())
def test_its_score_over_its_source_runs_is_full(runs: list[RecordedRun]) -> None:
    compiled = compile_routine(runs, agent="desk")
    found = score(compiled.definition, runs)
    assert (found.runs, found.runs_matched, found.mismatches) == (len(runs), len(runs), ())
    assert (found.calls, found.calls_matched) == (sum(len(it.calls) for it in runs),) * 2


@pytest.mark.field("FL-94")
@many
@given(patterns())
def test_what_it_compiles_to_does_not_depend_on_the_order_of_runs_and_keeps_its_digest_in_the_database(
    runs: list[RecordedRun],
) -> None:
    compiled = compile_routine(runs, agent="desk")
    others = random.Random(7).sample(runs, len(runs))
    assert compile_routine(others, agent="desk") == compiled
    assert digest(as_the_database_keeps(compiled.definition)) == compiled.digest


@many
@given(patterns())
def test_places_that_share_their_values_share_one_parameter_and_its_name_is_valid(
    runs: list[RecordedRun],
) -> None:
    compiled = compile_routine(runs, agent="desk")
    names = [it.name for it in compiled.parameters]
    assert len(set(names)) == len(names)
    values = [canonical([given_by(compiled, run)[name] for run in runs]) for name in names]
    assert len(set(values)) == len(values)
    for name in names:
        assert name.isascii()
        assert name.isidentifier()
        assert len(name) <= 64
