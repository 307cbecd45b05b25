"""Pages of reports in a browser: what they show, in both themes, and by the keyboard alone."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

FSDP = ("run", "examples/gates/fsdp.toml", "--quiet")
Opens = Callable[[Path], Page]
Writes = Callable[..., Path]


def kinds(page: Page) -> list[str | None]:
    return [each.get_attribute("data-kind") for each in page.query_selector_all("main section")]


def keep(page: Page, name: str) -> None:
    """Writes a picture of the page where a folder for them is named."""
    folder = os.environ.get("SIMMESH_SCREENSHOTS")
    if folder:
        theme = page.evaluate(
            "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'"
        )
        page.screenshot(path=f"{folder}/{name}-{theme}.png", full_page=True)


def write_data(folder: Path, data: object, template: Path) -> Path:
    """A page with other data."""
    head, _, rest = template.read_text().partition('id="data">')
    path = folder / "other.html"
    path.write_text(head + 'id="data">' + json.dumps(data) + rest[rest.index("</script>") :])
    return path


# A passing gate shows all its parts.
def test_a_gate_has_its_sections(opened: Opens, pages: Writes) -> None:
    page = opened(pages(*FSDP))
    found = kinds(page)
    for kind in ("checks", "mesh", "shardings", "timeline", "memory", "table", "text"):
        assert kind in found
    assert "10 passed, 0 failed" in page.inner_text("header")
    assert page.title() == "simmesh run examples/gates/fsdp.toml"
    keep(page, "gate")


# Each section is a region with a heading, and each control has a name that a screen reader says.
def test_everything_has_a_name(opened: Opens, pages: Writes) -> None:
    page = opened(pages(*FSDP))
    unnamed = page.evaluate("""() =>
      [...document.querySelectorAll('button, select, input, a, [role], section')]
      .filter((each) => {
        const by = document.getElementById(each.getAttribute('aria-labelledby'));
        return !(each.getAttribute('aria-label') || by?.textContent ||
          each.textContent.trim() || each.getAttribute('role') === 'status');
      }).map((each) => each.outerHTML.slice(0, 120))""")
    assert unnamed == []
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map((each) => each.tagName)"
    )
    assert levels[:3] == ["H1", "H2", "H3"]


# A text is read on its ground: the contrast is at least that of WCAG's level AA.
def test_texts_have_contrast(opened: Opens, pages: Writes) -> None:
    page = opened(pages(*FSDP))
    low = page.evaluate("""() => {
      const parts = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (each) => {
        for (let at = each; at; at = at.parentElement) {
          const colour = parts(getComputedStyle(at).backgroundColor);
          if (colour.length < 4 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
      };
      const texts = 'p, td, th, h1, h2, h3, dt, dd, code, button, summary, li';
      return [...document.querySelectorAll(texts)]
        .filter((each) => each.textContent.trim() && !each.disabled)
        .map((each) => {
          const [a, b] = [light(parts(getComputedStyle(each).color)), light(ground(each))];
          return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), each.outerHTML.slice(0, 80)];
        }).filter(([ratio]) => ratio < 4.5);
    }""")
    assert low == []


def test_the_switch_changes_the_theme(opened: Opens, pages: Writes) -> None:
    page = opened(pages(*FSDP))
    grounds = set()
    for words in ("as the system", "light", "dark"):
        assert words in page.inner_text("#theme")
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.focus("#theme")
        page.keyboard.press("Enter")
    assert len(grounds) == 2


def test_the_mesh_is_stepped_through_by_keys(opened: Opens, pages: Writes) -> None:
    page = opened(pages("run", "examples/gates/hsdp.toml", "--quiet"))
    steps = page.locator("section[data-kind=mesh] .steps")
    first = steps.inner_text()
    steps.focus()
    page.keyboard.press("ArrowRight")
    assert steps.inner_text() != first
    assert "2 of 3" in page.inner_text("#said")
    page.keyboard.press("ArrowLeft")
    assert steps.inner_text() == first


def test_a_sharding_has_a_picture_and_a_table(opened: Opens, pages: Writes) -> None:
    page = opened(pages(*FSDP))
    section = page.locator("section[data-kind=shardings]")
    assert section.locator("svg rect").count() == 8
    section.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "(7)" in section.locator("table").inner_text()


# Without a mouse: choose an operation, zoom, search, and read the track as a table.
def test_the_timeline_works_by_keys(opened: Opens, pages: Writes) -> None:
    page = opened(pages(*FSDP))
    section = page.locator("section[data-kind=timeline]")
    told = section.locator(".told")
    section.locator(".timeline").focus()
    page.keyboard.press("ArrowRight")
    assert told.inner_text().startswith("rank 0, all_gather, operation 1 of")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert "compute" in told.inner_text()
    before = told.inner_text()
    page.keyboard.press("ArrowRight")
    assert told.inner_text() != before
    for key in ("+", "+", "-", "Home"):
        page.keyboard.press(key)
    page.keyboard.press("/")
    page.keyboard.type("reduce_scatter")
    assert "matches" in section.inner_text()
    page.keyboard.press("Enter")
    assert ": reduce_scatter" in told.inner_text()
    section.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "reduce_scatter" in section.locator("table").inner_text()
    section.locator("input[type=number]").fill("5")
    page.keyboard.press("Enter")
    assert "rank 5" in told.inner_text()


# Something is drawn on the canvas, in the theme's colours.
def test_the_timeline_is_drawn(opened: Opens, pages: Writes) -> None:
    page = opened(pages(*FSDP))
    page.locator("section[data-kind=timeline]").scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    colours = page.evaluate("""() => {
      const canvas = document.querySelector('.timeline canvas');
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
      return seen.size;
    }""")
    assert colours > 10


def test_a_deadlock_has_its_ranks_and_lines(opened: Opens, pages: Writes, tmp_path: Path) -> None:
    text = (
        "[engine/deadlock] no rank can run, 2 of 2 have not returned\n"
        "  rank 0: waited in all_reduce #4 of dp [0, 1], float32[4, 2], train.py:42\n"
        "  rank 1: waited in barrier #4 of dp [0, 1], train.py:57\n"
        "  cycle: rank 0 -> rank 1 -> rank 0"
    )
    section = {"kind": "failure", "title": "A deadlock", "text": text}
    entry = {"name": "test <b>", "passed": False, "sections": [section]}
    data = {"title": "t", "summary": "1 failed", "passed": False, "entries": [entry]}
    page = opened(write_data(tmp_path, data, pages(*FSDP)))
    table = page.inner_text("section[data-kind=failure] table")
    for words in ("rank 0", "train.py:42", "rank 1", "train.py:57", "barrier #4 of dp [0, 1]"):
        assert words in table
    assert "cycle: rank 0" in page.inner_text("main li")
    assert page.inner_text("h2") == "test <b>"
    keep(page, "deadlock")


def test_a_fault_shows_both_tensors(opened: Opens, pages: Writes, tmp_path: Path) -> None:
    section = {
        "kind": "fault", "title": "The first fault", "where": "rank 1, weight",
        "facts": [["operator", "aten.mm"]],
        "expected": {"rows": [[1.0, 2.0], [3.0, 4.0]], "about": "float32[2, 2]"},
        "got": {"rows": [[1.0, 2.0], [3.0, 4.5]], "about": "float32[2, 2]"},
    }  # fmt: skip
    entry = {"name": "e", "passed": False, "sections": [section]}
    data = {"title": "t", "summary": "1 failed", "passed": False, "entries": [entry]}
    page = opened(write_data(tmp_path, data, pages(*FSDP)))
    assert [each.inner_text() for each in page.query_selector_all("td.differs")] == ["4", "4.5"]
    keep(page, "fault")


# A page of a large job opens at once: only rows that can be seen are drawn.
def test_a_thousand_ranks_open_without_a_pause(
    opened: Opens, pages: Writes, tmp_path: Path
) -> None:
    spans = [[1, 2, i % 20] * 150 for i in range(1024)]
    tracks = [{"rank": i, "begin": i, "spans": i} for i in range(1024)]
    labels = [[f"operation {i}", f"a.py:{i}"] for i in range(20)]
    timeline = {
        "kind": "timeline", "title": "Timeline", "unit": "event", "about": "", "labels": labels,
        "spans": spans, "tracks": tracks,
    }  # fmt: skip
    mesh = {"kind": "mesh", "title": "Mesh", "shape": [32, 32], "names": ["dp", "tp"], "uses": {}}
    entry = {"name": "e", "passed": True, "sections": [mesh, timeline]}
    data = {"title": "t", "summary": "1 passed", "passed": True, "entries": [entry]}
    path = write_data(tmp_path, data, pages(*FSDP))
    begin = time.monotonic()
    page = opened(path)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
    print(
        f"a page of 1024 ranks and {len(spans) * 150} operations: {time.monotonic() - begin:.2f} s"
    )
    rows = page.evaluate("""() => {
      const box = document.querySelector('.timeline');
      return [box.clientHeight, box.scrollHeight, document.querySelectorAll('.timeline *').length];
    }""")
    assert rows[1] > 1024 * 20 and rows[2] == 2
    page.locator(".timeline").focus()
    for _ in range(3):
        page.keyboard.press("PageDown")
    assert page.inner_text(".told").startswith("rank 48")


# The parts of a report of several gates are links; the address keeps the part.
def test_several_gates_have_an_overview(opened: Opens, pages: Writes) -> None:
    page = opened(pages("run", "examples/gates/mlp.toml", "examples/gates/nodes.toml", "--quiet"))
    assert page.inner_text("main h2") == "Overview"
    page.locator("nav a", has_text="nodes.toml").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('main h2').textContent.includes('nodes')")
    assert page.url.endswith("#1")
    assert page.evaluate("document.activeElement.id") == "main"
    page.fill("nav input", "mlp")
    assert page.locator("nav li:visible").count() == 2
    keep(page, "several")
