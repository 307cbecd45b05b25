"""The commands that compile each file by itself, and what clang-tidy says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import tidy
from changed_files import ROOT
from compile_apart import compile_file
from compile_commands import Command, command_for, read_commands

FLAGS = Command("/", ("g++-12", "-I."))


def test_commands_lose_source_and_output() -> None:
    """Would fail if a check overwrote what the build compiled, or lost a macro's quotes."""
    entries = [
        {"directory": "/r/build", "file": f"/r/{source}", "command": f"g++ {flags} -c /r/{source}"}
        for source, flags in [
            ("mesh/a.cpp", r"-DROOT=\"/r\" -O2 -o a.o"),
            ("build/debug/unity_0.cxx", "-o u.o"),
        ]
    ]
    commands = read_commands(json.dumps(entries), Path("/r"))
    assert commands == {"mesh/a.cpp": Command("/r/build", ("g++", '-DROOT="/r"', "-O2"))}


def test_headers_have_the_command_of_a_neighbour() -> None:
    """Would fail if headers without a source of their name couldn't be compiled."""
    commands = {"mesh/a.cpp": FLAGS, "core/check/b.cpp": Command("/", ("g++-12",))}
    assert command_for("mesh/a.cpp", commands) == command_for("mesh/x.h", commands) == FLAGS
    assert command_for("core/other/deep/x.h", commands) == commands["core/check/b.cpp"]
    assert command_for("zero/x.h", commands) is None
    assert command_for("mesh/gone.cpp", commands) is None


@pytest.mark.parametrize(("name", "text"), [("a.cpp", "int one();\n"), ("a.h", "#pragma once\n")])
def test_files_compile_alone(name: str, text: str, tmp_path: Path) -> None:
    """Would fail if a whole file were refused, or one that needs what others include passed."""
    file = tmp_path / name
    file.write_text(text)
    assert compile_file(str(file), FLAGS) == ""
    file.write_text(text + "std::int64_t two();\n")
    assert "std" in compile_file(str(file), FLAGS)
    assert list(tmp_path.iterdir()) == [file]


def run_tidy(program: Path, text: str) -> int:
    program.write_text(f"#!{sys.executable}\n{text}\n")
    program.chmod(0o755)
    units = [tidy.single("mesh/layout.cpp"), tidy.single("mesh/device_mesh.cpp")]
    return tidy.run_all(str(program), units)


def test_findings_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would fail if a header's finding counted for each source, or clang-tidy's failure passed."""
    assert run_tidy(tmp_path / "clang-tidy", "") == 0
    assert capsys.readouterr().out == "tidy: 2 sources, 0 findings\n"
    finding = "print('/r/a.h:1:2: error: bad [x]\\n    1 | int a:1:2: error: quoted')"
    assert run_tidy(tmp_path / "clang-tidy", f"{finding}; raise SystemExit(1)") == 1
    assert capsys.readouterr().out.endswith("tidy: 2 sources, 1 findings\n")
    assert run_tidy(tmp_path / "clang-tidy", "raise SystemExit('no such check')") == 1
    output = capsys.readouterr()
    assert output.out == "tidy: 2 sources, 0 findings\n"
    assert "no such check\nclang-tidy ended with 1" in output.err


def test_batches_name_their_sources() -> None:
    """Would fail if progress and sum counted batches for sources."""
    text = f'/* generated */\n#include "{ROOT}/mesh/a.cpp"\n\n#include "{ROOT}/mesh/b.cpp"\n'
    assert tidy.batch("unity_0.cxx", text).sources == ("mesh/a.cpp", "mesh/b.cpp")
