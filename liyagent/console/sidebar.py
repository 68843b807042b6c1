"""What stands in the sidebar: what the user may see, and how many of it want a look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from liyagent.console.badges import badge, badges

# Title, icon, address by name, the permission that shows it, and what is counted beside it.
Item = tuple[str, str, str, str, str]
SIDEBAR: tuple[tuple[str, tuple[Item, ...]], ...] = (
    (
        "Now",
        (
            ("Dashboard", "monitoring", "admin:index", "", ""),
            ("Runs", "play_circle", "admin:runs_run_changelist", "runs.view_run", ""),
            ("Missions", "flag", "admin:missions_mission_changelist", "runs.view_run", ""),
            ("Playground", "science", "console-playground", "agents.operate", ""),
            ("Approvals", "approval_delegation", "admin:approvals_approval_changelist", "approvals.view_approval", "pending"),
            ("Tickets", "confirmation_number", "admin:tickets_ticket_changelist", "tickets.view_ticket", "open_tickets"),
            ("Sagas", "undo", "admin:sagas_saga_changelist", "runs.view_run", "sagas"),
            ("In doubt", "help", "admin:runs_call_changelist", "runs.view_call", "unknown"),
            ("Arrivals", "inbox", "admin:entry_arrival_changelist", "runs.view_run", ""),
            ("Deliveries", "outbox", "admin:entry_delivery_changelist", "runs.view_run", "given_up"),
        ),
    ),
    (
        "Set-up",
        (
            ("Agents", "smart_toy", "admin:agents_agent_changelist", "agents.view_agent", "contained"),
            ("Workflows", "account_tree", "admin:workflows_workflow_changelist", "workflows.view_workflow", ""),
            ("Routines", "repeat", "admin:routines_routine_changelist", "agents.view_agent", ""),
            ("Tool servers", "dns", "admin:gateway_toolserver_changelist", "gateway.view_toolserver", "unreadable"),
            ("Tools", "build", "admin:gateway_tool_changelist", "gateway.view_tool", "to_approve"),
            ("Policies", "policy", "admin:gateway_policy_changelist", "gateway.view_policy", ""),
            ("Data policies", "visibility_off", "admin:gateway_datapolicy_changelist", "gateway.view_datapolicy", ""),
            ("Cron triggers", "schedule", "admin:cron_crontrigger_changelist", "agents.view_agent", ""),
            ("Webhook triggers", "webhook", "admin:webhooks_trigger_changelist", "agents.view_agent", ""),
            ("Teams bots", "forum", "admin:teams_teamsbot_changelist", "agents.view_agent", ""),
            ("Teams people", "badge", "admin:teams_teamsperson_changelist", "agents.view_agent", ""),
            ("Sources", "library_books", "admin:sources_source_changelist", "agents.view_agent", ""),
        ),
    ),
    (
        "Evidence",
        (
            ("Jobs", "construction", "admin:jobs_job_changelist", "agents.view_agent", ""),
            ("Documents", "description", "admin:sources_document_changelist", "agents.view_agent", ""),
            ("Hand-offs", "forward_to_inbox", "admin:handoffs_version_changelist", "runs.view_run", ""),
            ("Cohort replays", "replay", "admin:replays_cohortreplay_changelist", "agents.operate", ""),
            ("Red teams", "shield", "admin:red_teams_finding_changelist", "agents.view_agent", ""),
            ("Classifiers", "category", "admin:classifiers_classifier_changelist", "agents.view_agent", ""),
            ("Audit", "fact_check", "admin:audit_auditrow_changelist", "audit.view_auditrow", ""),
            ("Concerns", "lock_person", "admin:audit_concern_changelist", "audit.view_concern", ""),
            ("Events", "timeline", "console-events", "events.view_runevent", ""),
            ("A2A told to", "send", "admin:a2a_pushconfig_changelist", "a2a.view_pushconfig", ""),
            ("Webhook arrivals", "move_to_inbox", "admin:webhooks_triggerarrival_changelist", "runs.view_run", ""),
            ("Cron fires", "history", "admin:cron_cronfire_changelist", "runs.view_run", ""),
            ("Conversations", "question_answer", "admin:copilot_conversation_changelist", "runs.view_run", ""),
            ("Teams turns", "chat", "admin:teams_teamsturn_changelist", "runs.view_run", ""),
        ),
    ),
    (
        "Access",
        (
            ("Users", "person", "admin:auth_user_changelist", "auth.view_user", ""),
            ("Groups", "group", "admin:auth_group_changelist", "auth.view_group", ""),
            ("API keys", "key", "admin:access_apikey_changelist", "access.view_apikey", ""),
        ),
    ),
    (
        "Processes",
        (
            ("Holders", "memory", "admin:leases_holder_changelist", "leases.view_holder", ""),
            ("Leases", "timer", "admin:leases_lease_changelist", "leases.view_lease", ""),
        ),
    ),
)  # fmt: skip


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Return what the user may see, with the number of what wants a look.

    On the pages of what is counted it is counted afresh: whoever has just decided there sees it.
    """
    counts = badges(afresh=any(request.path.startswith(it) for it in _counted_pages()))
    return [
        {
            "title": title,
            "items": [
                _item(item, counts)
                for item in items
                if not item[3] or request.user.has_perm(item[3])
            ],
        }
        for title, items in SIDEBAR
    ]


def _counted_pages() -> list[str]:
    return [reverse(item[2]) for _, items in SIDEBAR for item in items if item[4]]


def _item(item: Item, counts: Mapping[str, int]) -> dict[str, Any]:
    title, icon, address, _, counted = item
    shown = {"title": title, "icon": icon, "link": reverse(address)}
    found = badge(counts.get(counted, 0))
    return {**shown, "badge": found, "badge_variant": "danger"} if found else shown
