"""One file chooses versions: what other files say of them agrees with it."""

from __future__ import annotations

import json
import subprocess

import pytest
import tomllib
from packaging.requirements import Requirement

from changed_files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def value(text: str) -> str:
    """Returns what bash makes of a text after it read versions.sh."""
    script = f'source "{ROOT}/scripts/versions.sh" && echo "{text}"'
    done = subprocess.run(["bash", "-euc", script], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def pinned(environment: str) -> dict[str, str]:
    """Returns the versions of an environment by package."""
    words = value(f"${{environments[{environment}]}}").replace("|", " ").split()
    return dict(word.split("==") for word in words if "==" in word)


TORCH_ENVIRONMENTS = value("${torch_environments[*]}").split()


def test_the_presets_have_the_compilers() -> None:
    """Would fail if a preset asked for a compiler that ./dev doesn't install."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    compilers = {
        preset["name"]: preset["cacheVariables"]["CMAKE_CXX_COMPILER"]
        for preset in presets
        if "CMAKE_CXX_COMPILER" in preset.get("cacheVariables", {})
    }
    assert compilers.pop("base") == value("g++-$gcc")
    assert compilers == dict.fromkeys(("clang", "asan", "tsan"), value("clang++-$clang"))


@pytest.mark.parametrize("text", PROJECT["build-system"]["requires"])
def test_the_build_takes_the_chosen_versions(text: str) -> None:
    """Would fail if pip built the package with other versions than the tests do."""
    requirement = Requirement(text)
    assert pinned("python")[requirement.name] in requirement.specifier


def test_the_oldest_torch_is_tested() -> None:
    """Would fail if the package allowed a PyTorch older than those that the tests run."""
    (text,) = PROJECT["project"]["optional-dependencies"]["torch"]
    oldest = pinned(TORCH_ENVIRONMENTS[0])["torch"]
    assert [str(part) for part in Requirement(text).specifier] == [f">={oldest.removesuffix('.0')}"]


def test_environments_are_named_after_their_torch() -> None:
    """Would fail if an environment's name promised another PyTorch."""
    for name in TORCH_ENVIRONMENTS:
        assert pinned(name)["torch"].startswith(name.removeprefix("torch-") + ".")


def test_environments_on_another_one_have_its_torch() -> None:
    """Would fail if packages stood beside a PyTorch that their environment doesn't have."""
    for name in value("${!bases[*]}").split():
        base = pinned(value(f"${{bases[{name}]}}"))
        assert pinned(name).get("torch", base["torch"]) == base["torch"]


def test_everything_is_pinned() -> None:
    """Would fail if two days gave two environments. setuptools is there to build others."""
    names = ("python", "site-tools", "browser", "frameworks", "recommenders", *TORCH_ENVIRONMENTS)
    for name in names:
        words = value(f"${{environments[{name}]}}").replace("|", " ").split()
        packages = [word for word in words if not word.startswith("--")]
        assert [word for word in packages if "==" not in word] in ([], ["setuptools"])


def test_the_pages_name_the_peers() -> None:
    """Would fail if a page promised a comparison with other versions than are compared."""
    page = (ROOT / "docs/checkpoint.md").read_text()
    newest = pinned(TORCH_ENVIRONMENTS[-1])
    assert f"DeepSpeed {newest['deepspeed']}" in page
    assert f"safetensors {newest['safetensors'].rsplit('.', 1)[0]}" in page
    torches = " and ".join(name.removeprefix("torch-") for name in TORCH_ENVIRONMENTS)
    assert f"PyTorch {torches}" in page
