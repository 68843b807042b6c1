"""The API does what `/api/schema` says, whatever is sent: no 5xx, nothing undocumented, nothing open.

`make fuzz` runs this file with many more examples: `FUZZ_EXAMPLES`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from liyagent.access.keys import create_key
from liyagent.access.openapi import NEEDS
from liyagent.access.schema_api import schema as described
from liyagent.access.views import GuardedView, UnknownAddress
from liyagent.agents.models import Agent
from liyagent.core.ids import new_id
from liyagent.gateway.models import Tool, ToolServer
from routines.models import NOW, Routine
from runs.models import Run, RunStatus
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.flows.conftest import Api
from tests.flows.doubting import doubt
from tests.flows.holding import filed
from tests.flows.serving import serving
from tests.unit.handoffs.conftest import handed
from tests.unit.tickets import conftest as tickets

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "4"))
SEED = 20_26
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
# What is no view of the API, and open to nobody (the console asks for a login) or to anybody (ruling 36).
NO_API = ("admin/", "", "health/", "metrics")
OPEN = {"/health/live", "/health/ready"}
# A wait would be waited for: nobody carries the runs here.
LONGEST_WAIT = "0.01"

# Where a parameter's name means another thing: by the beginning of the path.
NUMBERED = {"/api/tickets/": "T-000001"}
HTML = {"accept": "text/html"}


@pytest.fixture
def port(fresh_db: FreshDatabase) -> Iterator[int]:
    """Where the application is served."""
    with serving() as number:
        yield number


@pytest.fixture
def known(agent: Agent, fresh_db: FreshDatabase) -> dict[str, str]:
    """What is there to be named in a path, by the parameter's name."""
    started = start_run(
        agent_key="triage", task="Look.", entry="api", started_by="", mission="", request_id=""
    )
    Run.objects.filter(id=started.run_id).update(status=RunStatus.ANSWERED)
    server = ToolServer.objects.create(key="jira", transport="local")
    Tool.objects.create(server=server, name="get_issue", effect="read")
    tickets.filed()
    approval = filed(Run.objects.get(id=started.run_id), title="disk 4")
    handoff = handed("Reboot mail-eu?", "Reboot mail-us?")
    return {
        "run_id": str(started.run_id),
        "approval_id": str(approval.id),
        "key": "triage",
        "server": "jira",
        "tool": "get_issue",
        "number": "1",
        "version": "1",
        "thread": str(handoff.thread),
        "digest": handoff.snapshot_id,
        "routine_id": str(a_routine().id),
        "call_id": str(doubt(Run.objects.get(id=started.run_id)).pk),
    }


def a_routine() -> Routine:
    """One whose tool is not there any more."""
    facts = {
        "agent_key": "triage", "pattern": "p", "tools": ["jira/gone"], "digest": "0" * 64, "runs": [], "support": 3,
        "tools_seen": {"jira/gone": "x"}, "definition": {"steps": []}, "mined_at": NOW, "created_at": NOW, "changed_at": NOW,
    }  # fmt: skip
    return Routine.objects.create(id=new_id(), **facts)


@pytest.mark.timeout(3600 if "FUZZ_EXAMPLES" in os.environ else 400)
def test_with_a_key_for_everything_nothing_breaks_and_all_is_as_described(
    port: int, known: dict[str, str]
) -> None:
    User.objects.create_superuser("root")
    token = create_key(name="fuzz", username="root").token
    headers = {"Authorization": f"Bearer {token}"}
    faults = [
        fault
        for operation in operations(port, headers)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        if (fault := fault_of(operation, known, headers, mode=mode))
    ]
    assert not faults, "\n\n".join(faults)


def operations(port: int, headers: dict[str, str]) -> Iterator[Any]:
    loaded = schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/api/schema", headers=headers)
    for result in loaded.get_all_operations():
        assert isinstance(result, Ok)
        yield result.ok()


def fault_of(
    operation: Any, known: dict[str, str], headers: dict[str, str], *, mode: GenerationMode
) -> str:
    """What is wrong with an operation, "" where nothing is. NEGATIVE: it is sent what the schema forbids."""

    numbers = [it for path, it in NUMBERED.items() if operation.path.startswith(path)]
    there = {**known, "number": numbers[0]} if numbers else known

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), is_there=st.booleans())
    def holds(case: Any, is_there: bool) -> None:
        if is_there:
            given_path = dict(case.path_parameters or {})
            case.path_parameters = {name: there.get(name, it) for name, it in given_path.items()}
        if case.query and "wait" in case.query:
            case.query["wait"] = LONGEST_WAIT
        case.call_and_validate(headers=headers, checks=list(CHECKS), timeout=30)

    try:
        holds()
    except Unsatisfiable:
        return ""  # There is nothing about it that could be wrong.
    except BaseExceptionGroup as error:
        first = error.exceptions[0]
        return f"{operation.label}: {type(first).__name__} {first!r} {first}"
    except Exception as error:  # noqa: BLE001  # whatever is wrong is told, of every operation
        return f"{operation.label}: {type(error).__name__} {error}"
    return ""


def test_without_a_key_every_operation_but_health_is_closed(fresh_db: FreshDatabase) -> None:
    nobody = Api()
    let_in = []
    for path, methods in described()["paths"].items():
        for method in methods:
            for address in (path, path.replace("{run_id}", "0190a0a0-0000-7000-8000-000000000000")):
                status = nobody.send(method.upper(), address, {}).status
                if status != 401 and path not in OPEN:
                    let_in.append((method, address, status))
    assert let_in == []


def test_every_operation_is_named_summed_up_and_says_what_it_needs() -> None:
    found = [
        operation for methods in described()["paths"].values() for operation in methods.values()
    ]
    names = [it["operationId"] for it in found]
    assert len(set(names)) == len(names)
    for it in found:
        assert len(it["summary"]) > 5, it["operationId"]
        if it["tags"] != ["health"]:
            assert all(name in it["description"] for name in it[NEEDS])
            assert it["security"] == [{"apiKey": []}, {"cookieAuth": []}]
            assert {"400", "401", "403", "500"} <= set(it["responses"])


def test_no_view_is_left_out_or_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # no types
    assert GENERATOR_STATS._error_cache == {}, capsys.readouterr().err
    assert GENERATOR_STATS._warn_cache == {}, capsys.readouterr().err


def test_every_address_is_a_guarded_view_or_on_the_short_list() -> None:
    unguarded = [
        address
        for address, pattern in patterns(get_resolver())
        if not any(address == it or (it and address.startswith(it)) for it in NO_API)
        if not issubclass(getattr(pattern.callback, "cls", object), GuardedView)
    ]
    assert unguarded == []


def test_every_view_says_what_each_of_its_methods_needs() -> None:
    silent = [
        (address, method)
        for address, pattern in patterns(get_resolver())
        if (view := getattr(pattern.callback, "cls", None)) is not None
        if view is not UnknownAddress
        for method in view.http_method_names
        if method != "head" and hasattr(view, method)
        if method.upper() not in view.needs
    ]
    assert silent == []


def patterns(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for it in resolver.url_patterns:
        address = before + str(it.pattern)
        if isinstance(it, URLResolver):
            yield from patterns(it, address)
        else:
            yield address, it


def test_the_docs_are_a_page_without_scripts_and_without_requests_to_others(
    operator: Api, fresh_db: FreshDatabase
) -> None:
    answer = operator.get("/api/docs", **HTML)
    assert answer.status == 200
    page = answer.data.decode()
    for word in (
        "/api/runs/{run_id}/stream",
        "post_run_start",
        "Idempotency-Key",
        "agents.operate",
    ):
        assert word in page
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    lost = Api().get("/api/docs", **HTML)
    assert (lost.status, lost.headers["Location"]) == (302, "/admin/login/?next=%2Fapi%2Fdocs")
    assert Api().get("/api/docs").status == 401


def test_the_schema_is_json_for_every_known_user(stranger: Api) -> None:
    answer = stranger.get("/api/schema")
    assert answer.status == 200
    assert answer.data["openapi"].startswith("3.")
    assert json.dumps(answer.data).count("application/problem+json") > 20
