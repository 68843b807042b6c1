"""A site to attack: the demo's vendors, tools of the tests, and a database that knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from liyagent.demo.vendors.process import VendorProcess
from liyagent.gateway import mcp
from tests.databases import OURS, FreshDatabase, Template, close_connections
from tests.injection import site
from tests.injection.attack import Attack
from tests.injection.case import Case
from tests.injection.evidence import Evidence
from tests.injection.obedient import ObedientServer

CarryOut = Callable[[Case], Evidence]


@pytest.fixture(scope="session")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendorProcess]:
    """The demo's vendors, who answer at once."""
    directory = tmp_path_factory.mktemp("ledgers")
    with VendorProcess(directory, before_ms=0, after_ms=0) as running:
        yield running
        mcp.close_all()


@pytest.fixture(scope="session")
def model() -> Iterator[ObedientServer]:
    """The model that obeys."""
    with ObedientServer() as server:
        yield server


@pytest.fixture(scope="session")
def furnished(
    migrated_template: Template,
    vendors: VendorProcess,
    model: ObedientServer,
    worker_id: str,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[dict[bool, str]]:
    """Databases with servers, contracts and people, to clone from, made once: with every gate in force, and with none."""
    bare, gated, open_ = (f"{OURS}_{it}_{worker_id}" for it in ("furnished", "gated", "ungated"))
    made: list[str] = []

    def make(name: str, source: str, fill: Callable[[], None]) -> None:
        migrated_template.clone(name, source=source)
        made.append(name)
        with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
            close_connections()
            patch.setitem(connections["default"].settings_dict, "NAME", name)
            fill()
            close_connections()

    make(bare, migrated_template.name, lambda: site.furnish(vendors))
    make(gated, bare, lambda: site.gate(model.base_url))
    make(open_, bare, lambda: site.ungate(model.base_url))
    yield {True: gated, False: open_}
    for name in made:
        migrated_template.drop(name)


@pytest.fixture
def cloned_from(furnished: dict[bool, str], request: pytest.FixtureRequest) -> str:
    """Each test has a copy of the database with the gates that it asks for."""
    return furnished["with_gates" in request.fixturenames]


@pytest.fixture
def with_gates(fresh_db: FreshDatabase, vendors: VendorProcess, model: ObedientServer) -> CarryOut:
    """Carry an attack out while every gate is in force."""

    def go(case: Case) -> Evidence:
        if case.agent:
            site.gate(model.base_url, **case.agent)
        return Attack(case, vendors).carry_out()

    return go


@pytest.fixture
def without_gates(
    fresh_db: FreshDatabase, vendors: VendorProcess, model: ObedientServer
) -> CarryOut:
    """Carry an attack out where everything is permitted."""

    def go(case: Case) -> Evidence:
        if case.agent:
            site.ungate(model.base_url, **case.agent)
        return Attack(case, vendors).carry_out()

    return go
