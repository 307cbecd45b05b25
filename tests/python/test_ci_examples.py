"""The examples for CI are what the guide shows, and fit what CI systems read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from repository import ROOT

EXAMPLES = ROOT / "examples" / "ci"
GUIDE = (ROOT / "docs/guides/gate_a_pull_request.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs/tutorials/ci.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", GUIDE + TUTORIAL, re.DOTALL))
SCHEMAS = {
    "github.yml": "vendor.github-workflows",
    "simmesh.yml": "vendor.github-workflows",
    "gitlab.yml": "vendor.gitlab-ci",
}


def problems(path: Path, schema: str) -> str:
    """The faults of a file by the schema of a CI system; empty if there are none."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def test_the_guide_shows_the_examples() -> None:
    """Would fail if a user copied something else than what is checked."""
    names = sorted(path.name for path in EXAMPLES.iterdir())
    assert names == ["github.yml", "gitlab.yml", "pre-commit.yaml"]
    for name in names:
        first, _, rest = (EXAMPLES / name).read_text(encoding="utf-8").partition("\n")
        assert first.startswith("# ") and rest == SHOWN[name]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_ci_systems_read_the_examples(name: str, tmp_path: Path) -> None:
    """Would fail if a key of a workflow were misspelt."""
    pytest.importorskip("check_jsonschema")
    path = tmp_path / name
    path.write_text(SHOWN[name], encoding="utf-8")
    assert problems(path, SCHEMAS[name]) == ""
    wrong = SHOWN[name].replace("script:", "scripts:").replace("runs-on:", "run-on:")
    path.write_text(wrong, encoding="utf-8")
    assert problems(path, SCHEMAS[name])


def test_the_hooks_run_commands_that_there_are() -> None:
    """Would fail if a hook named a command or an option that simmesh doesn't have."""
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe")
    hooks = yaml.load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    [own] = yaml.load(SHOWN["pre-commit.yaml"])["repos"]
    assert [hook["id"] for hook in hooks] == ["simmesh-gates", "simmesh-rules"]
    for hook in [*hooks, *own["hooks"]]:
        command, *words = hook["entry"].split()
        ran = subprocess.run(
            [sys.executable, "-m", command, *words, "/none"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 2 and "/none" in ran.stderr, ran.stderr
