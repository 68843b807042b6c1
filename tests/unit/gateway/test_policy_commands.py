"""What an operator types about policies and data policies, and how a slip is answered."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput, Conflict, LiyagentError, NotFound
from liyagent.gateway.active import active_policy, data_rules
from liyagent.gateway.data_policies import MOST_POLICIES, save_data_policy
from liyagent.gateway.judge import judge
from liyagent.gateway.models import DataPolicy, Policy, Tool, ToolServer
from liyagent.gateway.outcome import Posture
from tests.unit.gateway.support import PERMIT_ALL, a_call, a_read

pytestmark = pytest.mark.usefixtures("fresh_db")

READS = '@id("reads")\npermit (principal, action, resource) when { context.effect == "read" };\n'
ALL = '@id("all")\npermit (principal, action, resource);\n'
FILE = """
data_policies:
  - {name: no-cards, kind: card}
  - {name: staff, kind: regex, regex: 'EMP-[0-9]{6}', path: comment.body, tools: jira/*, action: mask}
"""


def run(*words: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def tried(*words: str) -> tuple[int, str]:
    """The exit code of a trial, and what it prints."""
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("policies", "try", *words, stdout=out)
    return int(ended.value.code or 0), out.getvalue()


def written(tmp_path: Path, text: str, name: str = "house.cedar") -> str:
    """The path of a file with that text."""
    path = tmp_path / name
    path.write_text(text)
    return str(path)


@pytest.fixture
def tools() -> None:
    """An agent, and a server with a write and two reads."""
    Agent.objects.create(
        key="triage",
        name="t",
        provider="p",
        model="m",
        tool_patterns=["jira/*"],
        write_posture="allow",
    )
    server = ToolServer.objects.create(key="jira", transport="local")
    for name, effect in (("create_issue", "write"), ("get_issue", "read"), ("get_user", "read")):
        Tool.objects.create(server=server, name=name, effect=effect)


def test_a_history_is_kept_shown_compared_and_gone_back_in(tmp_path: Path) -> None:
    assert (
        run("policies", "load", written(tmp_path, READS), "--note", "to begin")
        == "house v1 is in force\n"
    )
    said = run("policies", "add", written(tmp_path, ALL), "--note", "wider")
    assert said == "house v2 is kept; `manage.py policies activate house 2` puts it into force\n"
    assert run("policies", "show").startswith("// house v1, fingerprint ")
    assert ALL in run("policies", "show", "house")
    assert READS in run("policies", "show", "house", "1")
    listed = run("policies", "list").splitlines()
    assert [line.split()[:2] for line in listed[1:]] == [["house", "2"], ["house", "1"]]
    assert "in force" in listed[2]
    assert "to begin" in listed[2]
    diff = run("policies", "diff", "house", "1", "2")
    assert '-@id("reads")' in diff
    assert '+@id("all")' in diff
    assert run("policies", "diff", "house", "1", "1") == "no difference\n"
    assert run("policies", "activate", "house", "2") == "house v2 is in force\n"
    assert Policy.objects.get(is_active=True).version == 2
    assert run("policies", "activate", "house", "1") == "house v1 is in force\n"
    told = AuditRow.objects.filter(action="policy.activated").order_by("id").last()
    assert told is not None
    assert told.detail["before"] == "house v2"
    assert told.actor.startswith("cli:")


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (("activate", "house", "3"), NotFound, "it has versions 1 to 1"),
        (("activate", "ghost", "1"), NotFound, "there is no policy set of that name"),
        (("show", "ghost"), NotFound, "there is no policy set 'ghost'"),
        (("diff", "house", "1", "2"), NotFound, "no version 2"),
        (("load", "/nowhere"), BadInput, "/nowhere: cannot be read"),
        (("permit", "ghost", "*"), AgentUnknown, "there is no agent 'ghost'"),
        (("permit", "triage", "jira/ghost"), NotFound, "there is no tool 'jira/ghost'"),
        (("permit", "triage", "ghost/*"), NotFound, "there is no server 'ghost'"),
        (("permit", "triage", "jira/ghost*"), NotFound, "no tool matches"),
        (("permit", "triage", "jira"), BadInput, "it wants server/tool"),
        (("try", "ghost", "jira/get_user"), AgentUnknown, "there is no agent"),
        (("try", "triage", "jira/ghost"), NotFound, "there is no tool"),
        (("try", "triage", "jira/get_user", "--args", "{"), BadInput, "--args not JSON"),
        (
            ("try", "triage", "jira/get_user", "--args", "[]"),
            BadInput,
            "--args wants a JSON object",
        ),
        (("try", "triage", "jira/get_user", "--policy", "/nowhere"), BadInput, "cannot be read"),
    ],
)
def test_a_slip_is_answered_with_what_is_wrong(
    tmp_path: Path, tools: None, words: tuple[str, ...], error: type[LiyagentError], said: str
) -> None:
    run("policies", "load", written(tmp_path, READS))
    with pytest.raises(error) as raised:
        run("policies", *words)
    assert said in str(raised.value)
    assert Policy.objects.count() == 1


def test_the_line_of_a_wrong_policy_is_named_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"house\.cedar: policy at line 4: "):
        run("policies", "add", written(tmp_path, f"{READS}\npermit(principal);"))


@pytest.mark.parametrize(
    ("words", "permitted"),
    [
        (("jira/create_issue",), {"create_issue"}),
        (("jira/*",), {"create_issue", "get_issue", "get_user"}),
        (("*",), {"create_issue", "get_issue", "get_user"}),
        (("jira/*", "--reads-only"), {"get_issue", "get_user"}),
        (("jira/get_*",), {"get_issue", "get_user"}),
        (("jira/create_issue", "--reads-only"), set()),
    ],
)
def test_an_agent_is_permitted_with_one_line(
    tmp_path: Path, tools: None, words: tuple[str, ...], permitted: set[str]
) -> None:
    run(
        "policies",
        "load",
        written(
            tmp_path,
            '@id("other") permit(principal == Agent::"other", action, resource); // the end',
        ),
    )
    said = run("policies", "permit", "triage", *words)
    assert said.startswith("house v2 is in force with\n@id(")
    assert run("policies", "permit", "triage", *words).startswith("house v2 permits it already:")
    assert Policy.objects.count() == 2
    text = Policy.objects.get(is_active=True).text
    assert text.startswith('@id("other")')
    policy = active_policy(version=1)
    calls = [a_call("create_issue"), a_read("get_issue"), a_read("get_user")]
    assert {it.tool for it in calls if judge(it, policy).posture is Posture.POSTURE} == permitted


def test_without_any_set_the_first_permission_begins_one(tools: None) -> None:
    assert run("policies", "permit", "triage", "jira/*").startswith("main v1 is in force with")
    assert Policy.objects.get(is_active=True).note == "permit triage jira/*"


def test_two_permissions_stand_beside_each_other(tools: None) -> None:
    for pattern in ("jira/*", "jira/get_*", "*", "jira/get_issue"):
        run("policies", "permit", "triage", pattern)
        run("policies", "permit", "triage", pattern, "--reads-only")
    assert Policy.objects.get(is_active=True).version == 8


def test_a_refusal_says_how_to_permit_it_and_that_line_works(tools: None) -> None:
    run("policies", "permit", "triage", "jira/get_issue")
    reason = judge(a_read("get_user"), active_policy(version=1)).reason
    line = reason.split("`")[1]
    assert line == "manage.py policies permit triage jira/get_user --reads-only"
    run(*line.split()[1:])
    assert judge(a_read("get_user"), active_policy(version=2)).posture is Posture.POSTURE


def test_a_trial_ends_with_what_would_become_of_the_call(tmp_path: Path, tools: None) -> None:
    run("policies", "load", written(tmp_path, ALL))
    run("datapolicies", "load", written(tmp_path, FILE.replace("comment.body", "'*'"), "data.yaml"))
    code, said = tried("triage", "jira/create_issue", "--args", '{"title": "of EMP-123456"}')
    assert (code, said.splitlines()[0]) == (0, "let through: Masked (data policy): staff.")
    assert "decided by all; fingerprint " in said
    assert "arguments as they would leave: {'title': 'of [staff]'}" in said
    code, said = tried("triage", "jira/create_issue", "--args", '{"n": 4111111111111111}')
    assert (code, said.splitlines()[0]) == (
        1,
        "refused: Refused (data policy): no-cards lets no card go to jira/create_issue.",
    )
    Agent.objects.update(write_posture="hold")
    assert tried("triage", "jira/create_issue")[0] == 2
    assert tried("triage", "jira/get_issue")[0] == 0
    draft = written(tmp_path, READS, "draft.cedar")
    assert tried("triage", "jira/create_issue", "--policy", draft)[0] == 1
    assert tried("triage", "jira/get_issue", "--as", "ghost")[0] == 1


def test_data_policies_are_loaded_listed_switched_and_removed(tmp_path: Path) -> None:
    file = written(tmp_path, FILE, "data.yaml")
    assert (
        run("datapolicies", "check", file)
        == "2 data policies, all can be used; nothing was saved\n"
    )
    assert not DataPolicy.objects.exists()
    assert run("datapolicies", "load", file) == "in force: no-cards, staff\n"
    assert [line.split()[0] for line in run("datapolicies", "list").splitlines()[1:]] == [
        "no-cards",
        "staff",
    ]
    assert run("datapolicies", "disable", "staff") == "staff: disabled\n"
    assert [it.name for it in data_rules()] == ["no-cards"]
    with pytest.raises(Conflict, match="disabled already"):
        run("datapolicies", "disable", "staff")
    assert run("datapolicies", "enable", "staff") == "staff: enabled\n"
    assert run("datapolicies", "remove", "staff") == "staff: removed\n"
    with pytest.raises(NotFound, match="there is no data policy 'staff'"):
        run("datapolicies", "enable", "staff")
    actions = AuditRow.objects.filter(action__startswith="data_policy.").order_by("id")
    assert [it.action.partition(".")[2] for it in actions] == [
        "saved",
        "saved",
        "disabled",
        "enabled",
        "removed",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("data_policies:", "policies:", "wants `data_policies:`"),
        ("kind: card", "kind: ssn", "data_policies[0].kind is 'ssn'; it wants one of email, phone"),
        ("kind: card", "kind: 7", "data_policies[0].kind is 7"),
        ("kind: card", "colour: red", "data_policies[0].colour is not known here"),
        ("no-cards", "staff", "data_policies[1].name is 'staff', as of a policy before"),
        ("no-cards", "no cards", "data_policies[0].name is 'no cards'"),
        ("comment.body", "comment.", "data_policies[1].path is 'comment.'; it wants a dotted path"),
        ("'EMP-[0-9]{6}'", "'EMP-('", "data_policies[1].regex is no regular expression"),
        ("'EMP-[0-9]{6}'", "'x*'", "data_policies[1].regex matches the empty text"),
        ("jira/*", "jira", "data_policies[1].tools is 'jira'"),
        ("action: mask", "action: [mask]", "data_policies[1].action is ['mask']"),
    ],
)
def test_a_file_with_a_slip_saves_nothing_and_names_the_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = written(tmp_path, FILE.replace(old, new, 1), "data.yaml")
    for verb in ("check", "load"):
        with pytest.raises(BadInput) as raised:
            run("datapolicies", verb, file)
        assert said in str(raised.value)
        assert str(raised.value).startswith(f"{file}: ")
    assert not DataPolicy.objects.exists()


def test_there_is_a_most_of_data_policies() -> None:
    DataPolicy.objects.bulk_create(
        DataPolicy(name=f"p{number}", kind="card") for number in range(MOST_POLICIES)
    )
    save_data_policy("p1", {"kind": "email"}, actor="t")
    with pytest.raises(BadInput, match="500 data policies, the most"):
        save_data_policy("more", {"kind": "email"}, actor="t")


def test_a_stored_expression_that_cannot_be_read_lets_nothing_go_that_it_covers() -> None:
    """As another release, or a hand in the table, may have left it."""
    DataPolicy.objects.create(name="old", kind="regex", regex="(a)\\1", tools="jira/create_*")
    Policy.objects.create(name="all", version=1, text=PERMIT_ALL.text, is_active=True)
    policy = active_policy(version=1)
    assert "old cannot be read" in judge(a_call(), policy).reason
    assert judge(a_read(), policy).posture is Posture.POSTURE
