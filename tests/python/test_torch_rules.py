"""The sharding rules that PyTorch registers, judged by values.

``SIMMESH_PYTORCH_RULES=40`` judges the rules of 40 OpInfos against the recorded list; the day
chooses which, so that they all have their turn.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.placement_types import Partial, Replicate, Shard, _StridedShard

from simmesh.rules.pytorch import placed
from simmesh.rules.pytorch.command import matches, run
from simmesh.rules.pytorch.page import page
from simmesh.rules.pytorch.propagation import Call, quiet
from simmesh.rules.pytorch.recorded import recorded, release_of
from simmesh.rules.pytorch.report import Report
from simmesh.rules.pytorch.samples import calls_of, opinfos, with_negative_dim
from simmesh.rules.pytorch.schema_samples import made_calls
from simmesh.rules.pytorch.survey import Finding, Judge, Survey

ROOT = Path(__file__).parents[2]
RELEASE = release_of(torch.__version__)
COUNT = int(os.environ.get("SIMMESH_PYTORCH_RULES", "0"))
aten = torch.ops.aten


def _judged(call: Call) -> Survey:
    judge = Judge()
    with quiet():
        judge.judge(call)
    return judge.survey


def _values(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def _claiming(monkeypatch: pytest.MonkeyPatch, op: Any, rows: Any) -> None:
    """Lets PyTorch claim the rows of a single-dim strategy for an operator."""
    from torch.distributed.tensor._ops.single_dim_strategy import _SingleDimStrategyInfo

    propagator = DTensor._op_dispatcher.sharding_propagator
    info = _SingleDimStrategyInfo(func=lambda op, args, kwargs: rows)
    monkeypatch.setitem(propagator.op_single_dim_strategy_funcs, op, info)


def test_right_rules_are_confirmed() -> None:
    """Would fail if a rule that holds were called wrong."""
    for op, args in (
        (aten.mm.default, (_values(5, 4), _values(4, 3))),
        (aten._softmax.default, (_values(5, 3), 1, False)),
        (aten.sum.dim_IntList, (_values(5, 3), [0])),
        (aten.embedding.default, (_values(5, 3), torch.tensor([[0, 4], [2, 3]]))),
        (aten.view.default, (_values(8, 4), [32])),
    ):
        survey = _judged(Call(op, args, {}))
        assert [finding.text for finding in survey.findings] == []
        assert survey.trials > 4
        assert set(survey.rows.values()) == {"confirmed"}


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([[Shard(1), Shard(1)]], "S(1) -> S(1)"),
        ([[Partial("max"), Partial("max")]], "P(max) -> P(max)"),
        ([[Replicate(), Shard(0)]], "S(0) -> R"),
        ([[Shard(0), Partial("sum")]], "P(sum) -> S(0)"),
    ],
)
def test_wrong_rules_are_found(monkeypatch: pytest.MonkeyPatch, rows: Any, row: str) -> None:
    """Would fail if values didn't refute a rule that lies."""
    _claiming(monkeypatch, aten.cumsum.default, rows)
    survey = _judged(Call(aten.cumsum.default, (_values(5, 3), 1), {}))
    (finding, *_) = survey.findings
    assert (finding.op, finding.row, finding.mesh) == ("aten.cumsum.default", row, (2,))
    assert finding.on_ranks in ("wrong values",) or finding.on_ranks.startswith("raises")
    assert survey.rows[finding.key] == "wrong"


def test_a_rule_that_only_uneven_pieces_refute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would fail if sizes that ranks divide were the only ones."""
    _claiming(monkeypatch, aten.mean.dim, [[Partial("avg"), Shard(0)]])
    even = _judged(Call(aten.mean.dim, (_values(6, 2), [0]), {}))
    assert even.rows["aten.mean.dim: S(0) -> P(avg)"] != "wrong"
    uneven = _judged(Call(aten.mean.dim, (_values(5, 2), [0]), {}))
    assert uneven.rows["aten.mean.dim: S(0) -> P(avg)"] == "wrong"


def test_what_has_no_values_is_named() -> None:
    """Would fail if something were skipped in silence."""
    x = _values(3, 2)
    survey = Survey()
    for call in (
        Call(aten.bernoulli.p, (x, 0.5), {}),
        Call(aten.empty_like.default, (x,), {}),
    ):
        survey.merge(_judged(call))
    assert survey.skipped == {
        "aten.bernoulli.p": "draws random numbers",
        "aten.empty_like.default": "returns memory that nobody wrote",
    }


def test_handlers_run_on_ranks() -> None:
    """Would fail if an operator that communicates were judged by its local calls."""
    survey = _judged(Call(aten.argmax.default, (_values(5, 3), 0), {}))
    assert survey.rows["aten.argmax.default: S(0) -> by its handler"] == "confirmed"
    assert survey.trials > 6


@pytest.mark.parametrize("size", [0, 1, 4, 5, 7])
@pytest.mark.parametrize(
    "placement",
    [Replicate(), Shard(0), Shard(1), _StridedShard(0, split_factor=2),
     *map(Partial, ("sum", "avg", "min", "max", "product"))],
    ids=str,
)  # fmt: skip
def test_pieces_stand_for_the_whole(placement: Any, size: int) -> None:
    """Would fail if cutting and joining weren't inverse, for any size and placement."""
    whole = (_values(size, 3) * 16).round() / 16
    for mesh in ((2,), (3,)):
        generator = torch.Generator().manual_seed(0)
        ranks = placed.cut(whole, (placement,), mesh, generator)
        line = [ranks[(rank,)] for rank in range(mesh[0])]
        got = placed.joined(line, placement)
        assert bool(((got - whole).abs() <= 1e-14).all()) and got.shape == whole.shape
    if not isinstance(placement, Replicate) and size > 0:
        assert any(not torch.equal(tensor, whole) for tensor in line)


def test_replicas_that_differ_do_not_fit() -> None:
    """Would fail if the first rank's value stood for all."""
    with pytest.raises(placed.DoesNotFit, match="ranks 0 and 1 hold different values"):
        placed.joined([torch.zeros(2), torch.ones(2)], Replicate())


def test_samples_reach_backward_and_dims_from_the_end() -> None:
    """Would fail if only forward passes were judged."""
    with quiet():
        calls = calls_of(opinfos()["softmax"], lambda op: True)
    assert aten._softmax.default in calls
    assert aten._softmax_backward_data.default in calls
    call = with_negative_dim(Call(aten.cumsum.default, (_values(5, 3), 1), {}))
    assert call is not None and call.args[1] == -1
    for op in (
        aten._foreach_add.List,
        aten._foreach_add.Tensor,
        aten._foreach_addcmul_.Tensor,
        aten._fused_adam_.default,
        aten._index_put_impl_.default,
        aten.clip.default,
        aten.linalg_matrix_exp.default,
    ):
        assert made_calls(op), op


def test_part_of_the_rules_is_as_listed() -> None:
    """Would fail if the installed PyTorch had a wrong rule that the list lacks."""
    if COUNT == 0:
        pytest.skip("SIMMESH_PYTORCH_RULES names no count")
    if not recorded(RELEASE):
        pytest.skip(f"PyTorch {RELEASE} has no recorded list")
    parts = -(-len(opinfos()) // COUNT)
    part = datetime.date.today().toordinal() % parts + 1
    command = [sys.executable, "-m", "simmesh.rules.pytorch", "--part", f"{part}/{parts}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-9000:] + ran.stderr[-2000:]


def test_command_judges_one_operator(capsys: pytest.CaptureFixture[str]) -> None:
    """Would fail if the command didn't say what it judged, or with which status it ends."""
    assert run(["--only", "aten.tril.default", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["operators"] > 0 and fields["rows"]["confirmed"] > 0
    assert fields["wrong"] == []
    assert run(["--only", "tril", "--quiet"]) == 0
    assert capsys.readouterr().out == "0 wrong, 0 as listed, 0 new\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [(["--only", "no_such"], "expected an operator, got no_such"),
     (["--part", "3/2"], "expected K/N, as in 1/18, got '3/2'")],
)  # fmt: skip
def test_command_names_mistakes(
    capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    """Would fail if a choice of nothing passed."""
    assert run(words) == 2
    assert text in capsys.readouterr().err


def test_names_match_whole_or_without_namespace() -> None:
    """Would fail if a user had to know where PyTorch keeps an operator."""
    assert matches("add.Tensor", "aten.add.Tensor") and matches("add", "aten.add.Tensor")
    assert matches("relu", "nn.functional.relu") and not matches("add", "aten.addmm.default")


def test_report_tells_listed_from_new() -> None:
    """Would fail if a known wrong rule ended the command with 1, or a new one with 0."""
    found = Finding("aten.a.default", "S(0) -> R", (2,), "([2])", "values", "output 0", "",
                    (0,), 1.0, 2.0, "wrong values")  # fmt: skip
    survey = Survey(findings=[found], rows={found.key: "wrong"}, operators={found.op})
    assert Report(survey, "2.15.0", []).new == [found]
    listed = Report(survey, "2.15.0", [found])
    assert listed.new == []
    assert (
        "wrong, as listed: aten.a.default  S(0) -> R  mesh 2  ([2])  output 0[0]: " in listed.text()
    )
    assert listed.text().endswith("1 wrong, 1 as listed, 0 new")


def test_page_is_renewed() -> None:
    """Would fail if the page of wrong rules weren't that of the recorded lists."""
    assert (ROOT / "docs" / "wrong_pytorch_rules.md").read_text() == page()


def test_recorded_rules_are_wrong_on_ranks() -> None:
    """Would fail if the list had a finding that PyTorch's own program doesn't show."""
    for finding in recorded(RELEASE):
        assert finding.on_ranks == "wrong values" or finding.on_ranks.startswith("raises ")
