"""What came in and what is owed for it, a page at a time, newest first; no words are read for a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Model, OuterRef, Q, QuerySet, Subquery

from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    Page,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from liyagent.entry.models import Arrival, ArrivalState, Delivery, DeliveryState
from missions.places import behind

# How many rows of what an index finds are looked through for the other filters, at most, for one page.
MOST_LOOKED_THROUGH = 10_000
LONGEST_NAME = 255
GREATEST_ID = 2**63 - 1
# Both of what a person has to look at.
GIVEN_UP = "given_up"
OF_GIVEN_UP = (DeliveryState.UNCONFIRMED.value, DeliveryState.DEAD.value)
ARRIVAL_FILTERS = ("way", "source", "state", "agent", "delivery_id")
DELIVERY_FILTERS = ("run", "state", "way", "source", "agent")
ARRIVAL_ORDER, DELIVERY_ORDER = ("-received_at", "-run_id"), ("-id",)
COLUMNS = {"agent": "agent_key", "run": "run_id"}
STATES = {
    "arrival": ArrivalState.values,
    "delivery": (*DeliveryState.values, GIVEN_UP),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """Rows that an index leads to, and the columns that are compared beside."""

    rows: QuerySet[Any]
    others: Mapping[str, str]


def page_of_arrivals(asked: Mapping[str, str]) -> Page[Arrival]:
    """Return the page of arrivals that `asked` names, of `ARRIVAL_FILTERS` and paging.

    A page can be short, or empty, and yet lead on: then what was looked through held no more that fit. Raises `BadInput`.
    """
    check_names(asked, (*ARRIVAL_FILTERS, *PAGING))
    limit, led = limit_of(asked), arrivals_led(asked)
    rows = led.rows.filter(_received_before(asked["cursor"])) if "cursor" in asked else led.rows
    order = ARRIVAL_ORDER
    keys, last = _keys(rows.order_by(*order), led.others, ("received_at", "run_id"), limit)
    kept = Arrival.objects.filter(run_id__in=[it[1] for it in keys]).defer("sealed")
    cursor = write_cursor([last[0].isoformat(), str(last[1])]) if last else ""
    return Page(rows=list(kept.order_by(*order)), next_cursor=cursor)


def page_of_deliveries(asked: Mapping[str, str]) -> Page[Delivery]:
    """Return the page of deliveries that `asked` names, of `DELIVERY_FILTERS` and paging.

    `state` may be `given_up`: dead or unconfirmed. As of arrivals a page can be short and lead on. Raises `BadInput`.
    """
    check_names(asked, (*DELIVERY_FILTERS, *PAGING))
    limit, led = limit_of(asked), deliveries_led(asked)
    rows = led.rows.filter(id__lt=_number(asked["cursor"])) if "cursor" in asked else led.rows
    keys, last = _keys(rows.order_by(*DELIVERY_ORDER), led.others, ("id",), limit)
    kept = Delivery.objects.filter(id__in=[it[0] for it in keys]).order_by(*DELIVERY_ORDER)
    return Page(rows=list(kept), next_cursor=write_cursor([str(last[0])]) if last else "")


def arrivals_led(asked: Mapping[str, str]) -> Led:
    """Return the arrivals that an index leads to, and the filters left to compare. Raises `BadInput`."""
    chosen = _chosen(asked, ARRIVAL_FILTERS, STATES["arrival"], what="an arrival")
    leading: set[str] = set()
    if {"way", "source"} <= chosen.keys():
        leading = {"way", "source", "delivery_id"} & chosen.keys()
    elif chosen.get("state") == ArrivalState.REFUSED:
        leading = {"state"}
    elif "way" in chosen:
        leading = {"way"}
    return _led(Arrival.objects.all(), chosen, leading)


def deliveries_led(asked: Mapping[str, str]) -> Led:
    """Return the deliveries that an index leads to, and the filters left to compare. Raises `BadInput`."""
    chosen = _chosen(asked, DELIVERY_FILTERS, STATES["delivery"], what="a delivery")
    rows = Delivery.objects.all()
    arrival = Arrival.objects.filter(run_id=OuterRef("run_id"))
    for name in {"source", "agent"} & chosen.keys():
        column = COLUMNS.get(name, name)
        rows = rows.annotate(**{column: Subquery(arrival.values(column)[:1])})
    if "run" in chosen:
        return _led(rows, chosen, {"run"})
    if chosen.get("state") == GIVEN_UP:
        del chosen["state"]
        return _led(rows.filter(state__in=OF_GIVEN_UP), chosen, set())
    return _led(rows, chosen, {"state"} & chosen.keys())


def fitting_ids(led: Led, order: tuple[str, ...], *, most: int) -> list[Any]:
    """Return the newest `most` primary keys of what was looked through and fits."""
    keys, _ = _keys(led.rows.order_by(*order), led.others, ("pk",), most)
    return [it[0] for it in keys]


def _led(rows: QuerySet[Any], chosen: Mapping[str, str], leading: set[str]) -> Led:
    by = {COLUMNS.get(it, it): chosen[it] for it in leading}
    others = {COLUMNS.get(it, it): chosen[it] for it in chosen if it not in leading}
    return Led(rows=rows.filter(**by), others=others)


def _keys(
    rows: QuerySet[Model], others: Mapping[str, str], place: tuple[str, ...], limit: int
) -> tuple[list[tuple[Any, ...]], tuple[Any, ...] | None]:
    """Return the places of a page, and the last where something follows.

    Filters are compared here and not by a condition: there is then no index that can be taken for a shorter way.
    """
    if not others:
        found = list(rows.values_list(*place)[: limit + 1])
        return found[:limit], found[limit - 1] if len(found) > limit else None
    looked_at = list(rows.values_list(*place, *others)[:MOST_LOOKED_THROUGH])
    wanted, width = list(others.values()), len(place)
    fits = [it[:width] for it in looked_at if [str(value) for value in it[width:]] == wanted]
    if len(fits) > limit:
        return fits[:limit], fits[limit - 1]
    is_full = len(looked_at) == MOST_LOOKED_THROUGH
    return fits, looked_at[-1][:width] if is_full else None


def _chosen(
    asked: Mapping[str, str], names: tuple[str, ...], states: Any, *, what: str
) -> dict[str, str]:
    chosen = {name: asked[name] for name in names if name in asked}
    if "state" in chosen and chosen["state"] not in states:
        raise BadInput(
            f"{chosen['state'][:80]!r} is no state of {what}; it wants one of {', '.join(states)}"
        )
    if "delivery_id" in chosen and not {"way", "source"} <= chosen.keys():
        raise BadInput("delivery_id wants way and source beside it: it names a delivery of theirs")
    if "run" in chosen:
        chosen["run"] = str(_run_id(chosen["run"]))
    for name, value in chosen.items():
        if not 1 <= len(value) <= LONGEST_NAME:
            raise BadInput(f"{name} wants 1 to {LONGEST_NAME} characters")
    return chosen


def _run_id(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError:
        raise BadInput(f"run is {value[:80]!r}; it wants the id of a run") from None


def _number(cursor: str) -> int:
    (text,) = read_cursor(cursor, parts=1)
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= GREATEST_ID):
        raise bad_cursor()
    return int(text)


def _received_before(cursor: str) -> Q:
    at, run_id = read_cursor(cursor, parts=2)
    try:
        moment, last = datetime.fromisoformat(at), UUID(run_id)
    except ValueError:
        raise bad_cursor() from None
    # As it is written; other offsets reach beyond the times that the database has.
    if moment.utcoffset() != timedelta():
        raise bad_cursor()
    return behind(moment, last, moment="received_at", name="run_id")
