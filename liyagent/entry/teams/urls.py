"""Addresses of Teams, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.teams.api import Messages
from liyagent.entry.teams.bots_api import (
    TeamsBotDisable,
    TeamsBotEnable,
    TeamsBotList,
    TeamsBotOne,
    TeamsPersonList,
    TeamsPersonOne,
    TeamsTurnList,
)

BOT = "teams/bots/<str:key>"
urlpatterns = [
    path("messages", Messages.as_view(), name="teams-messages"),
    path("teams/bots", TeamsBotList.as_view(), name="teams-bots"),
    path(BOT, TeamsBotOne.as_view(), name="teams-bot"),
    path(f"{BOT}/enable", TeamsBotEnable.as_view(), name="teams-bot-enable"),
    path(f"{BOT}/disable", TeamsBotDisable.as_view(), name="teams-bot-disable"),
    path(f"{BOT}/turns", TeamsTurnList.as_view(), name="teams-turns"),
    path("teams/people", TeamsPersonList.as_view(), name="teams-people"),
    path("teams/people/<str:account>", TeamsPersonOne.as_view(), name="teams-person"),
]
