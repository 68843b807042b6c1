"""A client of MCP: it calls an agent's tool by a key of its own, and asks again by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.fakes.mcp_client import McpUser, asks
from tests.trials.cuts.kinds import ANSWER, TASK
from tests.trials.cuts.ways.visit import Visit

RUN = "io.liyagent/run"


@dataclass(slots=True, kw_only=True)
class Mcp(Visit):
    """A call that does not wait; the same call again where nobody answered, and for its answer."""

    run: str = ""

    def call(self, url: str) -> dict[str, Any]:
        """What the process at `url` answers. Raises `OSError` where that is none."""
        port = urlsplit(url).port
        assert port is not None
        meta = {"io.liyagent/key": self.name}
        call = asks(self.agent, meta=meta, task=TASK, wait_seconds=0)
        answer = McpUser(port=port, token=self.ends.token).post(call)
        result = answer.data.get("result") if isinstance(answer.data, dict) else None
        if not isinstance(result, dict):
            raise OSError(f"no answer: {answer}")
        return result

    def send(self, url: str) -> None:
        result = self.call(url)
        self.run, self.is_answered = result["_meta"][RUN], not result.get("isError")

    def broken(self, url: str, run: str) -> list[str]:
        """The same call is answered with the run's answer, and by that run."""
        result = self.call(url)
        broken = (
            [] if self.run in {"", run} else [f"the call was told {self.run}, its run is {run}"]
        )
        told = (result["_meta"][RUN], [it["text"] for it in result["content"]])
        if told != (run, [ANSWER]):
            return [*broken, f"asked again, it is told {told}"]
        self.answers = 1
        return broken
