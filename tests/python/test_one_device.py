"""Programs that are the same on ranks as on one device: no finding, and something was compared."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.tensor import DeviceMesh

import exact_programs
import one_device_by_hand as by_hand
import one_device_layers as layers
import one_device_programs as programs
import simmesh


def compared(program: programs.Program, *layouts: Mapping[str, int]) -> list[Any]:
    """The verdicts of a program that is equal on all layouts."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", simmesh.LimitOfExactArithmetic)
        comparison = simmesh.same_as_one_device(program, layouts=layouts)
    assert comparison.equal, comparison.text
    return comparison.verdicts


@pytest.mark.parametrize(
    "layout",
    [
        {"ddp": 2}, {"ddp": 4}, {"dp": 2}, {"dp": 4}, {"tp": 2}, {"dp": 2, "tp": 2},
    ],
    ids=["DDP 2", "DDP 4", "FSDP2 2", "FSDP2 4", "TP 2 + SP", "FSDP2 2 x TP 2 + SP"],
)  # fmt: skip
def test_a_transformer_is_equal_under_wrappers(layout: dict[str, int]) -> None:
    """Would fail if a wrapper of PyTorch gave a false alarm, or little were compared."""
    (verdict,) = compared(programs.transformer, layout)
    kinds = {key.kind for key in verdict.layouts}
    assert verdict.compared > 100 and not verdict.skipped
    assert kinds >= {
        "initial parameter", "output", "gradient of the output", "gradient", "gradient norm",
        "clipped gradient", "parameter", "optimizer state", "returned value",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("program", "layouts"),
    [
        (programs.data_parallel(), [{"dp": 2}, {"dp": 4}]),
        (programs.data_parallel(rows=7), [{"dp": 3}]),
        (by_hand.megatron(), [{"tp": 2}, {"tp": 4}]),
        (by_hand.sequence_parallel(), [{"tp": 2}, {"tp": 4}]),
        (by_hand.expert_parallel(), [{"ep": 2}, {"ep": 4}]),
        (by_hand.pipeline(), [{"pp": 2, "dp": 2}, {"dp": 1, "pp": 4}]),
        (layers.fused(), [{"tp": 2}, {"tp": 4}]),
        (layers.vocabulary(), [{"tp": 2}, {"tp": 4}]),
        (layers.context(), [{"cp": 2}, {"cp": 4}]),
        (layers.context(is_zigzag=True), [{"cp": 2}, {"cp": 4}]),
        (layers.masked(), [{"dp": 2}, {"dp": 4}]),
    ],
    ids=[
        "data",
        "uneven rows",
        "megatron",
        "sequence",
        "experts",
        "pipeline",
        "fused",
        "vocabulary",
        "context",
        "zigzag",
        "masked",
    ],
)
def test_programs_that_reduce_by_hand_are_equal(
    program: programs.Program, layouts: list[dict[str, int]]
) -> None:
    """Would fail if a layout of plain tensors weren't found from the bits."""
    for verdict in compared(program, *layouts):
        assert verdict.compared > 10


def test_schedules_of_pipelining_are_equal() -> None:
    """Would fail if the call by which a stage learns shapes, on no values, were compared."""
    for verdict in compared(programs.pipelining, {"pp": 2}, {"pp": 4}):
        assert verdict.compared > 40 and not verdict.skipped


def test_micro_batches_have_other_rows_on_ranks() -> None:
    """Would fail if the first micro-batch of each rank had to be that of one device."""
    for verdict in compared(programs.accumulation, {"dp": 2}, {"dp": 4}):
        assert text_of(verdict, "output", "head") == "S(0)" and not verdict.skipped


def text_of(verdict: Any, kind: str, name: str) -> str:
    """The layout of a value."""
    return next(
        found.text for key, found in verdict.layouts.items() if (key.kind, key.name) == (kind, name)
    )


def test_layouts_of_plain_tensors_are_found() -> None:
    """Would fail if a layout were guessed from shapes instead of bits."""
    (verdict,) = compared(by_hand.megatron(), {"tp": 2})
    assert text_of(verdict, "initial parameter", "columns.weight") == "S(0)"
    assert text_of(verdict, "initial parameter", "rows.weight") == "S(1)"
    assert text_of(verdict, "output", "columns") == "S(2)"
    assert text_of(verdict, "output", "rows") == "R"
    (verdict,) = compared(programs.data_parallel(), {"dp": 2})
    assert text_of(verdict, "output", "head") == "S(0)"
    assert text_of(verdict, "returned value", "") == "P"


def test_gradients_of_local_means_are_scaled() -> None:
    """Would fail if DDP's factor, which averaging takes away, counted as a difference."""
    (verdict,) = compared(programs.transformer, {"ddp": 4})
    scales = {
        found.scale for key, found in verdict.layouts.items()
        if key.kind == "gradient of the output"
    }  # fmt: skip
    assert scales == {4.0}


def test_momentum_of_parts_of_a_sum_is_a_limit() -> None:
    """Would fail if SGD under sequence parallelism were called faulty, or the limit not named.
    PyTorch 2.13 keeps the momentum whole.
    """

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = exact_programs.parallelize(exact_programs.Transformer(), mesh, True, False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.1)
        tokens = torch.randint(0, exact_programs.VOCABULARY, (8, 9))
        for _ in range(3):
            logits = model(tokens[:, :-1]).flatten(0, 1)
            nn.functional.cross_entropy(logits, tokens[:, 1:].flatten()).backward()
            optimizer.step()
            optimizer.zero_grad()

    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15):
        assert simmesh.same_as_one_device(program, layouts=[{"tp": 2}]).equal
        return
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="so is the momentum, which lasts"):
        comparison = simmesh.same_as_one_device(program, layouts=[{"tp": 2}])
    first = comparison.verdicts[0].findings[0]
    assert first.key is not None and "norm" in first.key.name


class Sorted(nn.Module):
    """Returns the rows in the order of their classes, and the numbers of these rows."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        order = (x[:, 0] > 0).long().sort(stable=True).indices
        return order, x[order]


@pytest.mark.parametrize("fault", [0.0, 1.0])
def test_numbers_of_own_rows_are_not_compared(fault: float) -> None:
    """Would fail if a router that numbers its rank's rows were faulty, or if nothing were left."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        layer, ordered = nn.Linear(4, 4), Sorted()
        rows = torch.randn(8, 4)[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), 8)]
        _order, found = ordered(layer(rows))
        return found.sum() + fault * mesh.get_local_rank()

    if fault:
        with pytest.raises(simmesh.DiffersFromOneDevice, match="returned value"):
            simmesh.same_as_one_device(program, layouts=[{"dp": 2}])
        return
    (verdict,) = simmesh.same_as_one_device(program, layouts=[{"dp": 2}]).verdicts
    assert verdict.skipped == {"output of Sorted[0]": "ranks count their own rows"}
    assert not verdict.findings and verdict.compared >= 4


def test_modules_that_a_rank_counts_from_0_are_matched() -> None:
    """Would fail if the first expert of rank 1 were compared with that of one device."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        by_hand.Stage(mesh)(programs.seeded(3, programs.WIDTH))

    with pytest.raises(simmesh.DiffersFromOneDevice) as raised:
        simmesh.same_as_one_device(program, layouts=[{"pp": 2}])
    (verdict,) = raised.value.comparison.verdicts
    for index in range(by_hand.LAYERS):
        assert text_of(verdict, "initial parameter", f"layers.{index}.weight") == "R"


def test_a_program_notes_values() -> None:
    """Would fail if values that no module computes weren't compared."""

    def program(mesh: DeviceMesh) -> dict[str, Any]:
        x = programs.rows_of(mesh, "dp", programs.seeded(6, 2))
        simmesh.note("x", x)
        simmesh.note("sizes", {"all": [6, 2]}, whole=True)
        return {"sum": x.sum(), "number": float(x.sum()), "count": len(x) * mesh.size()}

    (verdict,) = compared(program, {"dp": 3})
    assert text_of(verdict, "noted value", "x") == "S(0)"
    assert text_of(verdict, "returned value", "['sum']") == "P"
    assert text_of(verdict, "returned value", "['count']") == "R"
    simmesh.note("x", torch.ones(1))  # does nothing where no program is compared


@simmesh.same_as_one_device(layouts=[{"dp": 2}, {"dp": 4}])
def test_the_decorator_gives_the_mesh_and_leaves_fixtures(mesh: DeviceMesh, tmp_path: Any) -> Any:
    """Would fail if pytest took the mesh for a fixture, or found none."""
    assert mesh.mesh_dim_names == ("dp",) and tmp_path.exists()
    return programs.rows_of(mesh, "dp", programs.seeded(8, 2)).sum()


class TestInAClass:
    @simmesh.same_as_one_device(ranks=2)
    def test_a_method_gets_the_mesh(self, tmp_path: Any, mesh: DeviceMesh) -> Any:
        """Would fail if the mesh came in place of self or of a fixture."""
        assert isinstance(self, TestInAClass) and tmp_path.exists()
        return programs.rows_of(mesh, "dp", programs.seeded(8, 2))


def test_a_program_that_does_not_run_is_refused() -> None:
    """Would fail if a coroutine or generator, whose body never runs, passed."""

    async def coroutine(mesh: DeviceMesh) -> torch.Tensor:
        return torch.ones(1)

    def generator(mesh: DeviceMesh) -> Any:
        yield torch.ones(1)

    for program, kind in ((coroutine, "coroutine"), (generator, "generator")):
        with pytest.raises(TypeError, match=f"whose body has not run: it returns a {kind}"):
            simmesh.same_as_one_device(program, ranks=2)
    with pytest.raises(TypeError, match="expected a test that takes the mesh"):
        simmesh.same_as_one_device(ranks=2)(lambda: None)


def test_the_fixture_compares(same_as_one_device: Any) -> None:
    """Would fail if the plugin had no such fixture."""
    assert same_as_one_device(by_hand.megatron(), ranks=2, layouts=[{"tp": 2}]).equal


def test_a_decorated_test_fails_with_the_report() -> None:
    """Would fail if a decorated test passed whatever it finds."""

    @simmesh.same_as_one_device(ranks=2)
    def decorated(mesh: DeviceMesh) -> torch.Tensor:
        return torch.full((2,), float(mesh.size()))

    with pytest.raises(simmesh.DiffersFromOneDevice, match="returned value, at the end") as raised:
        decorated()
    assert raised.value.comparison.has_faults


def test_constant_values_are_counted() -> None:
    """Would fail if zeros, which any layout fits, passed for a comparison without a word."""
    comparison = simmesh.same_as_one_device(lambda mesh: torch.zeros(4, 2), ranks=2)
    assert "1 values have one device's bits; all elements are equal in each of 1" in comparison.text


def test_nothing_to_compare_is_an_error() -> None:
    """Would fail if a program that computes nothing passed."""
    with pytest.raises(ValueError, match="got one with nothing to compare"):
        simmesh.same_as_one_device(lambda mesh: None, ranks=2)


def test_an_error_of_a_rank_is_raised() -> None:
    """Would fail if a program that fails on ranks counted as equal."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        if mesh.size() > 1:
            raise KeyError("lost")
        return torch.ones(1)

    with pytest.raises(KeyError, match="lost"):
        simmesh.same_as_one_device(program, ranks=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected ranks, as in ranks=4, or layouts"),
        ({"layouts": []}, "layouts: expected at least one, got none"),
        ({"layouts": {"dp": 2}}, "layouts: expected a list of mappings"),
        ({"layouts": [{"dp": 0}]}, "a whole number of at least 1 for each dim, got 'dp': 0"),
        ({"layouts": [{}]}, "layouts: expected dims and sizes"),
        ({"layouts": [{"dp": 2}], "ranks": 4}, "expected 4 ranks in each, got 2 in dp=2"),
        ({"ranks": 2, "world_size": 2}, "got the option world_size of spmd"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], message: str) -> None:
    """Would fail if an option that can't be meant ran something else."""
    with pytest.raises(ValueError) as raised:
        simmesh.same_as_one_device(**options)
    assert str(raised.value).startswith("[one_device] ") and message in str(raised.value)


def test_rows_are_those_of_tensor_split() -> None:
    """Would fail if a row were on no rank, or on two."""
    for count in range(9):
        for ranks in range(1, 6):
            rows = torch.arange(count)
            mine = [rows[simmesh.rows_of(rank, ranks, count)] for rank in range(ranks)]
            expected = torch.tensor_split(rows, ranks)
            assert all(map(torch.equal, mine, expected))
    assert simmesh.rows_of(1, 3, 7, sizes=[3, 3, 1]) == slice(3, 6)
    for wrong in ((3, 3, 7), (-1, 3, 7), (0, 2, -1)):
        with pytest.raises(ValueError, match="rows_of: expected"):
            simmesh.rows_of(*wrong)
    with pytest.raises(ValueError, match="2 sizes that add up to 7 rows"):
        simmesh.rows_of(0, 2, 7, sizes=[3, 3])


def test_nothing_stays_behind() -> None:
    """Would fail if modules still noted their calls after a comparison."""
    call, clip = nn.Module.__call__, nn.utils.clip_grad._clip_grads_with_norm_
    simmesh.same_as_one_device(by_hand.megatron(), layouts=[{"tp": 2}])
    assert nn.Module.__call__ is call
    assert nn.utils.clip_grad._clip_grads_with_norm_ is clip
    assert math.isfinite(nn.Linear(2, 2)(torch.ones(1, 2)).sum().item())


def test_a_recording_takes_the_place_of_one_device(tmp_path: Any) -> None:
    """Would fail if a file lost a value, or if what it has were not compared."""
    path = tmp_path / "one_device.pt"
    simmesh.record_one_device(by_hand.megatron(), path, dims=["tp"])
    (verdict,) = simmesh.same_as_one_device(
        by_hand.megatron(), layouts=[{"tp": 2}], recorded=path
    ).verdicts
    assert verdict.compared > 20
    with pytest.raises(simmesh.DiffersFromOneDevice, match=r"gradient of embed\.weight"):
        simmesh.same_as_one_device(
            by_hand.megatron("no sum in backward"), layouts=[{"tp": 2}], recorded=path
        )


def test_another_file_is_no_recording(tmp_path: Any) -> None:
    """Would fail if any file passed for a recording."""
    text, other = tmp_path / "text", tmp_path / "other.pt"
    text.write_text("no recording")
    torch.save({"model": torch.ones(2)}, other)
    for path in (text, other):
        with pytest.raises(ValueError, match="expected a file that record_one_device wrote"):
            simmesh.same_as_one_device(by_hand.megatron(), ranks=1, recorded=path)
    with pytest.raises(FileNotFoundError):
        simmesh.same_as_one_device(by_hand.megatron(), ranks=1, recorded=tmp_path / "none")
