"""Builds the pages as a site: ``./dev docs --site``.

The pages of the tree are copied, each to its own place, below build/site/source, so that links
among them stay as they are. The reference is made of the public headers and of the Python package
with the stub of its C++ side. Sphinx makes HTML with a search of them, and fails for a link that
leads nowhere.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cpp_reference import header_page, public_headers
from python_reference import MODULES, module_page

ROOT = Path(__file__).resolve().parent.parent

#: The folders and pages of the tree that the site has, by the titles of their parts.
PARTS = {
    "Tutorials": ["docs/tutorials"],
    "Guides": ["docs/guides"],
    "Pages": ["docs"],
    "The museum": ["docs/museum"],
    "Reference": ["reference/python", "reference/cpp"],
    "The project": ["CHANGELOG.md", "CONTRIBUTING.md", "tests/cases"],
}

_LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^)\s]+)\)")

_CONFIGURATION = """
project = "simmesh"
html_title = "simmesh {version}"
extensions = ["myst_parser"]
root_doc = "index"
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
myst_heading_anchors = 6
myst_enable_extensions = []
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
"""


def pages() -> list[Path]:
    """The pages of the tree that the site has."""
    found = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found += (ROOT / "tests" / "cases").rglob("README.md")
    return [*found, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]


def target_of(page: Path, link: str) -> Path:
    """The file or folder of the tree that a link names."""
    return Path(os.path.normpath(page.parent / link.partition("#")[0]))


def rewritten(page: Path, text: str, known: set[Path]) -> str:
    """A page for the site. A link to a folder leads to its page, and to a file that is no page, to
    nothing: the site doesn't have it.
    """

    def replace(match: re.Match[str]) -> str:
        words, link = match.groups()
        if "://" in link or link.startswith(("#", "mailto:")):
            return match[0]
        target, anchor = target_of(page, link), link.partition("#")[2]
        if target.is_dir():
            target /= "README.md"
        if target == ROOT / "README.md":
            target = ROOT / "index.md"
        elif target.suffix == ".svg":
            return match[0]
        elif target not in known:
            return words[1:-1] if target.exists() else match[0]
        path = os.path.relpath(target, page.parent)
        return f"{words}({path}{'#' + anchor if anchor else ''})"

    return "".join(
        part if is_code else _LINK.sub(replace, part) for is_code, part in _parts_of(text)
    )


def _parts_of(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a page between and within its fenced blocks."""
    for index, part in enumerate(re.split(r"(^```.*?^```[^\n]*\n)", text, flags=re.M | re.S)):
        yield index % 2 == 1, part


def write(source: Path, package: Path) -> None:
    """Writes the sources of the site into a folder; `package` is where Python finds simmesh."""
    shutil.rmtree(source, ignore_errors=True)
    known = set(pages())
    for page in known:
        place = source / page.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(rewritten(page, page.read_text(encoding="utf-8"), known), "utf-8")
    shutil.copytree(ROOT / "docs" / "pictures", source / "docs" / "pictures")
    os.replace(source / "README.md", source / "index.md")
    for header in public_headers(ROOT):
        _write(source / "reference" / "cpp" / f"{header}.md", header_page(ROOT, header))
    for module in MODULES:
        _write(source / "reference" / "python" / f"{module}.md", module_page(package, module))
    _write_contents(source)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_contents(source: Path) -> None:
    """Adds the table of contents to the first page."""
    lines = []
    for title, places in PARTS.items():
        lines += ["", "```{toctree}", ":hidden:", ":maxdepth: 1", f":caption: {title}", ""]
        for place in places:
            folder = source / place
            found = [folder] if folder.suffix == ".md" else _pages_in(folder)
            lines += [str(each.relative_to(source).with_suffix("")) for each in found]
        lines.append("```")
    with (source / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n".join([*lines, ""]))


def _pages_in(folder: Path) -> list[Path]:
    """The pages of a folder, the one about the folder itself first."""
    is_deep = "cases" in folder.parts or "reference" in folder.parts
    found = folder.rglob("*.md") if is_deep else folder.glob("*.md")
    return sorted(found, key=lambda page: (page.name != "README.md", str(page)))


def main() -> int:
    """Builds the site, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--package", type=Path, default=ROOT / "build" / "release" / "python")
    options = parser.parse_args()
    out = options.out
    source = out / "source"
    write(source, options.package)
    found = re.search(r"project\(simmesh VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert found is not None
    (source / "conf.py").write_text(_CONFIGURATION.format(version=found[1]), encoding="utf-8")
    html = out / "html"
    shutil.rmtree(html, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    status = subprocess.run([*command, str(source), str(html)], check=False).returncode
    if status == 0:
        print(f"{sum(1 for _ in html.rglob('*.html'))} pages in {html}")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
