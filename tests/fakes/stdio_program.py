"""A tool server by stdio, run as a program: `stdio_program.py DIRECTORY`. It keeps its ledger there.

No SDK: it starts fast, and says on purpose what no SDK would. See `stdio_server` for what it can be told.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(sys.argv[1])
LOCK = threading.Lock()
MET: list[int] = []
TOOLS = ("create_issue", "get_issue", "find_issue", "refuse", "say", "environment")


def main() -> None:
    """Answer line by line; each call in a thread of its own."""
    remember("starts", {"pid": os.getpid()})
    before = taken("start")
    if before.get("say_stderr"):
        os.write(2, before["say_stderr"].encode())
    if before.get("exit"):
        sys.exit(before["exit"])
    if before.get("deaf"):
        time.sleep(60)
    if before.get("helper"):
        helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        remember("helpers", {"pid": helper.pid})
    for line in sys.stdin.buffer:
        message = json.loads(line)
        remember("received", message)
        if "method" in message and "id" in message:
            threading.Thread(target=answer, args=(message,), daemon=True).start()
        if message.get("method") == "tools/call" and taken("reading").get("stop"):
            time.sleep(60)
    if (HERE / "stubborn").exists():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)


def answer(message: dict[str, Any]) -> None:
    """Do what is asked and say what the test told us to say."""
    method, params = message["method"], message.get("params") or {}
    told = taken(params["name"] if method == "tools/call" else method)
    meet(told.get("together", 0))
    time.sleep(told.get("before", 0))
    if told.get("die_before"):
        os._exit(9)
    reply = {"jsonrpc": "2.0", "id": message["id"], **answered(method, params)}
    time.sleep(told.get("after", 0))
    if told.get("die_after"):
        os._exit(9)
    for line in told.get("first", []):
        write(line.encode())
    if told.get("flood"):
        while True:
            write(b"x" * 65536, end=b"")
    if told.get("garbage"):
        for _ in range(told["garbage"]):
            write(b"this is no message")
    if told.get("rpc_error"):
        reply = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "error": {"code": told["rpc_error"], "message": "as told"},
        }
    if told.get("raw"):
        said = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{told["raw"]}}}'
        write(said.encode())
    elif not told.get("silent"):
        write(json.dumps(reply).encode())


def meet(number: int) -> None:
    """Wait until so many that are told to go on together have come."""
    if number:
        MET.append(number)
    while len(MET) < number:
        time.sleep(0.01)


def answered(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a well-behaved server of the older protocol answers."""
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "fake", "version": "1"}
        return {
            "result": {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
        }
    if method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
        return {"result": {"tools": tools}}
    if method == "tools/call":
        return {"result": called(params)}
    return {"error": {"code": -32601, "message": f"there is no {method}"}}


def called(params: dict[str, Any]) -> dict[str, Any]:
    """Run a tool, into the ledger."""
    name, args = params["name"], params.get("arguments") or {}
    with LOCK:
        remember("ledger", {"tool": name, "args": args, "meta": params.get("_meta") or {}})
        number = len((HERE / "ledger").read_text().splitlines())
    if name == "refuse":
        return {"isError": True, "content": [{"type": "text", "text": args["why"]}]}
    if name == "say":
        return {"content": [{"type": "text", "text": args["text"]}]}
    if name == "find_issue":
        rows = [json.loads(line) for line in (HERE / "ledger").read_text().splitlines()]
        kept = [row["args"] for row in rows if row["tool"] == "create_issue"]
        found = [it for it in kept if it.get("step_key") == args["step_key"]]
        return {"structuredContent": {"issues": found}, "content": []}
    if name == "environment":
        return {"structuredContent": dict(os.environ), "content": []}
    issue = {"id": args["id"]} if name == "get_issue" else {"id": f"OPS-{number}"}
    return {"structuredContent": issue, "content": []}


def taken(name: str) -> dict[str, Any]:
    """What was said of the next thing of this name; each is taken once."""
    with LOCK:
        for file in sorted((HERE / "next").glob(f"{name.replace('/', '_')}-*")):
            told: dict[str, Any] = json.loads(file.read_text())
            file.unlink()
            return told
    return {}


def remember(what: str, value: dict[str, Any]) -> None:
    """Append a line to a file of that name."""
    with (HERE / what).open("a") as file:
        file.write(json.dumps(value) + "\n")


def write(line: bytes, end: bytes = b"\n") -> None:
    """Write a line whole, beside other threads."""
    with LOCK:
        sys.stdout.buffer.write(line + end)
        sys.stdout.buffer.flush()


main()
