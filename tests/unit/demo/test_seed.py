"""What the seed leaves behind, and that a second one leaves nothing more."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from liyagent.agents.definitions import definition_of, save_agent
from liyagent.agents.models import Agent, ConfigVersion
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from liyagent.demo.desk import AGENT, LOOKED_AFTER
from liyagent.demo.seed import TASKS
from liyagent.demo.vendors.process import VendorProcess, free_port
from liyagent.gateway.models import Policy, Tool, ToolServer
from liyagent.gateway.permit import permit
from liyagent.gateway.policy_versions import load_policy
from liyagent.workflows.models import Workflow
from runs.models import Run
from tests.databases import FreshDatabase


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendorProcess]:
    with VendorProcess(tmp_path_factory.mktemp("ledgers"), before_ms=1, after_ms=1) as running:
        yield running


@pytest.fixture
def seeded(
    fresh_db: FreshDatabase, vendors: VendorProcess, monkeypatch: pytest.MonkeyPatch
) -> VendorProcess:
    monkeypatch.setenv("LIYAGENT_ADMIN_PASSWORD", "first-password")
    seed(vendors.url)
    return vendors


def seed(url: str, *options: str) -> str:
    """Run the command; return what it wrote to both outputs."""
    out = io.StringIO()
    call_command("seed", f"--vendors={url}", *options, stdout=out, stderr=out)
    return out.getvalue()


def rows() -> dict[str, int]:
    counts = {
        model.__name__: model._default_manager.count()
        for model in (ToolServer, Tool, Policy, Agent, Workflow, Run, AuditRow, get_user_model())
    }
    return counts | {"configuration": ConfigVersion.objects.get().version}


def test_a_seed_leaves_a_login_offered_tools_agents_a_policy_and_a_run_of_each_agent(
    seeded: VendorProcess,
) -> None:
    admin = get_user_model().objects.get(username="admin")

    assert admin.is_superuser
    assert admin.check_password("first-password")
    assert all(tool.is_offered and tool.is_approved for tool in Tool.objects.all())
    assert Policy.objects.get(is_active=True).name == "demo"
    assert {run.agent_key for run in Run.objects.all()} == set(
        Agent.objects.values_list("key", flat=True)
    )


def test_a_second_seed_changes_nothing(seeded: VendorProcess) -> None:
    before = rows()

    told = seed(seeded.url)

    assert rows() == before
    assert all(line.endswith("as it was") for line in told.splitlines())


def test_a_password_given_anew_counts(
    seeded: VendorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIYAGENT_ADMIN_PASSWORD", "second-password")

    seed(seeded.url)

    assert get_user_model().objects.get(username="admin").check_password("second-password")


def test_without_a_password_the_login_keeps_its_own(
    seeded: VendorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIYAGENT_ADMIN_PASSWORD")

    seed(seeded.url)

    assert get_user_model().objects.get(username="admin").check_password("first-password")


def test_vendors_at_another_address_are_kept_there(seeded: VendorProcess) -> None:
    seed("http://127.0.0.1:1/", "--no-runs")

    assert ToolServer.objects.get(key="jira").url == "http://127.0.0.1:1/jira/mcp"


def test_vendors_that_do_not_answer_are_told_in_one_line_and_no_run_starts(
    fresh_db: FreshDatabase,
) -> None:
    told = seed(f"http://127.0.0.1:{free_port()}")

    assert len([line for line in told.splitlines() if "do not answer" in line]) == 1
    assert ToolServer.objects.count() == 3
    assert Run.objects.count() == 0


def test_a_seed_after_the_vendors_came_up_does_the_rest(
    fresh_db: FreshDatabase, vendors: VendorProcess
) -> None:
    seed(f"http://127.0.0.1:{free_port()}")

    seed(vendors.url)

    assert Run.objects.exclude(workflow="").get().workflow == "incident"
    assert Run.objects.count() == len(TASKS) + 1 + LOOKED_AFTER
    assert all(tool.is_offered for tool in Tool.objects.all())


def test_a_tool_that_the_demo_learned_since_is_read_and_approved_and_one_that_changed_is_not(
    seeded: VendorProcess,
) -> None:
    unseen = {"fingerprint": "", "approved_fingerprint": "", "is_offered": False}
    Tool.objects.filter(name="cancel_change").update(**unseen)
    Tool.objects.filter(name="close_change").update(approved_fingerprint="another")

    seed(seeded.url)

    assert [it.name for it in Tool.objects.all() if not it.is_approved] == ["close_change"]
    assert all(it.is_offered for it in Tool.objects.all())


def test_the_model_that_the_alert_desk_was_switched_to_stays(seeded: VendorProcess) -> None:
    desk = Agent.objects.get(key=AGENT)
    save_agent({**definition_of(desk), "model": "alert-desk-medium"}, actor="ann")

    seed(seeded.url)

    desk.refresh_from_db()
    assert (desk.model, desk.version) == ("alert-desk-medium", 2)


def test_a_policy_of_the_operator_stays_in_force(
    fresh_db: FreshDatabase, vendors: VendorProcess
) -> None:
    text = '@id("nothing") forbid (principal, action, resource);'
    load_policy(text, name="ours", actor="test")

    seed(vendors.url, "--no-runs")

    assert Policy.objects.get(is_active=True).name == "ours"


def test_what_an_operator_permitted_beside_the_demo_stays_permitted(seeded: VendorProcess) -> None:
    permit("triage-keyed", "*", reads_only=True, actor="test")

    seed(seeded.url, "--no-runs")

    assert "permit-triage-keyed-any-reads" in Policy.objects.get(is_active=True).text


def test_vendors_at_no_address_are_refused_before_anything_is_kept(fresh_db: FreshDatabase) -> None:
    with pytest.raises(BadInput, match="--vendors"):
        call_command("seed", vendors="file:///x")
    assert not get_user_model().objects.exists()
