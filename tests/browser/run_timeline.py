"""A run read from top to bottom in a browser, in light, dark and on a phone: `make test-browser`. Pictures are kept where SHOTS is set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.browsing import HEIGHT, WIDTH, Console
from tests.browser.timeline_story import Story, tell_story

pytest_plugins = ("tests.browser.browsing",)
# The story is told within the first test: a process is lost, and a person decides.
pytestmark = pytest.mark.timeout(600)
DARK = "document.documentElement.classList.toggle('dark', {on})"
# What of each heading's level is deeper by more than one than the heading before it.
SKIPPED = """
[...document.querySelectorAll('#content h1, #content h2, #content h3, #content h4, #content h5, #content h6')]
    .map(it => +it.tagName[1]).map((it, n, all) => n && it > all[n - 1] + 1 ? `h${it} behind h${all[n - 1]}` : '').filter(Boolean)
"""
# Icons that say something alone, links without a name, and sections without one.
UNNAMED = """
[...document.querySelectorAll('.liy-icon:not([aria-hidden=true])'),
 ...[...document.querySelectorAll('#content a')].filter(it => !it.innerText.trim() && !it.ariaLabel),
 ...[...document.querySelectorAll('#content section, #content nav')].filter(it => !it.ariaLabel && !it.getAttribute('aria-labelledby')),
 ...[...document.querySelectorAll('[aria-labelledby]')].filter(it => !document.getElementById(it.getAttribute('aria-labelledby')))
].map(it => it.outerHTML.slice(0, 120))
"""
TWICE = """
[...document.querySelectorAll('[id]')].map(it => it.id).filter((it, n, all) => all.indexOf(it) < n)
"""
# Of words against what they stand on, the least ratio of luminances: of the timeline and the record.
CONTRAST = """
(() => {
  const light = ([r, g, b]) => { const c = [r, g, b].map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = it => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = it; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const ground = it => { for (; it; it = it.parentElement) { const c = rgba(getComputedStyle(it).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255, 255]; };
  let least = [99, ''];
  for (const it of document.querySelectorAll('#record *, #steps *, #family *, #summary')) {
    if (![...it.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !it.getClientRects().length) continue;
    const [a, b] = [light(rgba(getComputedStyle(it).color)), light(ground(it))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least[0]) least = [ratio, it.outerHTML.slice(0, 160)];
  }
  return least;
})()
"""
LEAST_CONTRAST = 4.5


@pytest.fixture(scope="session")
def story(console: Console) -> Story:
    """What happened in the night."""
    return tell_story(console.scene.place)


@pytest.fixture(params=["light", "dark", "phone"])
def look(console: Console, request: pytest.FixtureRequest) -> Iterator[str]:
    """How the page is looked at; afterwards it is as before."""
    how = str(request.param)
    if how == "phone":
        console.page.set_viewport_size({"width": 390, "height": 844})
    yield how
    console.page.evaluate(DARK.format(on="false"))
    console.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})


def read(console: Console, run: object, how: str, name: str, asked: str = "change/") -> None:
    """Open a page of a run, see that all is well with it and that everybody can read it, and keep a picture."""
    page, path = console.page, f"/admin/runs/run/{run}/{asked}"
    console.open(path)
    if how == "dark":
        page.evaluate(DARK.format(on="true"))
    least, where = page.evaluate(CONTRAST)
    console.picture(f"{name}-{how}")
    assert page.evaluate(SKIPPED) == [], path
    assert page.evaluate(UNNAMED) == [], path
    assert page.evaluate(TWICE) == [], path
    assert least >= LEAST_CONTRAST, (path, how, least, where)


def test_a_run_that_was_lost_is_read_from_top_to_bottom(
    console: Console, story: Story, look: str
) -> None:
    read(console, story.night, look, "timeline-night")
    shown = console.page.inner_text("#steps")
    places = [shown.find(it) for it in ("Started", "servicenow/create_change", "Taken over", "agents/triage-keyed", "Ended: answered")]  # fmt: skip
    assert places == sorted(places)
    assert min(places) >= 0
    assert "Intact" in console.page.inner_text("#record")
    assert console.page.locator(".liy-sub .liy-nested .liy-call").count() >= 3
    assert console.page.locator("#unknown, .liy-row-unknown").count() >= 2


def test_an_approved_call_names_who_decided(console: Console, story: Story, look: str) -> None:
    read(console, story.asked, look, "timeline-asked")
    line = console.page.inner_text("#call-1-0")
    assert "approved by dora" in line
    assert "held by" in line


def test_a_broken_record_is_seen_first_and_leads_to_its_place(
    console: Console, story: Story, look: str
) -> None:
    read(console, story.broken, look, "timeline-broken")
    page = console.page
    assert "Not intact" in page.inner_text("#intact")
    assert "What to do" in page.inner_text("#record")
    page.locator("#intact a").click()
    page.wait_for_load_state("networkidle")
    console.check("the place of a break")
    assert page.locator("#break").is_visible()


def test_what_went_wrong_is_shown_alone(console: Console, story: Story, look: str) -> None:
    read(console, story.night, look, "timeline-failed", "change/?only=failed")
    shown = console.page.inner_text("#steps")
    assert "Taken over" in shown
    assert "Ended" not in shown
    console.page.locator("#steps .liy-entry-head a.liy-link").first.click()
    console.page.wait_for_load_state("networkidle")
    console.check("the place of what went wrong")
    assert console.page.locator(":target").count() == 1


def test_a_stored_event_is_chosen_with_one_click(console: Console, story: Story, look: str) -> None:
    read(console, story.night, look, "timeline-event", "event/3/")
    console.page.locator("#raw pre").click()
    chosen = console.page.evaluate("String(getSelection())")
    assert chosen.strip().startswith("{")
    assert chosen.strip().endswith("}")


def test_a_run_of_two_thousand_events_is_shown_page_by_page(
    console: Console, story: Story, look: str
) -> None:
    read(console, story.long, look, "timeline-long", "change/?steps=2")
    page = console.page
    assert "page 2 of 20" in page.inner_text("#steps-title")
    assert page.locator("#steps .liy-model").count() == 50
    assert "Intact" in page.inner_text("#intact")
    read(console, story.long, look, "timeline-long-failed", "change/?only=failed")
    assert page.locator("#steps .liy-went-wrong").count() == 10
