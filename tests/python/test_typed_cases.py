"""Recorded cases of spmd_types, run through the Python package on ranks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch.distributed.device_mesh import init_device_mesh

import simmesh
from repository import ROOT
from typed_case_runs import Case, read_cases, run_program, run_rule

# All cases run where this is set; a sample else.
_ALL = bool(os.environ.get("SIMMESH_ALL_TYPED_CASES"))
_FOLDER = Path(os.environ.get("SIMMESH_TYPED_CASES", ROOT / "tests" / "cases" / "spmd_types"))
_STRIDE = 1 if _ALL else 11


def _sample(name: str) -> list[Case]:
    cases = read_cases(_FOLDER, name)
    return cases if name == "disputed" else cases[::_STRIDE]


def _run(cases: list[Case], run: Any) -> list[Case]:
    """The outcomes of cases on four ranks, which must agree. Each mesh is run by itself."""

    def program() -> list[Case]:
        torch.manual_seed(0)
        meshes = {}
        found = []
        for case in cases:
            shape, names = tuple(case["mesh"]["shape"]), tuple(case["mesh"]["names"])
            if names not in meshes:
                meshes[names] = init_device_mesh("cpu", shape, mesh_dim_names=names)
            found.append(run(case, meshes[names]))
        return found

    ran = simmesh.spmd_run(program, world_size=4, timeout=600)
    if ran.outcome.exception is not None:
        raise ran.outcome.exception
    assert ran.outcome.ok, ran.outcome.report
    for results in ran.results[1:]:
        assert results == ran.results[0]
    first: list[Case] = ran.results[0]
    return first


def _expected_rule(case: Case) -> Case:
    if "refused" in case:
        keys = ("error", "code", "axis")
        return {"refused": {key: case["refused"][key] for key in keys if key in case["refused"]}}
    if "accepted" in case:
        return {"accepted": True}
    results = [dict(each) for each in case.get("result", [])]
    expected: Case = {"result": results}
    if case.get("same_tensor") or case.get("args", {}).get("inplace"):
        expected["same"] = True
    return expected


def _differing(cases: list[Case], outcomes: list[Case], expected: Any) -> list[str]:
    return [
        f"{case['id']}: expected {expected(case)}, got {outcome}"
        for case, outcome in zip(cases, outcomes)
        if outcome != expected(case)
    ]


def test_rules_have_the_recorded_verdicts() -> None:
    """Would fail if the package typed a call in another way than the C++ rules and spmd_types."""
    cases = _sample("rules")
    differing = _differing(cases, _run(cases, run_rule), _expected_rule)
    assert not differing, "\n".join(differing)
    assert len(cases) > 600


def _expected_program(case: Case) -> Case:
    expected: Case = {"types": case["types"], "shapes": case["shapes"]}
    if "refused" in case:
        expected["refused"] = {key: case["refused"][key] for key in ("step", "code")}
    return expected


def test_programs_have_the_recorded_types() -> None:
    """Would fail if a value of a program had another type, or another step were refused."""
    cases = read_cases(_FOLDER, "programs")
    differing = _differing(cases, _run(cases, run_program), _expected_program)
    assert not differing, "\n".join(differing)


def _types(outcome: Case) -> list[Any]:
    return [each["t"] for each in outcome["result"]]


def test_disputed_cases_are_typed_as_recorded_or_refused() -> None:
    """Would fail if a case that values contradict were accepted with yet another type, or if no
    call that values contradict were refused.
    """
    cases = [each for each in read_cases(_FOLDER, "disputed") if each["kind"] == "type_rule"]
    refused: set[str] = set()
    for case, outcome in zip(cases, _run(cases, run_rule)):
        has_outcome = any(key in case for key in ("refused", "accepted", "result"))
        is_autograd = case["op"].startswith("autograd")
        if is_autograd or not has_outcome or outcome == _expected_rule(case):
            continue
        if "refused" in outcome:
            refused.add(case["op"])
            continue
        same = "result" in case and _types(outcome) == _types(case)
        assert same or "refused" in case, f"{case['id']}: got {outcome}"
    assert {"div_floor", "div_scalar_floor", "div_other_keyword", "sum_int64", "view_dtype"} <= (
        refused
    )
