"""Modules that ranks import in their processes, and the next run begins with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from simmesh.torch.processes.imports import import_all, imported_since

PROGRAM = """
import sys
from simmesh.torch import run

def program(rank):
    found = "xml.dom.minidom" in sys.modules
    import xml.dom.minidom
    import module_of_the_user
    return found

first = run(program, 2, seats="processes")
second = run(program, 2, seats="processes")
print(first.results, second.results, "module_of_the_user" in sys.modules)
"""


def test_the_next_run_begins_with_what_ranks_imported(tmp_path: Path) -> None:
    """Fails if each run imports a library again, or if a module of the user, whose variables are
    each rank's, is imported for all.
    """
    (tmp_path / "module_of_the_user.py").write_text("")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + PROGRAM
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.split("\n")[0] == "[False, False] [True, True] False", ran.stderr


def test_modules_of_libraries_count() -> None:
    """Fails if a module that can't be imported by its name, or that is the user's, is told."""
    before = [name for name in sys.modules if name != "pytest" and not name.startswith("json")]
    assert "json" in imported_since(before) or "json" not in sys.modules
    assert "pytest" not in imported_since(before)
    assert imported_since(sys.modules) == []


def test_what_cannot_be_imported_is_left_out() -> None:
    """Fails if a module that this process can't import ends the run."""
    import_all(["torch.no_such_module", "wave"])
    assert "wave" in sys.modules
