"""Files of safetensors and of PyTorch's DCP in simmesh, and simmesh's in theirs.

usage: torch_checks.py SIMMESH SAMPLES WORK      SAMPLES is a folder of interop_samples
"""

import datetime
import json
import os
import socket
import sys
from typing import Any, Callable

import numpy
import safetensors
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.hf_storage import (
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
)
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Placement, Replicate, Shard, distribute_tensor

from peer import Checks, Tensors, expect, expect_same, our_samples, raw_tensor, their_samples

torch.set_num_threads(1)
LAYOUTS = [
    ("rows", (5, 3), (Shard(0), Replicate())),
    ("columns", (4, 6), (Replicate(), Shard(1))),
    ("both", (6, 5), (Shard(0), Shard(1))),
    ("twice", (7, 2), (Shard(0), Shard(0))),
    ("few", (1, 4), (Shard(0), Shard(1))),
    ("none", (0, 3), (Shard(0), Replicate())),
]
OTHER_DTYPES = ["complex128", "complex32", "float4_e2m1fn_x2"]
LAYOUT_DTYPES = ["float32", "bfloat16", "int64", "bool"]


def sharded_samples() -> dict[str, tuple[torch.Tensor, tuple[Placement, ...]]]:
    return {
        f"{dtype}.{name}": (raw_tensor(shape, dtype, 7 * i + k), placements)
        for i, (name, shape, placements) in enumerate(LAYOUTS)
        for k, dtype in enumerate(LAYOUT_DTYPES)
    }


def strided(mesh: DeviceMesh) -> DTensor:
    """A tensor cut first by tensor, then by data parallelism, as FSDP2 x TP has it."""
    from torch.distributed.tensor.placement_types import _StridedShard

    whole = raw_tensor((8, 3), "float32", 99)
    dp, tp = mesh.get_coordinate()
    part = whole.chunk(2)[tp].chunk(2)[dp].clone()
    return DTensor.from_local(
        part,
        mesh,
        [_StridedShard(0, split_factor=2), Shard(0)],
        run_check=False,
        shape=whole.shape,
        stride=whole.stride(),
    )


def same_value(expected: Any, came: Any) -> bool:
    """True if two values are equal. A tuple may come back as a list."""
    if isinstance(expected, numpy.ndarray):
        return expected.dtype == came.dtype and numpy.array_equal(expected, came)
    if isinstance(expected, tuple):
        return len(expected) == len(came) and all(map(same_value, expected, came))
    return bool(expected == came)


def on_rank(
    rank: int, world: int, port: int, body: Callable[..., None], arguments: tuple[str, ...]
) -> None:
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(world)
    )
    dist.init_process_group("gloo", rank=rank, world_size=world)
    body(*arguments)
    dist.barrier()
    dist.destroy_process_group()


def on_ranks(world: int, body: Callable[..., None], *arguments: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Forked ranks don't import everything again.
    mp.start_processes(on_rank, (world, port, body, arguments), nprocs=world, start_method="fork")


def save_from_ranks(native: str, shards: str, consolidated: str) -> None:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    state = {
        name: distribute_tensor(tensor, mesh, placements)
        for name, (tensor, placements) in sharded_samples().items()
    }
    state["plain"] = torch.arange(5)
    for folder in (shards, consolidated):
        # The consolidation of 2.13 and 2.15 ends with an error for integers and flags, and writes
        # zero for 0-d tensors.
        floats = {name: tensor for name, tensor in state.items() if tensor.is_floating_point()}
        writer = HuggingFaceStorageWriter(
            folder, save_distributed=True, enable_consolidation=folder == consolidated
        )
        dcp.save(floats, storage_writer=writer)
    state["strided"] = strided(mesh)
    dcp.save({**state, "step": 7, "nested": {"lr": [0.5, 0.25], "name": "x"}}, checkpoint_id=native)


def load_on_ranks(folder: str, samples: str) -> None:
    """Loads our DCP checkpoint into DTensors of other layouts, on three ranks."""
    mesh = init_device_mesh("cpu", (3,))
    expected = our_samples(samples)
    state = {}
    for name, tensor in expected.items():
        placement = Shard(tensor.dim() - 1) if tensor.dim() and tensor.numel() else Replicate()
        state[name] = distribute_tensor(torch.zeros_like(tensor), mesh, [placement])
    dcp.load(state, checkpoint_id=folder)
    expect_same(expected, {name: tensor.full_tensor() for name, tensor in state.items()})


class TorchChecks(Checks):
    def __init__(self, simmesh: str, samples: str, work: str) -> None:
        super().__init__(simmesh, work, "torch " + torch.__version__.split("+")[0])
        self.samples, self.ours = samples, os.path.join(samples, "ours")
        self.run(
            f"safetensors {safetensors.__version__}: their file in ours", self.their_safetensors
        )
        self.run(
            f"safetensors {safetensors.__version__}: their files with an index in ours",
            self.their_index,
        )
        self.run(f"safetensors {safetensors.__version__}: our file in theirs", self.our_safetensors)
        self.run(
            f"safetensors {safetensors.__version__}: our files with an index in theirs",
            self.our_index,
        )
        self.run(
            f"safetensors {safetensors.__version__}: our bytes are theirs",
            self.same_safetensors_bytes,
        )
        self.run("DCP: their checkpoint of one process in ours", self.their_dcp)
        self.run("DCP: their Hugging Face files of one process in ours", self.their_hugging_face)
        self.run("DCP: our checkpoint in theirs", self.our_dcp)
        self.run("DCP: our checkpoint of every dtype in theirs", self.our_dcp_of_every_dtype)
        self.run(
            "DCP: our checkpoint made a torch.save file by dcp_to_torch_save", self.our_dcp_as_file
        )
        self.run("DCP: our checkpoint on three gloo ranks", self.our_dcp_on_ranks)
        self.run("DCP: values and dtypes that safetensors lacks, both ways", self.other_values)
        self.run("torch.save: both of its forms in ours", self.torch_files)
        self.run("DCP: our safetensors files by HuggingFaceStorageReader", self.our_hugging_face)
        self.native, self.shards, self.whole = (
            self.path(name) for name in ("ranks", "ranks_hf", "ranks_whole")
        )
        self.run(
            "DCP: four gloo ranks save",
            lambda: on_ranks(4, save_from_ranks, self.native, self.shards, self.whole),
        )
        self.run("DCP: their checkpoint of four gloo ranks in ours", self.their_ranks)
        self.run(
            "DCP: their safetensors shards of four gloo ranks in ours",
            lambda: self.their_files(self.shards),
        )
        self.run(
            "DCP: their consolidated safetensors files in ours",
            lambda: self.their_files(self.whole),
        )

    def their_safetensors(self) -> None:
        path = self.path("theirs.safetensors")
        save_file(their_samples(), path, {"format": "pt", "note": 'a "b" \n'})
        expect_same(load_file(path), self.read_by_ours(path, "st"))
        listed = {entry["name"]: entry["shape"] for entry in self.inspect(path)["tensors"]}
        expect(
            listed == {name: list(tensor.shape) for name, tensor in their_samples().items()},
            "inspect",
        )

    def their_index(self) -> None:
        folder, tensors = self.path("index"), their_samples()
        os.makedirs(folder)
        names = sorted(tensors)
        weight_map = {}
        for i, part in enumerate((names[::2], names[1::2])):
            file = f"model-{i + 1:05}-of-00002.safetensors"
            save_file(
                {name: tensors[name] for name in part}, os.path.join(folder, file), {"format": "pt"}
            )
            weight_map.update(dict.fromkeys(part, file))
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as index:
            json.dump({"metadata": {"total_size": 1}, "weight_map": weight_map}, index, indent=2)
        expect_same(tensors, self.read_by_ours(folder, "index_read"))

    def our_safetensors(self) -> None:
        folder = self.convert(self.ours, "our_st", "--format", "safetensors")
        path = os.path.join(folder, "model-00001-of-00001.safetensors")
        expect_same(our_samples(self.samples), load_file(path))
        with safe_open(path, "pt") as file:
            expect(
                file.metadata()["note"] == "from four ranks" and file.metadata()["step"] == "3",
                str(file.metadata()),
            )

    def our_index(self) -> None:
        folder = self.convert(
            self.ours, "our_index", "--format", "safetensors", "--file-bytes", "300"
        )
        with open(os.path.join(folder, "model.safetensors.index.json")) as file:
            index = json.load(file)
        expect(len(set(index["weight_map"].values())) > 2, "expected several files")
        came = {}
        for file in sorted(set(index["weight_map"].values())):
            tensors = load_file(os.path.join(folder, file))
            expect(
                all(index["weight_map"][name] == file for name in tensors), f"the index of {file}"
            )
            came.update(tensors)
        expect_same(our_samples(self.samples), came)
        expect(
            index["metadata"]["total_size"] == sum(t.nbytes for t in came.values()), "total_size"
        )

    def same_safetensors_bytes(self) -> None:
        path = self.path("bytes.safetensors")
        save_file(their_samples(), path, {"format": "pt"})
        folder = self.convert(path, "bytes", "--format", "safetensors")
        with (
            open(path, "rb") as a,
            open(os.path.join(folder, "model-00001-of-00001.safetensors"), "rb") as b,
        ):
            expect(a.read() == b.read(), "other bytes")

    def their_dcp(self) -> None:
        folder, tensors = self.path("dcp"), their_samples()
        state = {
            "model": tensors,
            "step": 3,
            "lr": 0.1,
            "name": "x",
            "flag": True,
            "nothing": None,
            "list": [1, [2, 3.5]],
            "turned": torch.arange(6).reshape(2, 3).t(),
            "part": torch.arange(10)[3:7],
        }
        dcp.save(state, checkpoint_id=folder, no_dist=True)
        expected = {f"model.{name}": tensor for name, tensor in tensors.items()}
        expected.update(turned=state["turned"], part=state["part"])
        expect_same(expected, self.read_by_ours(folder, "dcp_read"))
        values = {entry["name"]: entry["value"] for entry in self.inspect(folder)["objects"]}
        for name in ("step", "lr", "name", "flag", "nothing"):
            expect(values[name] == state[name], f"{name}: {values[name]}")

    def their_hugging_face(self) -> None:
        folder = self.path("hf")
        tensors = their_samples()
        dcp.save(tensors, storage_writer=HuggingFaceStorageWriter(folder), no_dist=True)
        expect_same(tensors, self.read_by_ours(folder, "hf_read"))

    def load_dcp(self, folder: str, like: Tensors) -> Tensors:
        state = {name: torch.empty_like(tensor) for name, tensor in like.items()}
        dcp.load(state, checkpoint_id=folder, no_dist=True)
        return state

    def our_dcp(self) -> None:
        folder = self.convert(self.ours, "our_dcp", "--format", "dcp")
        expected = our_samples(self.samples)
        expect_same(expected, self.load_dcp(folder, expected))
        values = {"step": 0, "rate": 0.0, "note": ""}
        dcp.load(values, checkpoint_id=folder, no_dist=True)
        expect(values == {"step": 3, "rate": 0.1, "note": "from four ranks"}, str(values))
        metadata = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
        expect(len(metadata["float32.strided"].chunks) == 4, "expected the boxes of four ranks")

    def our_dcp_of_every_dtype(self) -> None:
        path = self.path("every.safetensors")
        save_file(their_samples(), path)
        folder = self.convert(path, "every", "--format", "dcp")
        expect_same(their_samples(), self.load_dcp(folder, their_samples()))

    def our_dcp_as_file(self) -> None:
        dcp_to_torch_save(self.path("our_dcp"), self.path("file.pt"))
        came = torch.load(self.path("file.pt"), weights_only=True)
        flat = {name: tensor for name, tensor in came.items() if isinstance(tensor, torch.Tensor)}
        expect_same(our_samples(self.samples), flat)

    def other_values(self) -> None:
        """Saves them, converts to our format and back, and loads what comes of it."""
        tensors = {name: raw_tensor((3, 2), name, 7) for name in OTHER_DTYPES}
        values = {
            "bytes": b"ab\xff",
            "complex": 1 + 2j,
            "wide": 2**80,
            "range": range(0, 9, 2),
            "delta": datetime.timedelta(1, 2, 3),
            "pairs": {1: "a", 2: [None]},
            "random": numpy.random.RandomState(3).get_state(),
        }
        theirs, back = self.path("other"), self.path("other.back")
        dcp.save({**tensors, **values}, checkpoint_id=theirs, no_dist=True)
        self.checkpoint("verify", theirs)
        ours = self.convert(theirs, "other.ours")
        self.checkpoint("diff", theirs, ours)
        self.checkpoint("convert", ours, back, "--format", "dcp")
        expect_same(tensors, self.load_dcp(back, tensors))
        came = dict(values)
        dcp.load(came, checkpoint_id=back, no_dist=True)
        for name, value in values.items():
            expect(same_value(value, came[name]), f"{name}: expected {value}, came {came[name]}")

    def torch_files(self) -> None:
        tensors = their_samples()
        turned = torch.arange(6.0).reshape(2, 3).t()
        state = {"model": tensors, "turned": turned, "epoch": 3, "fn": expect}
        expected = {f"model.{name}": tensor for name, tensor in tensors.items()}
        expected["turned"] = turned.contiguous()
        for name, is_archive in (("new.pt", True), ("old.pt", False)):
            path = self.path(name)
            torch.save(state, path, _use_new_zipfile_serialization=is_archive)
            self.checkpoint("verify", path)
            came = self.convert(path, name + ".read", "--format", "safetensors")
            expect_same(expected, load_file(os.path.join(came, "model-00001-of-00001.safetensors")))

    def our_dcp_on_ranks(self) -> None:
        on_ranks(3, load_on_ranks, self.path("our_dcp"), self.samples)

    def our_hugging_face(self) -> None:
        expected = our_samples(self.samples)
        state = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
        dcp.load(
            state, storage_reader=HuggingFaceStorageReader(self.path("our_index")), no_dist=True
        )
        expect_same(expected, state)

    def their_ranks(self) -> None:
        expected = {name: tensor for name, (tensor, _) in sharded_samples().items()}
        expected.update(plain=torch.arange(5), strided=raw_tensor((8, 3), "float32", 99))
        expect_same(expected, self.read_by_ours(self.native, "ranks_read"))
        values = {entry["name"]: entry["value"] for entry in self.inspect(self.native)["objects"]}
        expect(values["step"] == 7 and values["nested.name"] == "x", str(values))

    def their_files(self, folder: str) -> None:
        expected = {
            name: tensor
            for name, (tensor, _) in sharded_samples().items()
            if tensor.is_floating_point()
        }
        expect_same(expected, self.read_by_ours(folder, os.path.basename(folder) + "_read"))


if __name__ == "__main__":
    TorchChecks(*sys.argv[1:])
