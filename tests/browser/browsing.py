"""A browser that tells what went wrong on a page: its console, what the policy refused, and whom it asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (  # type: ignore[import-not-found,unused-ignore]
    Browser,
    Page,
    sync_playwright,
)

from tests.browser.scene import Scene, open_scene

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTH, HEIGHT = 1280, 800
# Pictures of the pages are kept there, where it is set.
SHOTS = os.environ.get("SHOTS", "")
# What a page was still fetching when it was left.
LEFT = "net::ERR_ABORTED"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# The tables that leave their card, or the list's frame, beyond its right edge.
TOO_WIDE = """
[...document.querySelectorAll('.liy-card table, .liy-step table, table#result_list')].filter(it => {
    const frame = it.closest('.liy-card, .liy-step') || it.parentElement;
    return it.getBoundingClientRect().right > frame.getBoundingClientRect().right + 0.5;
}).map(it => (it.closest('[id]') || it).id)
"""


@dataclass(slots=True, kw_only=True)
class Console:
    """The console in a browser, logged in."""

    page: Page
    scene: Scene
    said: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note from now on what is refused or fails, and whom a page asks."""
        ours, said = urlsplit(self.scene.url).netloc, self.said
        self.page.on(
            "console",
            lambda it: said.append(f"{it.type}: {it.text}") if it.type in {"error", "warning"} else None,
        )  # fmt: skip
        self.page.on(
            "response",
            lambda it: said.append(f"{it.status}: {it.url}") if it.status >= 400 else None,
        )
        self.page.on("pageerror", lambda it: said.append(f"error: {it}"))
        self.page.on(
            "requestfailed",
            lambda it: said.append(f"failed: {it.url} {it.failure}") if it.failure != LEFT else None,
        )  # fmt: skip
        self.page.on(
            "request",
            lambda it: said.append(f"asked {it.url}") if urlsplit(it.url).netloc not in {ours, ""} else None,
        )  # fmt: skip

    def log_in(self) -> None:
        """Log in through the console's own form."""
        self.open("/admin/login/", "login")
        self.page.fill("input[name=username]", self.scene.name)
        self.page.fill("input[name=password]", self.scene.password)
        self.page.click("button[type=submit]")
        self.page.wait_for_load_state("networkidle")

    def open(self, path: str, name: str = "") -> None:
        """Open a page and see that all is well with it."""
        response = self.page.goto(f"{self.scene.url}{path}", wait_until="networkidle")
        assert response is not None
        assert response.status == 200, (path, response.status)
        self.check(path)
        self.picture(name)

    def check(self, path: str) -> None:
        """Nothing was refused or failed, nobody else was asked, and nothing lies beyond the right edge."""
        assert self.said == [], (path, self.said)
        beyond = self.page.evaluate(OVERFLOW)
        assert beyond == 0, f"{path} is {beyond} pixels too wide"
        if self.page.viewport_size == {"width": WIDTH, "height": HEIGHT}:
            assert self.page.evaluate(TOO_WIDE) == [], f"tables of {path} are too wide"

    def picture(self, name: str) -> None:
        """Keep what is seen, and all of the page."""
        if name and SHOTS:
            directory = Path(SHOTS)
            directory.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=directory / f"{name}.png")
            self.page.screenshot(path=directory / f"{name}-full.png", full_page=True)


@pytest.fixture(scope="session")
def scene() -> Iterator[Scene]:
    """The scene, set once. Not below pytest's own directories: the database's user may not enter those."""
    with (
        tempfile.TemporaryDirectory(prefix="liyagent-browser-") as directory,
        open_scene(Path(directory)) as opened,
    ):
        yield opened


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a screen."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def console(scene: Scene, browser: Browser) -> Iterator[Console]:
    """The console, an administrator logged in through its own form."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    console = Console(page=context.new_page(), scene=scene)
    console.watch()
    console.log_in()
    yield console
    context.close()
