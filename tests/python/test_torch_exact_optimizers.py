"""Steps of optimizers with ``local="exact"``: the bits of an element don't depend on its place."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DeviceMesh, DTensor, Partial

import simmesh
from simmesh.torch.exact.mode import exact_operators

OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Adam": (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.01, "amsgrad": True}),
    "AdamW, maximize": (torch.optim.AdamW, {"lr": 0.01, "maximize": True}),
    "SGD": (torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.1}),
    "SGD, nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "Adagrad": (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1}),
}


def fused(name: str, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """A fused optimizer."""
    make, options = OPTIMIZERS[name]
    return make(parameters, fused=True, **options)


def plain(name: str, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """The same optimizer that steps one parameter after the other."""
    make, options = OPTIMIZERS[name]
    return make(parameters, foreach=False, **options)


def stepped(
    name: str, parts: list[torch.Tensor], gradients: list[list[torch.Tensor]], make: Any = fused
) -> torch.Tensor:
    """The parameters after a step for each list of gradients."""
    parameters = [torch.nn.Parameter(each.clone()) for each in parts]
    optimizer = make(name, parameters)
    for each in gradients:
        for parameter, gradient in zip(parameters, each):
            parameter.grad = gradient.clone()
        optimizer.step()
    return torch.cat([each.detach() for each in parameters])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fused_steps_have_the_same_bits_in_pieces(name: str, dtype: torch.dtype) -> None:
    """Would fail if a fused kernel rounded the rest behind its vectors in another way."""
    torch.manual_seed(0)
    whole = torch.randn(101).to(dtype)
    gradients = [torch.randn(101).to(dtype) for _ in range(3)]
    sizes = [7, 0, 33, 61]
    with exact_operators():
        one = stepped(name, [whole], [[each] for each in gradients])
        parts = [list(each.split(sizes)) for each in gradients]
        assert torch.equal(stepped(name, list(whole.split(sizes)), parts), one)
    other = stepped(name, [whole], [[each] for each in gradients], plain)
    assert torch.allclose(other.float(), one.float(), rtol=4 * torch.finfo(dtype).eps, atol=1e-2)
    assert not torch.equal(one, whole)


def test_fused_steps_heed_the_scaler() -> None:
    """Would fail if a gradient's scale stayed, or if one that isn't finite were stepped."""
    torch.manual_seed(0)
    whole, gradient = torch.randn(9), torch.randn(9)
    with exact_operators():
        expected = stepped("AdamW", [whole], [[gradient]])
        for factor, wanted in ((1024.0, expected), (float("inf"), whole)):
            parameter = torch.nn.Parameter(whole.clone())
            optimizer = fused("AdamW", [parameter])
            scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
            scaler.scale(torch.zeros(()))
            parameter.grad = gradient * factor
            scaler.step(optimizer)
            assert torch.equal(parameter.detach(), wanted)


def test_functional_fused_steps_return_their_results() -> None:
    """Would fail if the form that writes nothing wrote its operands."""
    tensors = [[torch.randn(5).abs()] for _ in range(4)]
    before = copy.deepcopy(tensors)
    options: dict[str, Any] = {
        "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8,
        "amsgrad": False, "maximize": False,
    }  # fmt: skip
    step = torch.tensor(1.0)
    with exact_operators():
        found = torch.ops.aten._fused_adam(*tensors, [], [step], **options)
        assert all(torch.equal(one[0], other[0]) for one, other in zip(tensors, before))
        torch.ops.aten._fused_adam_(*tensors, [], [step], **options)
    assert all(torch.equal(one[0], other[0]) for one, other in zip(tensors, found))


def muon(rows: int, columns: int, orthogonalizes_shards: bool = False) -> Any:
    """A step of Muon on a matrix whose rows FSDP2 cuts."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(columns, rows, bias=False))
        fully_shard(model, mesh=mesh)
        x = torch.randn(3, columns)
        (model(x) * torch.randn(3, rows)).sum().backward()
        parameter: Any = model[0].weight
        if orthogonalizes_shards:
            local = torch.nn.Parameter(parameter.to_local().detach().clone())
            local.grad = parameter.grad.to_local()
            torch.optim.Muon([local], lr=0.01).step()
            with torch.no_grad():
                parameter.to_local().copy_(local)
        else:
            torch.optim.Muon([parameter], lr=0.01).step()

    return program


def test_muon_on_shards_has_the_bits_of_one_device() -> None:
    """Would fail if norms and products in a step were rounded before they are added up."""
    assert simmesh.same_as_one_device(muon(6, 12), layouts=[{"fsdp": 2}, {"fsdp": 3}]).equal


def test_muon_that_multiplies_parts_is_a_limit() -> None:
    """Would fail if DTensor's products of parts of sums counted as a fault."""
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="multiplies matrices that are cut"):
        simmesh.same_as_one_device(muon(12, 6), layouts=[{"fsdp": 2}])


@pytest.mark.parametrize(("rows", "columns"), [(6, 12), (12, 6)])
def test_muon_on_each_shard_is_a_fault(rows: int, columns: int) -> None:
    """Would fail if a shard that is orthogonalized by itself passed, or for a limit."""
    with pytest.raises(simmesh.DiffersFromOneDevice, match=r"parameter 0\.weight"):
        simmesh.same_as_one_device(muon(rows, columns, True), layouts=[{"fsdp": 2}])


def test_a_gradient_is_reduced_in_the_step() -> None:
    """Would fail if a part of a sum lost its values in the step that adds it up."""

    def program(mesh: DeviceMesh) -> None:
        parts = (torch.ones(3) / 3, torch.ones(3) / 3, torch.ones(3) / 3)
        mine = sum(parts[mesh.get_local_rank() :: mesh.size()], torch.zeros(3))
        parameter: Any = torch.nn.Parameter(
            DTensor.from_local(torch.zeros(3), mesh, run_check=False)
        )
        parameter.grad = DTensor.from_local(mine, mesh, [Partial()], run_check=False)
        torch.optim.SGD([parameter], lr=1.0).step()
        simmesh.note("weight", parameter, whole=True)

    assert simmesh.same_as_one_device(program, ranks=3).equal
