"""Addresses of tickets, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.tickets.api import TicketComments, TicketList, TicketOne

urlpatterns = [
    path("tickets", TicketList.as_view(), name="tickets"),
    path("tickets/<str:number>", TicketOne.as_view(), name="ticket"),
    path("tickets/<str:number>/comments", TicketComments.as_view(), name="ticket-comments"),
]
