"""The site has the pages of the tree, with links that lead to them, and a reference of all that is
public, each part of which is documented.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from changed_files import ROOT
from cpp_reference import blocks, escaped, header_page, listed_headers, prose, public_headers

griffe = pytest.importorskip("griffe")

from make_site import PARTS, pages, rewritten  # noqa: E402
from python_reference import MODULES, module_page, public_names, undocumented  # noqa: E402

PACKAGE = ROOT / "build" / "release" / "python"
PAGE = ROOT / "docs" / "gates.md"


def test_links_lead_to_pages_of_the_site() -> None:
    """Would fail if a link of a page led out of the site."""
    known = set(pages())

    def of(text: str) -> str:
        return rewritten(PAGE, text, known)

    assert of("[a](fsdp.md#x) [b](https://x.org) [c](#y)") == (
        "[a](fsdp.md#x) [b](https://x.org) [c](#y)"
    )
    assert of("[a](../README.md#z)") == "[a](../index.md#z)"
    assert of("[a](museum)") == "[a](museum/README.md)"
    assert of("[a `b`](../core/check/error.h)") == "a `b`"
    assert of("![a](pictures/plan.svg)") == "![a](pictures/plan.svg)"
    assert of("[a](none.md)") == "[a](none.md)", "so that the site fails"
    assert of("```\n[a](../README.md)\n```\n") == "```\n[a](../README.md)\n```\n"


def test_every_page_is_in_the_contents() -> None:
    """Would fail if nobody found a page of the site."""
    places = [ROOT / place for part in PARTS.values() for place in part]
    for page in set(pages()) - {ROOT / "README.md"}:
        assert any(page == place or place in page.parents for place in places), page


def test_a_header_is_read_as_text_and_code() -> None:
    """Would fail if the reference lost a comment, or took an example for text."""
    text = (
        '#pragma once\n#include "a.h"\n\nnamespace simmesh {\n\n// f returns <T> of a_b:\n//\n'
        "//   f(3);\n//\n// It throws.\nint f(int);\n\nclass C {\n  int a;\n\n  int b;\n};\n\n"
        "}  // namespace simmesh\n"
    )
    function, own_class = blocks(text)
    assert function[-1] == "int f(int);" and len(own_class) == 5
    lines = prose([line[2:] for line in function[:-1]])
    assert lines[0] == r"f returns \<T\> of a\_b:"
    assert lines[lines.index("```cpp") + 1] == "f(3);"
    assert "It throws." in lines
    assert escaped("a*b") == r"a\*b"


def documents_itself(text: str) -> bool:
    """True if a header says of something what it is."""
    return any(block[0].startswith("//") for block in blocks(text))


def test_every_public_header_is_documented() -> None:
    """Would fail if programs could include a header whose page says nothing."""
    headers = public_headers(ROOT)
    assert len(headers) > 100 and "mesh/device_mesh.h" in headers
    for header in headers:
        assert documents_itself((ROOT / header).read_text("utf-8")), header
        assert header_page(ROOT, header).startswith(f"# {header}\n")
    assert not documents_itself("#pragma once\n\nint f(int);\n")
    assert listed_headers("set(simmesh_public_headers\n  # x\n  a.h\n\n  b/c.h)") == [
        "a.h",
        "b/c.h",
    ]


def test_every_public_function_of_python_is_documented() -> None:
    """Would fail if the reference named a function and didn't say what it does."""
    assert undocumented(PACKAGE) == []


def test_a_function_without_a_text_is_found(tmp_path: Path) -> None:
    """Would fail if everything counted as documented."""
    package = tmp_path / "simmesh"
    package.mkdir()
    init = (
        '"""M."""\n__all__ = ["C", "f"]\ndef f(): pass\nclass C:\n  """C."""\n  def m(self): pass\n'
    )
    (package / "__init__.py").write_text(init)
    for name in MODULES[1:]:
        (package / f"{name.split('.')[1]}.py").write_text('"""M."""\n')
    assert undocumented(tmp_path) == ["simmesh.C.m", "simmesh.f"]


def test_the_page_of_a_module_has_what_it_exports() -> None:
    """Would fail if a name that programs import had no place in the reference."""
    page = module_page(PACKAGE, "simmesh")
    from python_reference import load

    for name in public_names(load(PACKAGE, "simmesh")):
        assert f"\n## {name}\n" in page
    assert "record(tensor: Tensor) -> None" in page, "an overload of the stub"
    assert "def" not in page.split("## spmd_run")[1].split("\n")[3]
