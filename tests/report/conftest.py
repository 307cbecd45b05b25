"""Pages that the command writes, opened in Debian's chromium without a window."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
PROGRAM = os.environ.get("SIMMESH_PROGRAM", str(ROOT / "build/release/bin/simmesh"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser. It has no sandbox, since tests in containers run as root."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--allow-file-access"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Runs the command once for each list of arguments; returns the page that it writes."""
    written: dict[tuple[str, ...], Path] = {}

    def write(*arguments: str) -> Path:
        if arguments not in written:
            path = tmp_path_factory.mktemp("page") / "report.html"
            command = [PROGRAM, *arguments, "--report", str(path)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode in (0, 1), done.stderr
            written[arguments] = path
        return written[arguments]

    return write


@pytest.fixture(params=["light", "dark"])
def opened(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Callable[[Path], Page]]:
    """Opens a page in one theme, and expects that nothing goes to the console or the network."""
    context = browser.new_context(
        color_scheme=request.param, viewport={"width": 1300, "height": 900}
    )
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda asked: (
            None if asked.url.startswith(("file:", "data:")) else troubles.append(asked.url)
        ),
    )

    def open_page(path: Path) -> Page:
        page.goto(path.as_uri())
        page.wait_for_selector("main h2")
        return page

    yield open_page
    context.close()
    assert not troubles
