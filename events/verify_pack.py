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
LEAF_PREFIX, NODE_PREFIX, SEPARATOR = b"\x00", b"\x01", "\x1f"
LONGEST_LINE, LONGEST_LIST, MOST_NUMBER, MOST_MICROSECONDS = 64 << 20, 64, 1 << 62, 1 << 57

# Forms: a pattern for text, `int` for 0 and more, a table for an object, a list for many of one form, a tuple for each place.
UUID_FORM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HASH_FORM = re.compile(r"[0-9a-f]{64}")
SIGNATURE_FORM = re.compile(r"[0-9a-f]{128}")
MISSION_FORM = re.compile(r"[!-~]{1,128}")
MISSING_FORM = re.compile(r'"missing":([0-9]{1,9})')
STATEMENT_FORM = {
    **dict.fromkeys(("at", "epoch", "number"), int),
    **dict.fromkeys(("log", "previous", "public"), HASH_FORM),
    "accepted": object,
    "also": [HASH_FORM],
    "batch": {"certificates": int, "heads": int, "root": HASH_FORM},
    "database": UUID_FORM,
    "domain": re.compile(ROOT_DOMAIN),
    "system": str,
    "totals": dict.fromkeys(("events", "heads", "purged_events", "purged_heads"), int),
}
ROOT_FORM = {"signatures": [(HASH_FORM, SIGNATURE_FORM)], "statement": STATEMENT_FORM}
CHAIN_FORM: dict[str, Any] = dict.fromkeys(("batch", "batch_size", "count", "index"), int)
CHAIN_FORM |= {"correlation_id": UUID_FORM, "hash": HASH_FORM}
CHAIN_FORM |= {"log_path": [HASH_FORM], "path": [HASH_FORM]}
EVENT_FORM = (int, UUID_FORM, int, str, str, str, str, HASH_FORM)
HEADER_FORM = {"about": dict, "database": UUID_FORM, "pack": str, "without_events": int}
END_FORM: dict[str, Any] = {"chains": int, "events": int, "public": HASH_FORM}
END_FORM |= {"sha256": HASH_FORM, "signature": SIGNATURE_FORM}
OLDER_FORM = {"older": ROOT_FORM, "path": [HASH_FORM]}

# Ed25519: the field, the order of its base point, the curve's constant, the base point.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
Y = 46316835694926478169428394003475163141307993866256225615783033603165251855960
POINT_BYTES = 32
Point = tuple[int, int, int, int]
BASE: Point = (X, Y, 1, X * Y % P)


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
    """What a pack, or an exported root, shows beside that it holds."""

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
        root, others = self.root, ", ".join(self.signed_also_by)
        at = datetime.fromtimestamp(root["at"] // 1_000_000, UTC)
        said = [
            self.subject
            and f"{self.subject}: intact, chains: {self.chains}, events: {self.events}, runs ended: {self.ended}",
            self.missing and f"events MISSING, as gaps tell: {self.missing}",
            self.without_events and f"chains WITHOUT EVENTS, left out: {self.without_events}",
            f"root {root['number']} of {at:%Y-%m-%dT%H:%M:%SZ}, database {root['database']}",
            f"signed by {root['public']}",
            others and f"also signed by {others}",
            self.since and f"grown out of root {self.since}",
            self.is_put_back and "THE DATABASE WAS PUT BACK between the two",
        ]
        return "; ".join(str(it) for it in said if it)


def check(lines: Iterable[bytes], pins: Pins) -> Told:
    """Return what a pack, or an exported root, shows. Raises `Refused`, and nothing else whatever it is given."""
    try:
        return _Reader(iter(lines), pins).read()
    except (RecursionError, MemoryError):
        raise Refused("it is nested too deeply, or too large, for a pack") from None


class _Reader:
    """Reads line by line, in bounded memory; signatures are looked at last, since they cost most."""

    def __init__(self, lines: Iterator[bytes], pins: Pins) -> None:
        self.lines, self.pins, self.told = lines, pins, Told()
        self.all, self.before = hashlib.sha256(), ""
        self.signed: list[tuple[str, bytes, str]] = []
        self.seen: set[str] = set()

    def read(self) -> Told:
        line = self._next("there is nothing in it")
        if set(line) == {"root"}:
            self._take_root(line["root"])
        else:
            self._take_pack(line)
        if next(self.lines, None) is not None:
            raise Refused("something follows its end: it was doubled, or added to")
        for public, message, signature in self.signed:
            if not verify_signature(bytes.fromhex(public), message, bytes.fromhex(signature)):
                raise Refused(f"a signature of key {public} does not hold")
        return self.told

    def _take_pack(self, header: dict[str, Any]) -> None:
        self._take_header(header)
        line = self._next("the pack is cut off before its root")
        self._take_root(line.get("root"))
        if self.told.root["database"] != header["database"]:
            raise Refused(f"its root is of another database, {self.told.root['database']}")
        line = self._next("the pack is cut off after its root")
        if "older" in line:
            self._take_older(line)
            line = self._next("the pack is cut off before its first chain")
        elif self.pins.root is not None:
            raise Refused("it does not show that it has grown out of the root that you hold")
        while set(line) == {"chain"}:
            line = self._take_chain(line["chain"])
        self._take_end(line.get("end"))

    def _next(self, if_none: str) -> dict[str, Any]:
        raw = next(self.lines, None)
        if raw is None:
            raise Refused(if_none)
        if not raw.endswith(b"\n"):
            raise Refused("the pack is cut off in the middle of a line")
        self.before = self.all.hexdigest()
        self.all.update(raw)
        try:
            value = json.loads(raw)
            is_same = canonical(value) + b"\n" == raw
        except ValueError:
            raise Refused("a line of it is no JSON: it was changed") from None
        if not is_same or type(value) is not dict:
            raise Refused("a line of it is not as it was written: it was changed")
        return value

    def _take_header(self, header: dict[str, Any]) -> None:
        if not fits(header, HEADER_FORM) or header["pack"] != PACK_DOMAIN:
            raise Refused("it is no evidence pack of this form")
        about = header["about"]
        self.run = about["run"] if fits(about, {"run": UUID_FORM}) else ""
        self.mission = about["mission"] if fits(about, {"mission": MISSION_FORM}) else ""
        if not (self.run or self.mission):
            raise Refused("the pack's first line names neither a run nor a mission")
        self.told.subject = f"run {self.run}" if self.run else f"mission {self.mission}"
        self.told.without_events = header["without_events"]

    def _take_root(self, root: Any) -> None:
        self.told.root = statement = self._statement(root, "root")
        self.told.signed_also_by = statement["also"]
        if self.pins.database not in {"", statement["database"]}:
            raise Refused(f"it is of another database, {statement['database']}")

    def _statement(self, root: Any, name: str) -> dict[str, Any]:
        check_root(root, name)
        statement: dict[str, Any] = root["statement"]
        publics = [public for public, _ in root["signatures"]]
        if publics != [statement["public"], *statement["also"]]:
            raise Refused(f"the {name} is not signed by the keys that it names")
        if self.pins.keys.isdisjoint(publics):
            raise Refused(f"the {name} is signed by another key, {publics[0]}")
        self.signed += [(public, signed_root(statement), it) for public, it in root["signatures"]]
        return statement

    def _take_older(self, line: dict[str, Any]) -> None:
        if not fits(line, OLDER_FORM):
            raise Refused("the older root has not its form")
        older, newer = self._statement(line["older"], "older root"), self.told.root
        if self.pins.root is not None and canonical(older) != canonical(self.pins.root):
            raise Refused("the older root that it has grown out of is not the one that you hold")
        if older["database"] != newer["database"]:
            raise Refused(f"its older root is of another database, {older['database']}")
        self.told.since, self.told.is_put_back = older["number"], older["epoch"] != newer["epoch"]
        old, new = ((it["number"], bytes.fromhex(it["log"])) for it in (older, newer))
        if not is_consistent(old, new, [*map(bytes.fromhex, line["path"])]):
            why = ": the database was put back since" if self.told.is_put_back else ""
            raise Refused(f"its root has not grown out of root {older['number']}{why}")

    def _take_chain(self, chain: Any) -> dict[str, Any]:
        """Read a chain's proofs and its events; return the line behind them."""
        if not fits(chain, CHAIN_FORM):
            raise Refused("a chain has not its form")
        name, count = chain["correlation_id"], chain["count"]
        if name in self.seen:
            raise Refused(f"the chain {name} stands twice")
        self.seen.add(name)
        self._check_place(chain)
        events = _Events(name, self.told, (self.run, self.mission))
        line = self._next(f"the pack is cut off in the chain {name}")
        while set(line) == {"event"}:
            events.take(line["event"])
            line = self._next(f"the pack is cut off in the chain {name}, at event {events.number}")
        if events.number < count:
            raise Refused(f"the chain {name} is cut off: it ends with {events.number} of {count}")
        if events.number > count or events.hash.hex() != chain["hash"]:
            raise Refused(f"the chain {name} does not end as its root says")
        if not events.is_of_subject:
            raise Refused(f"the chain {name} has nothing of the {self.told.subject}")
        self.told.chains += 1
        return line

    def _check_place(self, chain: dict[str, Any]) -> None:
        """The chain's end is a leaf of its batch, and the batch one of the log whose root is signed."""
        name, number, size = chain["correlation_id"], chain["batch"], chain["batch_size"]
        chain_id, digest = (bytes.fromhex(it.replace("-", "")) for it in (name, chain["hash"]))
        leaf, path = (
            head_leaf(chain_id, chain["count"], digest),
            [*map(bytes.fromhex, chain["path"])],
        )
        batch = root_by_inclusion(leaf, index=chain["index"], size=size, path=path)
        if batch is None or not 1 <= number <= self.told.root["number"]:
            raise Refused(f"the chain {name} has no place in a batch")
        leaf, path = batch_leaf(number, size, batch), [*map(bytes.fromhex, chain["log_path"])]
        last = self.told.root["number"]
        log = root_by_inclusion(leaf, index=number - 1, size=last, path=path)
        if log is None or log.hex() != self.told.root["log"]:
            raise Refused(f"the chain {name} does not stand so under the root: one was changed")

    def _take_end(self, end: Any) -> None:
        if not fits(end, END_FORM):
            raise Refused("the pack has a line that belongs to none of its parts")
        here, told = (self.told.chains, self.told.events), (end["chains"], end["events"])
        if here != told:
            raise Refused(f"it has {here} chains and events, not {told}: some are missing or added")
        if not self.told.chains or (self.run and self.told.chains != 1):
            raise Refused("the pack has not the chains that it is about")
        if end["sha256"] != self.before:
            raise Refused("the pack was changed after it was signed")
        if end["public"] not in self.pins.keys:
            raise Refused(f"the pack is signed by another key, {end['public']}")
        self.signed.append((end["public"], signed_pack(end), end["signature"]))


@dataclass(slots=True)
class _Events:
    """The events of one chain, one after the other."""

    chain: str
    told: Told
    subject: tuple[str, str]
    number: int = 0
    hash: bytes = b""
    is_of_subject: bool = False

    def take(self, event: Any) -> None:
        if not fits(event, EVENT_FORM):
            raise Refused(f"what follows event {self.number} of {self.chain} has not its form")
        number, run, _, kind, mission, _, content, claimed = event
        if 1 <= number <= self.number:
            raise Refused(f"event {number} of {self.chain} stands twice or out of order")
        self.number += 1
        if number != self.number:
            raise Refused(f"event {self.number} of the chain {self.chain} is missing")
        text = SEPARATOR.join(map(str, (EVENT_DOMAIN, self.chain, *event[:-1])))
        self.hash = hashlib.sha256((self.hash or genesis(self.chain)) + text.encode()).digest()
        if self.hash.hex() != claimed:
            raise Refused(f"event {number} of the chain {self.chain} was changed")
        self.is_of_subject |= self.subject in {(run, ""), ("", mission)}
        self.told.events += 1
        self.told.ended += kind == "run.ended"
        if kind == "gap":
            told = MISSING_FORM.search(content)
            self.told.missing += int(told[1]) if told else 1


def fits(value: Any, form: Any) -> bool:
    """Whether plain JSON has a form; see above for what a form is."""
    if isinstance(form, re.Pattern):
        return type(value) is str and form.fullmatch(value) is not None
    if isinstance(form, dict):
        is_one = type(value) is dict and value.keys() == form.keys()
        return is_one and all(fits(value[name], it) for name, it in form.items())
    if isinstance(form, list):
        is_one = type(value) is list and len(value) <= LONGEST_LIST
        return is_one and all(fits(it, form[0]) for it in value)
    if isinstance(form, tuple):
        is_one = type(value) is list and len(value) == len(form)
        return is_one and all(map(fits, value, form))
    if form is int:
        return type(value) is int and 0 <= value < MOST_NUMBER
    return form is object or type(value) is form


def check_root(root: Any, name: str = "root") -> None:
    """Raise `Refused` where a root, with its signatures, has not its form."""
    it = root["statement"] if fits(root, ROOT_FORM) else {"number": 0}
    if not it["number"] or it["at"] >= MOST_MICROSECONDS:
        raise Refused(f"the {name} has not its form")


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
    found = _climb(index, size - 1, leaf, path) if 0 <= index < size else None
    return None if found is None else found[1]


def is_consistent(old: tuple[int, bytes], new: tuple[int, bytes], path: Sequence[bytes]) -> bool:
    """Whether a log of so many leaves and that root has grown into the other (RFC 9162, 2.1.4.2)."""
    (old_size, old_root), (new_size, new_root) = old, new
    if old_size >= new_size or old_size <= 0:
        return old == new and not path and old_size > 0
    steps = list(path) if old_size & (old_size - 1) else [old_root, *path]
    first, last = old_size - 1, new_size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    return bool(steps) and _climb(first, last, steps[0], steps[1:]) == (old_root, new_root)


def _climb(
    first: int, last: int, start: bytes, path: Sequence[bytes]
) -> tuple[bytes, bytes] | None:
    """From a node up to the roots: of the log as it was when that node was its last, and as it is."""
    old = new = start
    for it in path:
        if last == 0:
            return None
        if first & 1 or first == last:
            old, new = node_hash(it, old), node_hash(it, new)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            new = node_hash(new, it)
        first, last = first >> 1, last >> 1
    return (old, new) if last == 0 else None


def verify_signature(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether an Ed25519 signature holds (RFC 8032, 5.1.7), in its one canonical form alone."""
    key, commitment = _point(public), _point(signature[:POINT_BYTES])
    scalar = int.from_bytes(signature[POINT_BYTES:], "little")
    if key is None or commitment is None or len(signature) != 2 * POINT_BYTES or scalar >= L:
        return False
    challenge = hashlib.sha512(signature[:POINT_BYTES] + public + message).digest()
    one = _times(scalar, BASE)
    other = _add(commitment, _times(int.from_bytes(challenge, "little") % L, key))
    return all((one[at] * other[2] - other[at] * one[2]) % P == 0 for at in (0, 1))


def _point(data: bytes) -> Point | None:
    """Take a point out of its 32 bytes; None where they are no point, or not its canonical form."""
    sign, y = divmod(int.from_bytes(data, "little"), 1 << 255)
    if len(data) != POINT_BYTES or y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


def _add(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c, d = 2 * one[3] * other[3] * D % P, 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(factor: int, point: Point) -> Point:
    found: Point = (0, 1, 1, 0)
    while factor:
        found = _add(found, point) if factor & 1 else found
        point, factor = _add(point, point), factor >> 1
    return found


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Give a file line by line. Raises `Refused` for a line that is too long to be one."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise Refused("a line of it is longer than any of a pack")
        yield line


def kept_root(path: str) -> dict[str, Any]:
    """Return the statement of a root that was kept. Raises `Refused`, OSError."""
    with open(path, "rb") as file:
        line = file.readline(LONGEST_LINE)
    try:
        root = json.loads(line)["root"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused(f"{path} is no exported root") from None
    check_root(root)
    return dict(root["statement"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the packs that are named; return the exit code."""
    parser = argparse.ArgumentParser(prog="verify_pack.py")
    add = parser.add_argument
    add("packs", nargs="+", metavar="PACK", help="an evidence pack, or an exported root")
    add("--key", action="append", required=True, help="a public key to pin, 64 hex digits")
    add("--database", default="", help="the database that it has to be of")
    add("--root", default="", help="an older root that you kept: it has to have grown out of it")
    asked = parser.parse_args(arguments)
    keys = [it.lower() for it in asked.key]
    if not all(HASH_FORM.fullmatch(it) for it in keys):
        parser.error("--key wants 64 hex digits, as `manage.py events key` prints them")
    try:
        root = kept_root(asked.root) if asked.root else None
    except (Refused, OSError) as error:
        parser.error(f"--root cannot be used: {error}")
    pins = Pins(frozenset(keys), asked.database.lower(), root)
    return 0 if all([_one(path, pins) for path in asked.packs]) else 1  # noqa: C419 - each is told of


def _one(path: str, pins: Pins) -> bool:
    try:
        with open(path, "rb") as file:
            told = check(lines_of(file), pins)
        said, holds = f"holds: {told.line()}", True
    except (Refused, OSError) as error:
        said, holds = f"{'REFUSED' if isinstance(error, Refused) else 'NOT READ'}: {error}", False
    # A file's name is not to be taken for a line of ours.
    sys.stdout.write(f"{ascii(path)[1:-1]}: {said}\n")
    return holds


if __name__ == "__main__":
    sys.exit(main())
