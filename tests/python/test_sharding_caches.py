"""Nothing that DTensor has derived in one run shows in the next, however that run differs."""

from __future__ import annotations

import importlib
import pickle
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, _redistribute, distribute_tensor
from torch.distributed.tensor.experimental import register_sharding

import simmesh
from simmesh.torch import run
from simmesh.torch.isolation import sharding_caches


def on_ranks(program: Any, *arguments: Any) -> list[Any]:
    """Returns the value of ``program`` on each of 4 ranks; fails if the run does."""
    ran = simmesh.spmd_run(program, *arguments)
    assert ran.outcome.ok, ran.outcome.report
    return ran.results


def derive(mesh: DeviceMesh) -> DTensor:
    """The result of an operator, which DTensor caches."""
    tensor = distribute_tensor(torch.arange(16.0).reshape(4, 4), mesh, [Shard(0), Shard(1)])
    return tensor + 1


@pytest.mark.parametrize("meshes", [1, 2, 3])
def test_results_are_on_the_mesh_of_their_own_run(meshes: int) -> None:
    """Would fail if a result were on the mesh of an earlier run, whose groups are gone."""

    def program(other_groups: int) -> None:
        for _ in range(other_groups):
            dist.new_group([0, 1])
        made = [init_device_mesh("cpu", (2, 2)) for _ in range(meshes)]
        result = derive(made[-1])
        assert result.device_mesh is made[-1] or meshes > 1
        assert result.device_mesh in made
        ones = torch.ones(1)
        dist.all_reduce(ones, group=result.device_mesh.get_group(0))
        assert ones.item() == 2
        assert (result @ result).full_tensor()[0, 0].item() == 90

    for other_groups in (0, 0, 1, 0, 2):
        on_ranks(program, other_groups)


def test_a_mesh_that_is_not_made_again_is_the_equal_one() -> None:
    """Would fail if only meshes that are made by the same call were found."""

    def by_init() -> None:
        derive(init_device_mesh("cpu", (2, 2)))

    def by_class() -> None:
        mesh = DeviceMesh("cpu", torch.arange(4).reshape(2, 2))
        result = derive(mesh)
        assert result.device_mesh == mesh
        dist.barrier(group=result.device_mesh.get_group(1))

    for program in (by_init, by_class, by_init, by_class):
        on_ranks(program)


def test_a_mesh_that_fails_to_be_made_leaves_nothing() -> None:
    """Would fail if a mesh that was begun stayed in the caches."""

    def whole() -> None:
        assert derive(init_device_mesh("cpu", (2, 2))).full_tensor().sum().item() == 136

    def half() -> None:
        with pytest.raises(RuntimeError):
            init_device_mesh("cpu", (2, 4))
        whole()

    for program in (whole, half, whole):
        on_ranks(program)


def test_a_rank_with_another_coordinate_cuts_its_own_shards() -> None:
    """Would fail if a thread used the sizes of the rank that it was in an earlier run."""

    def body(rank: int, reverse: bool) -> list[int]:
        own = 3 - rank if reverse else rank
        dist.init_process_group("gloo", rank=own, world_size=4)
        mesh = init_device_mesh("cpu", (4,))
        tensor = distribute_tensor(torch.arange(6.0), mesh, [Shard(0)])
        sizes = [tensor.to_local().numel(), tensor.new_zeros((6,)).to_local().numel()]
        whole = tensor.redistribute(mesh, [Replicate()]).view(3, 2).full_tensor()
        assert whole.flatten().tolist() == list(range(6))
        return sizes

    for reverse in (False, True, False):
        ran = run(partial(body, reverse=reverse), 4)
        assert ran.outcome.ok, ran.outcome.report
        sizes = [[2, 2], [2, 2], [2, 2], [0, 0]]
        assert ran.results == (sizes[::-1] if reverse else sizes)


def test_registered_strategies_end_with_the_run() -> None:
    """Would fail if a strategy that one test registers were used by the next."""

    def result() -> Any:
        mesh = init_device_mesh("cpu", (4,))
        return distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)]).unsqueeze(1).placements[0]

    def replicated() -> Any:
        register_sharding(torch.ops.aten.unsqueeze.default)(
            lambda x, dim: [([Replicate()], [Replicate(), None])]
        )
        return result()

    assert on_ranks(result) == [Shard(0)] * 4
    assert on_ranks(replicated) == [Replicate()] * 4
    assert on_ranks(result) == [Shard(0)] * 4


def test_a_strategy_is_the_rank_s() -> None:
    """Would fail if a rank that takes its strategy back took those of the others, too."""
    operator = torch.ops.aten.unsqueeze.default
    strategies = sharding_caches._propagator.op_strategy_funcs
    before = dict(strategies)

    def program() -> tuple[Any, bool]:
        if dist.get_rank() != 3:
            strategies[operator] = dist.get_rank()
        dist.barrier()
        seen = strategies.get(operator)
        if dist.get_rank() == 0:
            del strategies[operator]
        dist.barrier()
        return seen, operator in strategies

    strategies.pop(operator, None)
    try:
        assert on_ranks(program) == [(0, False), (1, True), (2, True), (None, False)]
    finally:
        strategies.clear()
        strategies.update(before)


def test_strategies_of_an_imported_module_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would fail if a module that a rank imported had registered its strategies for one run, since
    nothing imports it again.
    """
    (tmp_path / "module_of_strategies.py").write_text(
        "import torch\n"
        "from torch.distributed.tensor import Replicate\n"
        "from torch.distributed.tensor.experimental import register_sharding\n"
        "register_sharding(torch.ops.aten.unsqueeze.default)(\n"
        "    lambda x, dim: [([Replicate()], [Replicate(), None])]\n"
        ")\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def result(imports: bool) -> Any:
        if imports:
            importlib.import_module("module_of_strategies")
        mesh = init_device_mesh("cpu", (4,))
        return distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)]).unsqueeze(1).placements[0]

    registries = sharding_caches._Strategies.registries()
    before = [registered.copy() for registered in registries]
    try:
        assert on_ranks(result, False) == [Shard(0)] * 4
        assert on_ranks(result, True) == [Replicate()] * 4
        assert on_ranks(result, False) == [Replicate()] * 4
    finally:
        sys.modules.pop("module_of_strategies", None)
        for registered, earlier in zip(registries, before):
            registered.clear()
            registered.update(earlier)
    assert on_ranks(result, False) == [Shard(0)] * 4


def test_a_mesh_that_is_unpickled_is_its_run_s() -> None:
    """Would fail if only meshes that programs construct were found."""

    def program() -> None:
        mesh = init_device_mesh("cpu", (2, 2))
        copies = [pickle.loads(pickle.dumps(mesh)) for _ in range(2)]
        result = derive(copies[1])
        assert result.device_mesh == mesh
        dist.barrier(group=result.device_mesh.get_group(0))

    for _ in range(3):
        on_ranks(program)


def test_a_choice_of_plans_is_the_rank_s() -> None:
    """Would fail if a context in which one rank is chose the plans of another, or if a rank could
    not forget its plans by the function's name that a program imported.
    """
    imported = _redistribute._gen_transform_infos

    def program() -> list[bool | None]:
        mesh = init_device_mesh("cpu", (2, 2))
        tensor = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0), Shard(0)])
        seen = []
        for enabled in (dist.get_rank() % 2 == 0, dist.get_rank() < 2):
            with _redistribute.use_min_cost_redistribution_plan(enabled):
                tensor.redistribute(mesh, [Shard(1), Shard(1)])
                dist.barrier()
                seen.append(_redistribute._FORCE_MIN_COST_REDISTRIBUTION_PLAN)
        plans = _redistribute._gen_transform_infos
        first = plans(tensor._spec, tensor._spec)
        assert plans(tensor._spec, tensor._spec) is first
        imported.cache_clear()
        assert plans(tensor._spec, tensor._spec) is not first
        return seen

    assert on_ranks(program) == [[True, True], [False, True], [True, False], [False, False]]
    assert _redistribute._FORCE_MIN_COST_REDISTRIBUTION_PLAN is None
    assert imported is _redistribute._gen_transform_infos
