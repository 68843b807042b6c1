"""Check an evidence pack with nothing but Python: `python3 verify_pack.py PACK... --key HEX`.

One file, the standard library alone, no network: copy it to where the evidence is judged. A pack holds whole chains of
events. Each event is hashed with the one before it; where a chain stands is a leaf of a batch, the batch a leaf of a log, the
log's root is signed with Ed25519 (RFC 8032) and so is the pack. The keys are pinned by whoever checks: a pack brings none
that counts. One line a pack; the exit code is 0 where all hold, 1 where one does not, 2 where it was asked wrongly.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO

PACK_DOMAIN, ROOT_DOMAIN, EVENT_DOMAIN = "liyagent/pack/v1", "liyagent/root/v1", "liyagent/event/v1"
HEAD_LEAF, BATCH_LEAF = b"liyagent/leaf/head/v1\x00", b"liyagent/leaf/batch/v1\x00"
SEPARATOR = "\x1f"
LONGEST_LINE = 64 << 20
MOST_PATH, MOST_SIGNATURES = 64, 8
MOST_NUMBER, MOST_MICROSECONDS = 1 << 62, 1 << 57
LEAF_PREFIX, NODE_PREFIX = b"\x00", b"\x01"
FIRST_LINE = {"about": dict, "database": str, "pack": str, "without_events": int}

UUID_FORM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HASH_FORM = re.compile(r"[0-9a-f]{64}")
SIGNATURE_FORM = re.compile(r"[0-9a-f]{128}")
MISSION_FORM = re.compile(r"[!-~]{1,128}")

# Ed25519: the field, the order of its base point, the curve's constant.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
POINT_BYTES = 32
Point = tuple[int, int, int, int]


class Refused(Exception):
    """What is wrong with a pack, in one sentence."""


@dataclass(frozen=True, slots=True)
class Pins:
    """What whoever checks knows from elsewhere: public keys (hex), the database, a root that was kept. Empty: any."""

    keys: frozenset[str]
    database: str = ""
    root: dict[str, Any] | None = None


@dataclass(slots=True)
class Told:
    """What a pack shows, beside that it holds."""

    subject: str = ""
    root: dict[str, Any] = field(default_factory=dict)
    since: int = 0
    chains: int = 0
    events: int = 0
    missing: int = 0
    ended: int = 0
    without_events: int = 0
    is_put_back: bool = False
    signed_also_by: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return it as one line."""
        root = self.root
        at = datetime.fromtimestamp(root["at"] // 1_000_000, UTC)
        parts = [
            f"root {root['number']} of {at:%Y-%m-%dT%H:%M:%SZ}, database {root['database']}, signed by {root['public']}"
        ]
        if self.signed_also_by:
            parts.append(f"also signed by {', '.join(self.signed_also_by)}")
        if self.since:
            parts.append(f"grown out of root {self.since}")
        if self.is_put_back:
            parts.append("THE DATABASE WAS PUT BACK between the two")
        if not self.subject:
            return "; ".join(parts)
        gaps = f", {self.missing} MISSING by their own notes" if self.missing else ""
        if self.without_events:
            gaps += f", {self.without_events} chains WITHOUT EVENTS left out"
        found = f"{self.subject}: {self.events} events in {self.chains} chains, intact{gaps}, {self.ended} runs ended"
        return "; ".join([found, *parts])


def check(lines: Iterable[bytes], pins: Pins) -> Told:
    """Return what a pack, or an exported root, shows. Raises `Refused`, and nothing else whatever it is given."""
    try:
        return _Reader(pins).read(lines)
    except RecursionError:
        raise Refused("it is nested too deeply for a pack") from None


class _Reader:
    """Reads line by line, in bounded memory; signatures are looked at last, since they cost most."""

    def __init__(self, pins: Pins) -> None:
        self.pins = pins
        self.told = Told()
        self.all = hashlib.sha256()
        self.signed: list[tuple[str, bytes, str]] = []
        self.seen: set[str] = set()

    def read(self, lines: Iterable[bytes]) -> Told:
        at = iter(lines)
        first = self._next(at, "there is nothing in it")
        if set(first) == {"root"}:
            self._take_root(first["root"])
            if next(at, None) is not None:
                raise Refused("something follows the root")
            return self._judged()
        self._take_header(first)
        second = self._next(at, "the pack is cut off before its root")
        if set(second) != {"root"}:
            raise Refused("the pack's second line is no root")
        self._take_root(second["root"])
        if self.told.root["database"] != self.database:
            raise Refused(f"its root is of another database, {self.told.root['database']}")
        line = self._next(at, "the pack is cut off after its root")
        if set(line) == {"older", "path"}:
            self._take_older(line)
            line = self._next(at, "the pack is cut off before its first chain")
        elif self.pins.root is not None:
            raise Refused("it does not show that it has grown out of the root that you hold")
        while set(line) == {"chain"}:
            line = self._take_chain(line["chain"], at)
        self._take_end(line, before=self.before)
        if next(at, None) is not None:
            raise Refused("something follows the pack's end: it was doubled or added to")
        return self._judged()

    def _next(self, at: Iterator[bytes], if_none: str) -> dict[str, Any]:
        raw = next(at, None)
        if raw is None:
            raise Refused(if_none)
        self.before = self.all.copy()
        self.all.update(raw)
        if not raw.endswith(b"\n"):
            raise Refused("the pack is cut off in the middle of a line")
        try:
            value = json.loads(raw)
            is_same = canonical(value) + b"\n" == raw
        except ValueError:
            raise Refused("a line of it is no JSON: it was changed") from None
        if not is_same or type(value) is not dict:
            raise Refused("a line of it is not as it was written: it was changed")
        return value

    def _take_header(self, line: dict[str, Any]) -> None:
        _shape(line, FIRST_LINE, "first line")
        if line["pack"] != PACK_DOMAIN:
            raise Refused("it is no evidence pack of this form")
        about = line["about"]
        self.run = about.get("run") if set(about) == {"run"} else None
        self.mission = about.get("mission") if set(about) == {"mission"} else None
        if not (_is(UUID_FORM, self.run) or _is(MISSION_FORM, self.mission)):
            raise Refused("the pack's first line names neither a run nor a mission")
        self.told.subject = f"run {self.run}" if self.run else f"mission {self.mission}"
        self.told.without_events = _number(line["without_events"], "first line")
        self.database = line["database"]

    def _take_root(self, root: Any) -> None:
        statement = self._take_statement(root, "root")
        self.told.root = statement
        others = [public for public, _ in root["signatures"]][1:]
        self.told.signed_also_by = others
        if self.pins.database and statement["database"] != self.pins.database:
            raise Refused(f"it is of another database, {statement['database']}")

    def _take_statement(self, root: Any, name: str) -> dict[str, Any]:
        _shape(root, {"signatures": list, "statement": dict}, name)
        statement = root["statement"]
        check_statement(statement, name)
        publics: list[str] = []
        for it in root["signatures"]:
            if type(it) is not list or len(it) != 2 or not _is(HASH_FORM, it[0]):
                raise Refused(f"the signatures of the {name} have not their form")
            if not _is(SIGNATURE_FORM, it[1]):
                raise Refused(f"the signatures of the {name} have not their form")
            publics.append(it[0])
            self.signed.append((it[0], signed_root(statement), it[1]))
        is_one_each = len(set(publics)) == len(publics) <= MOST_SIGNATURES
        if not publics or publics[0] != statement["public"] or not is_one_each:
            raise Refused(f"the {name} is not signed by the key that it names")
        if self.pins.keys.isdisjoint(publics):
            raise Refused(f"the {name} is signed by another key, {publics[0]}")
        return statement

    def _take_older(self, line: dict[str, Any]) -> None:
        older, newer = self._take_statement(line["older"], "older root"), self.told.root
        kept = self.pins.root
        if kept is not None and canonical(older) != canonical(kept):
            raise Refused("the older root that it has grown out of is not the one that you hold")
        if older["database"] != newer["database"]:
            raise Refused(f"its older root is of another database, {older['database']}")
        self.told.is_put_back = older["epoch"] != newer["epoch"]
        path = _path(line["path"], "older root")
        if not is_consistent(
            (older["number"], bytes.fromhex(older["log"])),
            (newer["number"], bytes.fromhex(newer["log"])),
            path,
        ):
            why = ": the database was put back since, as it tells" if self.told.is_put_back else ""
            raise Refused(f"its root has not grown out of root {older['number']}{why}")
        self.told.since = older["number"]

    def _take_chain(self, chain: Any, at: Iterator[bytes]) -> dict[str, Any]:
        """Read a chain's proofs and its events; return the line behind them."""
        form = {
            **dict.fromkeys(("batch", "batch_size", "count", "index"), int),
            **dict.fromkeys(("correlation_id", "hash"), str),
            **dict.fromkeys(("log_path", "path"), list),
        }
        _shape(chain, form, "chain")
        name = chain["correlation_id"]
        if not _is(UUID_FORM, name) or not _is(HASH_FORM, chain["hash"]):
            raise Refused("a chain has not its form")
        if name in self.seen:
            raise Refused(f"the chain {name} stands twice")
        self.seen.add(name)
        self._check_place(chain)
        events = _Events(correlation_id=name)
        line = self._next(at, f"the pack is cut off in the chain {name}")
        while set(line) == {"event"}:
            events.take(line["event"])
            line = self._next(
                at, f"the pack is cut off in the chain {name}, behind event {events.number}"
            )
        if events.number < chain["count"]:
            raise Refused(
                f"the chain {name} is cut off: it ends with event {events.number} of {chain['count']}"
            )
        if events.number > chain["count"] or events.hash.hex() != chain["hash"]:
            raise Refused(f"the chain {name} does not end as its root says")
        is_asked = self.run in events.runs if self.run else self.mission in events.missions
        if not is_asked:
            raise Refused(f"the chain {name} has nothing of the {self.told.subject}")
        self.told.chains += 1
        self.told.events += events.number
        self.told.missing += events.missing
        self.told.ended += events.ended
        return line

    def _check_place(self, chain: dict[str, Any]) -> None:
        """The chain's end is a leaf of its batch, and the batch one of the log whose root is signed."""
        name, root = chain["correlation_id"], self.told.root
        count, batch = _number(chain["count"], "chain"), _number(chain["batch"], "chain")
        leaf = head_leaf(bytes.fromhex(name.replace("-", "")), count, bytes.fromhex(chain["hash"]))
        found = root_by_inclusion(
            leaf,
            index=_number(chain["index"], "chain"),
            size=_number(chain["batch_size"], "chain"),
            path=_path(chain["path"], "chain"),
        )
        if found is None or not 1 <= batch <= root["number"]:
            raise Refused(f"the chain {name} has no place in a batch")
        log = root_by_inclusion(
            batch_leaf(batch, chain["batch_size"], found),
            index=batch - 1,
            size=root["number"],
            path=_path(chain["log_path"], "chain"),
        )
        if log is None or log.hex() != root["log"]:
            raise Refused(
                f"the chain {name} does not stand so under the root: it was changed, or is another's"
            )

    def _take_end(self, line: dict[str, Any], *, before: Any) -> None:
        if set(line) != {"end"}:
            raise Refused("the pack has a line that belongs to none of its parts")
        end = line["end"]
        form = {"chains": int, "events": int, "public": str, "sha256": str, "signature": str}
        _shape(end, form, "last line")
        if (end["chains"], end["events"]) != (self.told.chains, self.told.events):
            raise Refused(
                f"the pack has {self.told.chains} chains and {self.told.events} events, not {end['chains']} and "
                f"{end['events']} as it says: some are missing or added"
            )
        if not self.told.chains or (self.run and self.told.chains != 1):
            raise Refused("the pack has not the chains that it is about")
        if end["sha256"] != before.hexdigest():
            raise Refused("the pack was changed after it was signed")
        if end["public"] not in self.pins.keys:
            raise Refused(f"the pack is signed by another key, {str(end['public'])[:64]!r}")
        if not _is(SIGNATURE_FORM, end["signature"]):
            raise Refused("the pack's signature has not its form")
        self.signed.append((end["public"], signed_pack(end), end["signature"]))

    def _judged(self) -> Told:
        for public, message, signature in self.signed:
            if not verify_signature(bytes.fromhex(public), message, bytes.fromhex(signature)):
                raise Refused(f"a signature of key {public} does not hold")
        return self.told


@dataclass(slots=True)
class _Events:
    """The events of one chain, one after the other."""

    correlation_id: str
    number: int = 0
    hash: bytes = b""
    missing: int = 0
    ended: int = 0
    runs: set[str] = field(default_factory=set)
    missions: set[str] = field(default_factory=set)

    def take(self, event: Any) -> None:
        if type(event) is not list or [type(it) for it in event] != [int, str, int, *[str] * 5]:
            raise Refused(
                f"an event behind number {self.number} of {self.correlation_id} has not its form"
            )
        number, run, at, kind, mission, recording, content, claimed = event
        if number != self.number + 1:
            is_again = 1 <= number <= self.number
            how = (
                f"event {number} stands twice or out of order"
                if is_again
                else f"event {self.number + 1} is missing"
            )
            raise Refused(f"{how} in the chain {self.correlation_id}")
        previous = self.hash or genesis(self.correlation_id)
        parts = (
            EVENT_DOMAIN,
            self.correlation_id,
            number,
            run,
            at,
            kind,
            mission,
            recording,
            content,
        )
        text = SEPARATOR.join(map(str, parts)).encode(errors="surrogatepass")
        self.hash = hashlib.sha256(previous + text).digest()
        if self.hash.hex() != claimed:
            raise Refused(f"event {number} of the chain {self.correlation_id} was changed")
        self.number = number
        self.runs.add(run)
        self.missions.add(mission)
        self.ended += kind == "run.ended"
        if kind == "gap":
            self.missing += _missing_of(content)


def _missing_of(content: str) -> int:
    try:
        missing = json.loads(content).get("missing", 1)
    except (ValueError, AttributeError):
        return 1
    return missing if type(missing) is int else 1


def check_statement(statement: Any, name: str = "root") -> None:
    """Raise `Refused` where a root's statement has not its form."""
    form = {
        **dict.fromkeys(("at", "epoch", "number"), int),
        **dict.fromkeys(("database", "domain", "log", "previous", "public", "system"), str),
        **dict.fromkeys(("batch", "totals"), dict),
        "accepted": (dict, type(None)),
    }
    _shape(statement, form, name)
    _shape(statement["batch"], {"certificates": int, "heads": int, "root": str}, name)
    totals = dict.fromkeys(("events", "heads", "purged_events", "purged_heads"), int)
    _shape(statement["totals"], totals, name)
    hashes = (
        statement["log"],
        statement["previous"],
        statement["public"],
        statement["batch"]["root"],
    )
    if not all(_is(HASH_FORM, it) for it in hashes) or not _is(UUID_FORM, statement["database"]):
        raise Refused(f"the {name} has not its form")
    is_when = statement["at"] < MOST_MICROSECONDS
    if statement["domain"] != ROOT_DOMAIN or statement["number"] < 1 or not is_when:
        raise Refused(f"the {name} is no root of this form")


def _shape(value: Any, form: dict[str, Any], name: str) -> None:
    if type(value) is not dict or set(value) != set(form):
        raise Refused(f"the {name} has not its form")
    for key, kind in form.items():
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if type(value[key]) not in kinds:
            raise Refused(f"the {name} has not its form")
        if type(value[key]) is int:
            _number(value[key], name)


def _number(value: int, name: str) -> int:
    if not 0 <= value < MOST_NUMBER:
        raise Refused(f"a number of the {name} is none that can be")
    return value


def _path(path: Any, name: str) -> list[bytes]:
    if (
        type(path) is not list
        or len(path) > MOST_PATH
        or not all(_is(HASH_FORM, it) for it in path)
    ):
        raise Refused(f"a path of the {name} has not its form")
    return [bytes.fromhex(it) for it in path]


def _is(form: re.Pattern[str], value: Any) -> bool:
    return type(value) is str and form.fullmatch(value) is not None


def canonical(value: Any) -> bytes:
    """Return the one form of plain JSON without floats: sorted keys, no blanks, UTF-8 (RFC 8785 where keys are ASCII)."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def signed_root(statement: dict[str, Any]) -> bytes:
    """Return what is signed of a root."""
    return f"{ROOT_DOMAIN}\n".encode() + canonical(statement)


def signed_pack(end: dict[str, Any]) -> bytes:
    """Return what is signed of a pack: all that stands before its last line."""
    return f"{PACK_DOMAIN}\n{end['sha256']}\n{end['chains']}\n{end['events']}".encode()


def genesis(correlation_id: str) -> bytes:
    """Return the hash before the first event of a chain."""
    return hashlib.sha256(f"{EVENT_DOMAIN}{correlation_id}".encode()).digest()


def head_leaf(correlation_id: bytes, count: int, digest: bytes) -> bytes:
    """Return the leaf that says where a chain stood."""
    return leaf_hash(HEAD_LEAF + correlation_id + count.to_bytes(8, "big") + digest)


def batch_leaf(number: int, size: int, root: bytes) -> bytes:
    """Return the leaf of the log that says what was sealed as the `number`-th."""
    return leaf_hash(BATCH_LEAF + number.to_bytes(8, "big") + size.to_bytes(8, "big") + root)


def leaf_hash(data: bytes) -> bytes:
    """Hash a leaf (RFC 6962, 2.1)."""
    return hashlib.sha256(LEAF_PREFIX + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash a node over its two halves (RFC 6962, 2.1)."""
    return hashlib.sha256(NODE_PREFIX + left + right).digest()


def root_by_inclusion(leaf: bytes, *, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root under which a leaf stands by this path (RFC 9162, 2.1.3.2); None where the path cannot be."""
    if not 0 <= index < size:
        return None
    first, last, found = index, size - 1, leaf
    for it in path:
        if last == 0:
            return None
        if first & 1 or first == last:
            found = node_hash(it, found)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            found = node_hash(found, it)
        first, last = first >> 1, last >> 1
    return found if last == 0 else None


def is_consistent(old: tuple[int, bytes], new: tuple[int, bytes], path: Sequence[bytes]) -> bool:
    """Whether a log of so many leaves and that root has grown into the other (RFC 9162, 2.1.4.2)."""
    (old_size, old_root), (new_size, new_root) = old, new
    if not 0 < old_size <= new_size:
        return False
    if old_size == new_size:
        return not path and old_root == new_root
    steps = list(path)
    if old_size & (old_size - 1) == 0:
        steps.insert(0, old_root)
    if not steps:
        return False
    first, last = old_size - 1, new_size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    of_old = of_new = steps[0]
    for it in steps[1:]:
        if last == 0:
            return False
        if first & 1 or first == last:
            of_old, of_new = node_hash(it, of_old), node_hash(it, of_new)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            of_new = node_hash(of_new, it)
        first, last = first >> 1, last >> 1
    return last == 0 and of_old == old_root and of_new == new_root


def verify_signature(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether an Ed25519 signature holds (RFC 8032, 5.1.7), in its one canonical form alone."""
    key, commitment = _point(public), _point(signature[:POINT_BYTES])
    scalar = int.from_bytes(signature[POINT_BYTES:], "little")
    if key is None or commitment is None or len(signature) != 2 * POINT_BYTES or scalar >= L:
        return False
    challenge = hashlib.sha512(signature[:POINT_BYTES] + public + message).digest()
    factor = int.from_bytes(challenge, "little") % L
    return _are_equal(_times(scalar, BASE), _add(commitment, _times(factor, key)))


def _point(data: bytes) -> Point | None:
    """Take a point out of its 32 bytes; None where they are no point, or not its canonical form."""
    if len(data) != POINT_BYTES:
        return None
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    x = _x_of(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def _x_of(y: int, sign: int) -> int | None:
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    return P - x if x & 1 != sign else x


def _add(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c = 2 * one[3] * other[3] * D % P
    d = 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(factor: int, point: Point) -> Point:
    found: Point = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            found = _add(found, point)
        point = _add(point, point)
        factor >>= 1
    return found


def _are_equal(one: Point, other: Point) -> bool:
    return not (
        (one[0] * other[2] - other[0] * one[2]) % P or (one[1] * other[2] - other[1] * one[2]) % P
    )


def _base() -> Point:
    y = 4 * pow(5, P - 2, P) % P
    x = _x_of(y, 0)
    assert x is not None
    return x, y, 1, x * y % P


BASE = _base()


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Give a file line by line. Raises `Refused` for a line that is too long to be one."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise Refused("a line of it is longer than any of a pack")
        yield line


def kept_root(path: str) -> dict[str, Any]:
    """Return the statement of a root that was kept. Raises `Refused`, OSError."""
    with open(path, "rb") as file:
        try:
            statement = json.loads(file.readline(LONGEST_LINE))["root"]["statement"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Refused(f"{path} is no exported root") from None
    check_statement(statement)
    return dict(statement)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the packs that are named; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="verify_pack.py", description="Check evidence packs and exported roots."
    )
    parser.add_argument("packs", nargs="+", metavar="PACK")
    parser.add_argument(
        "--key", action="append", required=True, help="a public key to pin, 64 hex digits"
    )
    parser.add_argument("--database", default="", help="the database that it has to be of")
    parser.add_argument(
        "--root",
        default="",
        help="a file with an older root that you kept: it has to have grown out of it",
    )
    asked = parser.parse_args(arguments)
    keys = [it.lower() for it in asked.key]
    if not all(HASH_FORM.fullmatch(it) for it in keys):
        parser.error("--key wants 64 hex digits, as `manage.py events key` prints them")
    try:
        root = kept_root(asked.root) if asked.root else None
    except (Refused, OSError) as error:
        parser.error(f"--root cannot be used: {error}")
    pins = Pins(frozenset(keys), asked.database.lower(), root)
    results = [_one(path, pins) for path in asked.packs]
    return 0 if all(results) else 1


def _one(path: str, pins: Pins) -> bool:
    try:
        with open(path, "rb") as file:
            told = check(lines_of(file), pins)
    except (Refused, OSError) as error:
        sys.stdout.write(f"{path}: REFUSED: {error}\n")
        return False
    sys.stdout.write(f"{path}: holds: {told.line()}\n")
    return True


if __name__ == "__main__":
    sys.exit(main())
