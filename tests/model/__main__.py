"""`python -m tests.model`: visit every state of the protocol's models, with all guards and with one taken out.

Arguments are parts of the names of models or variants; without any, all are tried. One line for each: model, variant,
states, expected, seen. Exit code 1 at the first surprise, which is named, or where spin or cc is missing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.model.variants import VARIANTS, Variant
from tests.model.verdict import BREAKS, HOLDS, Seen, line_of, seen_in

HERE = Path(__file__).resolve().parent
WORKERS = 2
MOST_SECONDS = 300
# Safety alone is claimed; that nothing waits for ever is an assertion at a `timeout`.
COMPILE = ("cc", "-w", "-DSAFETY", "-DMEMLIM=1500", "-o", "pan", "pan.c")
# What breaks does so early: there the compiler's time is most of it. -O2 compiles twice as long as -O1 and is no faster.
OPTIMIZED = {HOLDS: "-O1", BREAKS: "-O0"}
# -E: a process that waits at the end is no error; -b: reaching the depth is one.
SEARCH = ("./pan", "-E", "-b", "-m100000", "-w22")


def main(arguments: list[str]) -> int:
    """Try the variants and return the exit code."""
    if not shutil.which("spin") or not shutil.which("cc"):
        _say("spin and cc are needed: apt-get install spin gcc", to=sys.stderr)
        return 1
    wanted = [
        it
        for it in VARIANTS
        if not arguments or any(word in f"{it.model} {it.name}" for word in arguments)
    ]
    if not wanted:
        _say(f"no model or variant is named {' or '.join(arguments)}", to=sys.stderr)
        return 1
    began = time.monotonic()
    with ThreadPoolExecutor(WORKERS) as workers:
        for variant, seen in zip(wanted, workers.map(searched, wanted), strict=True):
            expected = variant.expected
            _say(line_of(model=variant.model, name=variant.name, expected=expected, seen=seen))
            if seen.outcome != expected:
                workers.shutdown(wait=False, cancel_futures=True)
                told = f"{variant.model}, {variant.name}: expected {expected}, seen: {seen.outcome}"
                _say(f"\nsurprise: {told}\n  flags: {' '.join(variant.defines)}", to=sys.stderr)
                return 1
    _say(f"{len(wanted)} variants as expected, {time.monotonic() - began:.0f} s")
    return 0


def searched(variant: Variant) -> Seen:
    """Compile a variant in a directory of its own and visit its states, within `MOST_SECONDS`."""
    with tempfile.TemporaryDirectory(prefix="liyagent-model-") as directory:
        place = Path(directory)
        shutil.copy(HERE / f"{variant.model}.pml", place)
        output = ""
        commands = (
            ("spin", "-a", *variant.defines, f"{variant.model}.pml"),
            (*COMPILE, OPTIMIZED[variant.expected]),
            SEARCH,
        )
        for command in commands:
            try:
                ran = subprocess.run(
                    command,
                    cwd=place,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=MOST_SECONDS,
                )
            except subprocess.TimeoutExpired:
                return Seen(outcome=f"{command[0]} did not end in {MOST_SECONDS} s")
            output = ran.stdout + ran.stderr
            if command is not SEARCH and (ran.returncode or "error" in ran.stdout.lower()):
                return Seen(outcome=f"{command[0]} failed: {output.strip()[:500]}")
        return seen_in(output)


def _say(text: str, *, to: object = None) -> None:
    stream = sys.stderr if to is sys.stderr else sys.stdout
    stream.write(f"{text}\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
