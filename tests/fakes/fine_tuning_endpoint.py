"""A real local endpoint of OpenAI's files and fine-tuning jobs, with a ledger of what it made.

In tests: `with FineTuningEndpoint() as endpoint: ... endpoint.base_url`. By hand: `python -m tests.fakes.fine_tuning_endpoint --port 8098`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

JOBS = "/fine_tuning/jobs"
TAKEN = ("model", "training_file", "suffix", "metadata")
ENDED = ("succeeded", "failed", "cancelled")


@dataclass(slots=True, kw_only=True)
class Quirk:
    """What happens to the next request of a kind: `before` it is made nothing of, `after` its answer is lost."""

    status: int = 0
    is_after: bool = False
    hangs_up: bool = False
    headers: dict[str, str] = field(default_factory=dict)


class FineTuningEndpoint:
    """Makes files and jobs. A job succeeds at the `asks`-th question about it; `on_made` is called once something is made."""

    def __init__(self, *, port: int = 0, asks: int = 2) -> None:
        self.files: dict[str, dict[str, Any]] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.contents: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.cancelled: list[str] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.quirks: dict[tuple[str, str], list[Quirk]] = {}
        self.on_made: Callable[[str], None] = lambda _kind: None
        self.asks = asks
        self.asked: dict[str, int] = {}
        self.lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def next(self, method: str, path: str, **quirk: Any) -> None:
        """Answer the next such request as the quirk says."""
        self.quirks.setdefault((method, path), []).append(Quirk(**quirk))

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the only file."""
        (content,) = self.contents.values()
        return [json.loads(it) for it in content.splitlines()]

    def make_file(self, name: str, content: bytes) -> dict[str, Any]:
        with self.lock:
            made: dict[str, Any] = {"id": f"file-{len(self.contents) + 1}", "object": "file", "filename": name, "purpose": "fine-tune", "bytes": len(content)}  # fmt: skip
            self.files[made["id"]] = made
            self.contents[made["id"]] = content
        self.on_made("file")
        return made

    def make_job(self, asked: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            made: dict[str, Any] = {
                "id": f"ftjob-{len(self.jobs) + 1}",
                "object": "fine_tuning.job",
                "status": "validating_files",
                "fine_tuned_model": None,
                "error": None,
                **{name: asked.get(name) for name in TAKEN},
            }
            self.jobs[made["id"]] = made
        self.on_made("job")
        return made

    def look(self, job_id: str) -> dict[str, Any] | None:
        with self.lock:
            job = self.jobs.get(job_id)
            if job is not None and job["status"] not in ENDED:
                self.asked[job_id] = self.asked.get(job_id, 0) + 1
                job["status"] = "running"
                if self.asked[job_id] >= self.asks:
                    job["status"] = "succeeded"
                    job["fine_tuned_model"] = f"ft:{job['model']}:acme:{job['suffix']}:1"
            return dict(job) if job else None

    def cancel(self, job_id: str) -> dict[str, Any] | None:
        with self.lock:
            job = self.jobs.get(job_id)
            if job is None or job["status"] in ENDED:
                return None
            job["status"] = "cancelled"
            self.cancelled.append(job_id)
            return dict(job)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._carry(lambda path, query, _body: _got(endpoint, path, query))

            def do_POST(self) -> None:
                self._carry(lambda path, _query, body: _posted(endpoint, path, body, self.headers))

            def do_DELETE(self) -> None:
                self._carry(lambda path, _query, _body: _deleted(endpoint, path))

            def _carry(self, act: Callable[[str, dict[str, str], bytes], dict[str, Any] | None]) -> None:  # fmt: skip
                split = urlsplit(self.path)
                path = split.path.removeprefix("/v1")
                query = {name: values[-1] for name, values in parse_qs(split.query).items()}
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                endpoint.requests.append((self.command, path, {k.lower(): v for k, v in self.headers.items()}))  # fmt: skip
                waiting = endpoint.quirks.get((self.command, path)) or [Quirk()]
                quirk = waiting.pop(0)
                made = act(path, query, body) if quirk.is_after or not (quirk.status or quirk.hangs_up) else {}  # fmt: skip
                if quirk.hangs_up:
                    self.close_connection = True
                    return
                status = quirk.status or (200 if made is not None else 404)
                told = made if status == 200 else {"error": {"message": f"no: {path}"}}
                content = json.dumps(told).encode()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in quirk.headers.items():
                        self.send_header(name, value)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        return Handler


def _got(endpoint: FineTuningEndpoint, path: str, query: dict[str, str]) -> dict[str, Any] | None:
    if path in ("/files", JOBS):
        rows = list((endpoint.files if path == "/files" else endpoint.jobs).values())[::-1]
        ids = [it["id"] for it in rows]
        first = ids.index(query["after"]) + 1 if query.get("after") in ids else 0
        last = first + int(query.get("limit", 20))
        return {"object": "list", "data": rows[first:last], "has_more": last < len(rows)}
    return endpoint.look(path.removeprefix(f"{JOBS}/"))


def _posted(endpoint: FineTuningEndpoint, path: str, body: bytes, headers: Any) -> dict[str, Any] | None:  # fmt: skip
    if path == "/files":
        form = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {headers['content-type']}\r\n\r\n".encode() + body)  # fmt: skip
        part = next(it for it in form.walk() if it.get_filename())
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        return endpoint.make_file(part.get_filename() or "", content)
    if path == JOBS:
        return endpoint.make_job(json.loads(body))
    return endpoint.cancel(path.removeprefix(f"{JOBS}/").removesuffix("/cancel"))


def _deleted(endpoint: FineTuningEndpoint, path: str) -> dict[str, Any] | None:
    gone = endpoint.files.pop(path.removeprefix("/files/"), None)
    if gone is None:
        return None
    endpoint.deleted.append(gone["id"])
    return {"id": gone["id"], "deleted": True}


def main() -> None:
    """Serve until it is stopped, and tell what is made."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8098)
    with FineTuningEndpoint(port=parser.parse_args().port) as endpoint:
        endpoint.on_made = lambda kind: print(f"made a {kind}", flush=True)  # noqa: T201
        print(endpoint.base_url, flush=True)  # noqa: T201
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)


if __name__ == "__main__":
    main()
