"""The files that ./dev lint looks at: in a branch what changed there, else what changed last."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from changed_files import Checkout, cpp_files, read_includes, sources_of, with_includers

INCLUDES = {
    "core/a.h": [],
    "core/a.cpp": ["core/a.h"],
    "core/b.h": ["core/a.h"],
    "core/b.cpp": ["core/b.h"],
    "mesh/c.cpp": ["core/b.h"],
    "mesh/d.h": ["mesh/e.h"],
    "mesh/e.h": ["mesh/d.h"],
}


class Repository:
    """A git repository whose files a test writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True, capture_output=True)

    def write(self, *names: str) -> None:
        for name in names:
            with open(self.folder / name, "a") as file:
                file.write("changed\n")

    def commit(self, *names: str) -> None:
        self.write(*names)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=change")

    def changed(self, since: str | None = None) -> list[str]:
        checkout = Checkout(self.folder)
        return checkout.changed_since(checkout.base(since))


@pytest.fixture
def origin(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "origin")
    for name in ("a.cpp", "b.cpp", "c.cpp"):
        repository.commit(name)
    return repository


@pytest.fixture
def clone(origin: Repository, tmp_path: Path) -> Repository:
    origin.git("clone", "--quiet", str(origin.folder), str(tmp_path / "clone"))
    repository = object.__new__(Repository)
    repository.folder = tmp_path / "clone"
    return repository


def test_a_fresh_clone_has_what_changed_last(clone: Repository) -> None:
    """Would fail if CI, which clones what it checks, had nothing to look at."""
    assert clone.changed() == ["c.cpp", "b.cpp", "a.cpp"]


def test_a_branch_has_what_changed_since_its_upstream(clone: Repository) -> None:
    """Would fail if what others changed were checked instead of the branch's own files."""
    clone.commit("b.cpp")
    clone.commit("d.cpp")
    assert clone.changed() == ["d.cpp", "b.cpp"]
    clone.write("new.cpp", "a.cpp")
    assert clone.changed() == ["a.cpp", "new.cpp", "d.cpp", "b.cpp"]


def test_uncommitted_files_are_all_that_changed(clone: Repository) -> None:
    """Would fail if a small change were checked together with the end of the history."""
    clone.write("b.cpp")
    assert clone.changed() == ["b.cpp"]


def test_a_commit_may_be_named(clone: Repository) -> None:
    """Would fail if --since were ignored, or took in the commit that it names."""
    assert clone.changed("HEAD~1") == ["c.cpp"]
    with pytest.raises(subprocess.CalledProcessError):
        clone.changed("nowhere")


def test_deleted_and_moved_files_are_left_out(clone: Repository) -> None:
    """Would fail if a compiler were given a file that is gone."""
    clone.git("mv", "a.cpp", "moved.cpp")
    clone.git("rm", "--quiet", "b.cpp")
    clone.git("commit", "--quiet", "--message=move")
    assert clone.changed() == ["moved.cpp"]


def test_merges_have_what_was_written_in_them(origin: Repository) -> None:
    """Would fail if the solution of a conflict escaped, or a merge named all that it brought."""
    origin.git("checkout", "--quiet", "-b", "side")
    origin.commit("a.cpp", "side.cpp")
    origin.git("checkout", "--quiet", "main")
    origin.commit("b.cpp")
    origin.git("merge", "--quiet", "--no-commit", "side")
    origin.commit("c.cpp")
    assert origin.changed()[0] == "c.cpp"
    assert sorted(origin.changed("HEAD^1")) == ["a.cpp", "c.cpp", "side.cpp"]


def test_includers_follow_what_they_include() -> None:
    """Would fail if a header's users weren't checked, or came before what changed itself."""
    assert with_includers(["README.md", "core/b.cpp"], INCLUDES) == ["core/b.cpp"]
    assert with_includers(["core/a.h", "core/b.cpp"], INCLUDES) == [
        "core/a.h", "core/b.cpp", "core/a.cpp", "core/b.h", "mesh/c.cpp",
    ]  # fmt: skip


def test_a_header_has_one_source() -> None:
    """Would fail if a header that changed alone were not read, or as often as it is included."""
    assert sources_of(["core/b.h", "core/b.cpp"], INCLUDES) == ["core/b.cpp"]
    assert sources_of(["mesh/d.h", "docs/x.md"], INCLUDES) == []
    assert sources_of(["core/a.h"], {**INCLUDES, "core/a.cpp": []}) == ["core/a.cpp"]
    apart = {name: included for name, included in INCLUDES.items() if name != "core/b.cpp"}
    assert sources_of(["core/b.h"], apart) == ["mesh/c.cpp"]


def test_the_tree_is_read() -> None:
    """Would fail if the includes of the tree were no longer found."""
    files, includes = cpp_files(), read_includes()
    assert sorted(includes) == files and len(files) > 1000
    assert "mesh/layout.h" in includes["mesh/layout.cpp"]
    assert not any(name.startswith(("build/", "tests/cases/", "tests/install/")) for name in files)
