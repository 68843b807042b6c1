"""Hooks are names of a registry in code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings

from liyagent.agents.built_in_hooks import RefuseDeletes
from liyagent.agents.hooks import (
    HOOKS,
    About,
    Hook,
    HookRefused,
    import_hook_modules,
    register_hook,
)
from liyagent.agents.models import Agent
from liyagent.agents.registered import require_hooks
from liyagent.core.errors import BadSetting
from tests.databases import FreshDatabase

ABOUT = About(run_id="r", agent="a", entry="api", mission="m", run_as="", step=1)


def test_a_name_is_registered_once_and_is_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOOKS, "mine", Hook())
    for name in ("mine", "", "a b", "x" * 81):
        with pytest.raises(ValueError, match="wants a free name"):
            register_hook(name)(Hook)
    with pytest.raises(ValueError, match="wants a subclass of Hook"):
        register_hook("other")(int)  # type: ignore[type-var]
    assert "other" not in HOOKS


def test_modules_that_cannot_be_imported_are_named() -> None:
    with pytest.raises(BadSetting, match="LIYAGENT_HOOK_MODULES names 'not_there'"):
        import_hook_modules(["not_there"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('raise RuntimeError("no such vault")', "RuntimeError: no such vault"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
    ],
)
def test_a_module_that_raises_or_ends_the_program_is_named(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raising_hooks.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadSetting, match=f"'raising_hooks', which raised .*: {said}"):
        import_hook_modules(["raising_hooks"])


@pytest.mark.parametrize(
    ("modules", "said"),
    [("not_there", "LIYAGENT_HOOK_MODULES names 'not_there'"), ("a b", "wants names of Python")],
)
def test_a_start_with_a_module_that_cannot_be_is_refused_in_one_line(
    modules: str, said: str
) -> None:
    refused = subprocess.run(
        [sys.executable, "manage.py", "help"],
        cwd=settings.BASE_DIR,
        env={**os.environ, "LIYAGENT_HOOK_MODULES": modules},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode != 0
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_module_registers_what_an_agent_then_may_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_hooks.py").write_text(
        "from liyagent.agents.hooks import Hook, register_hook\n"
        "@register_hook('from_a_module')\nclass Mine(Hook): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import_hook_modules(["my_hooks"])
    assert isinstance(HOOKS.pop("from_a_module"), Hook)


def test_a_hook_that_this_process_does_not_know_refuses_its_start(
    fresh_db: FreshDatabase,
) -> None:
    require_hooks()
    Agent.objects.create(key="a", name="A", provider="p", model="m", hooks=["log_calls", "gone"])
    with pytest.raises(BadSetting, match="agent a names the hook 'gone'"):
        require_hooks()
    Agent.objects.update(is_enabled=False)
    require_hooks()


@pytest.mark.parametrize("tool", ["delete_host", "dropTable", "hostRemove", "wipe", "a-purge-b"])
def test_a_tool_whose_name_says_that_it_deletes_is_refused(tool: str) -> None:
    call = SimpleNamespace(tool=tool, name=f"v/{tool}")
    with pytest.raises(HookRefused, match=f"v/{tool} says that it does"):
        RefuseDeletes().before_call(ABOUT, call)


@pytest.mark.parametrize("tool", ["undelete_host", "list_dropped", "create", "removal_report"])
def test_any_other_tool_is_not(tool: str) -> None:
    RefuseDeletes().before_call(ABOUT, SimpleNamespace(tool=tool, name=f"v/{tool}"))
