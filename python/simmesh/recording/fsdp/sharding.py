"""Applies the calls of ``fully_shard`` that a case lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Callable

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_common import FSDPMeshInfo
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

from simmesh.recording import formula, ranks
from simmesh.recording.fsdp.nodes import set_parameter


class Meshes:
    """The meshes of a case on one rank: each is made once."""

    def __init__(self) -> None:
        self._made: dict[str, DeviceMesh] = {}
        self._infos: dict[str, FSDPMeshInfo] = {}

    def whole(self, mesh: Mapping[str, Any]) -> DeviceMesh:
        """The mesh with all of its dims."""
        key = json.dumps([mesh["shape"], mesh.get("names")])
        if key not in self._made:
            self._made[key] = ranks.mesh_of(dict(mesh))
        return self._made[key]

    def used(self, mesh: Mapping[str, Any]) -> DeviceMesh:
        """The dims of the mesh that ``fully_shard`` gets."""
        whole = self.whole(mesh)
        return whole[tuple(mesh["use"])] if "use" in mesh else whole

    def info(self, mesh: Mapping[str, Any]) -> FSDPMeshInfo:
        """The mesh as ``shard_placement_fn`` returns it: one object for a group's parameters."""
        key = json.dumps(mesh)
        if key not in self._infos:
            self._infos[key] = FSDPMeshInfo(self.used(mesh), shard_mesh_dim=0)
        return self._infos[key]


def shard(model: nn.Module, case: Mapping[str, Any]) -> Meshes:
    """Distributes the parameters listed under ``tp`` and wraps the model as the case says."""
    meshes = Meshes()
    for name, dim in case.get("tp", ()):
        parameter = model.get_parameter(name)
        placement = Replicate() if dim is None else Shard(dim)
        mesh = meshes.whole(case["mesh"])["tp"]
        distributed = nn.Parameter(distribute_tensor(parameter.detach(), mesh, [placement]))
        set_parameter(model, name, distributed)
    for wrap in case["wraps"] if case["mesh"] is not None else ():
        _wrap(model, wrap, meshes, case["mesh"])
    return meshes


def _wrap(
    model: nn.Module, wrap: Mapping[str, Any], meshes: Meshes, mesh: Mapping[str, Any]
) -> None:
    modules = [model.get_submodule(name) for name in wrap["modules"]]
    options: dict[str, Any] = {"mesh": meshes.used(mesh)}
    if "reshard_after_forward" in wrap:
        options["reshard_after_forward"] = wrap["reshard_after_forward"]
    if wrap.get("mp_policy"):
        options["mp_policy"] = policy(wrap["mp_policy"])
    if wrap.get("ignored_params"):
        options["ignored_params"] = {model.get_parameter(name) for name in wrap["ignored_params"]}
    if wrap.get("shard_dims") or wrap.get("param_mesh"):
        options["shard_placement_fn"] = _placement_of(model, wrap, meshes)
    if wrap.get("dp_mesh_dims"):
        from torch.distributed.fsdp import DataParallelMeshDims

        dims = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in wrap["dp_mesh_dims"].items()
        }
        options["dp_mesh_dims"] = DataParallelMeshDims(**dims)
    is_list = len(modules) > 1 or wrap.get("as_list", False)
    fully_shard(modules if is_list else modules[0], **options)


def policy(fields: Mapping[str, Any]) -> MixedPrecisionPolicy:
    """The mixed precision policy that a case's fields mean."""
    return MixedPrecisionPolicy(
        **{
            name: formula.DTYPES[value] if isinstance(value, str) else value
            for name, value in fields.items()
        }
    )


def _placement_of(
    model: nn.Module, wrap: Mapping[str, Any], meshes: Meshes
) -> Callable[[nn.Parameter], Any]:
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    infos = {name: meshes.info(mesh) for name, mesh in wrap.get("param_mesh", {}).items()}

    def placement_of(parameter: nn.Parameter) -> Any:
        name = names[id(parameter)]
        dim = wrap.get("shard_dims", {}).get(name)
        if name in infos:
            from torch.distributed.fsdp._fully_shard._fsdp_common import ShardPlacementResult

            return ShardPlacementResult(placement=Shard(0), mesh_info=infos[name])
        return None if dim is None else Shard(dim)

    return placement_of


def local_of(tensor: torch.Tensor) -> torch.Tensor:
    """The part of a tensor that this rank holds."""
    return getattr(tensor, "_local_tensor", tensor)
