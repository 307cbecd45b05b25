"""The reference of the public headers: each header's comments and declarations as a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_INCLUDE = re.compile(r'#include "([^"]+)"')


def listed_headers(text: str) -> list[str]:
    """The headers that cmake/public_headers.cmake lists for programs."""
    found = re.search(r"set\(simmesh_public_headers\n(.*?)\)", text, re.DOTALL)
    assert found is not None
    lines = (line.strip() for line in found[1].splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def public_headers(root: Path) -> list[str]:
    """The headers that programs may include by name."""
    own = _INCLUDE.findall((root / "simmesh.h").read_text(encoding="utf-8"))
    listed = listed_headers((root / "cmake" / "public_headers.cmake").read_text(encoding="utf-8"))
    return sorted({"simmesh.h", *own, *listed})


def blocks(text: str) -> Iterator[list[str]]:
    """The declarations of a header with the comments above them: what blank lines part outside of
    braces. Lines of the preprocessor and of namespaces are left out.
    """
    block: list[str] = []
    depth = 0
    for line in text.splitlines():
        is_frame = line.startswith(("#", "namespace ", "}  // namespace"))
        code = line.partition("//")[0]
        if not is_frame:
            depth += code.count("{") - code.count("}")
        if is_frame or (not line.strip() and depth == 0):
            if block:
                yield block
            block = []
        else:
            block.append(line)
    if block:
        yield block


def header_page(root: Path, header: str) -> str:
    """The page of a header: each comment as text, and the declarations below it as code."""
    lines = [f"# {header}", "", "```cpp", f"#include <simmesh/{header}>", "```", ""]
    for block in blocks((root / header).read_text(encoding="utf-8")):
        count = next((i for i, line in enumerate(block) if not line.startswith("//")), len(block))
        comment, code = block[:count], block[count:]
        lines += prose([line[2:] for line in comment])
        if code:
            lines += ["", "```cpp", *code, "```", ""]
    return "\n".join(lines) + "\n"


def prose(lines: list[str]) -> list[str]:
    """A comment as Markdown. Its examples, which are indented, become code."""
    found: list[str] = []
    is_code = False
    for line in lines:
        example = line.startswith("   ")
        if example != is_code:
            found += ["", "```cpp"] if example else ["```", ""]
            is_code = example
        found.append(line[3:] if example else escaped(line.strip()))
    return [*found, "```", ""] if is_code else [*found, ""]


def escaped(line: str) -> str:
    """A line of plain text in Markdown, which must not read it as markup."""
    return re.sub(r"([\\`*_\[\]<>#|~$])", r"\\\1", line)
