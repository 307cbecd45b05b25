"""Llama 3 of torchtitan, by its own parallelize: each backend has the bits of one device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import DeviceMesh

import simmesh

pytest.importorskip("torchtitan")

from torchtitan.components.loss import cross_entropy_loss
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed import ParallelDims, parallel_dims
from torchtitan.distributed import utils as titan_utils
from torchtitan.distributed.full_dtensor import parallelize_inputs
from torchtitan.distributed.spmd_types import annotate_input_spmd_types
from torchtitan.models import llama3
from torchtitan.models.common import ComplexRoPE, Embedding, Linear, RMSNorm
from torchtitan.models.common.attention import ScaledDotProductAttention
from torchtitan.models.llama3.sharding import set_llama3_sharding_config

WIDTH, VOCABULARY = 32, 64
TOKENS = torch.randint(0, VOCABULARY, (8, 9), generator=torch.Generator().manual_seed(3))
BACKENDS = ("partial_dtensor", "full_dtensor", "spmd_types")
LAYOUTS = (
    {"dp_shard": 2}, {"dp_replicate": 2, "dp_shard": 2}, {"tp": 2}, {"dp_shard": 2, "tp": 2},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """torchtitan takes CUDA where it finds no accelerator."""
    monkeypatch.setattr(parallel_dims, "device_type", "cpu")


def made(sequence: bool) -> Any:
    """Two layers, with PyTorch's attention in the place of flex attention, which compiles."""
    layers = llama3._build_llama3_layers(
        n_layers=2, dim=WIDTH, n_heads=4, n_kv_heads=2, hidden_dim=64, fuse_qkv=True,
        rope=ComplexRoPE.Config(dim=WIDTH // 4, max_seq_len=16, theta=500000, scaling="llama"),
        attn_backend="varlen",
    )  # fmt: skip
    for layer in layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    config = llama3.Llama3Model.Config(
        dim=WIDTH, vocab_size=VOCABULARY, layers=layers,
        tok_embeddings=Embedding.Config(
            num_embeddings=VOCABULARY, embedding_dim=WIDTH, param_init=llama3._EMBEDDING_INIT
        ),
        norm=RMSNorm.Config(normalized_shape=WIDTH, param_init=llama3._NORM_INIT),
        lm_head=Linear.Config(
            in_features=WIDTH, out_features=VOCABULARY,
            param_init=llama3._output_linear_init(WIDTH),
        ),
    )  # fmt: skip
    set_llama3_sharding_config(config, enable_sp=sequence)
    model = config.build()
    with torch.no_grad():
        model.init_weights(buffer_device=torch.device("cpu"))
    return model.train()


def dims_of(mesh: DeviceMesh, backend: str) -> ParallelDims:
    """The parallel dims of torchtitan for a mesh."""
    sizes = dict(zip(mesh.mesh_dim_names or (), mesh.shape))
    degrees = {name: sizes.get(name, 1) for name in ("dp_replicate", "dp_shard", "tp")}
    dims = ParallelDims(
        **degrees, cp=1, pp=1, ep=1, world_size=mesh.size(), spmd_backend=backend
    )  # fmt: skip
    dims.build_mesh()
    return dims


def batch_of(dims: ParallelDims, mesh: DeviceMesh) -> tuple[Any, Any]:
    """This rank's tokens and labels, as the backend takes them."""
    place = mesh.get_rank() // dims.tp
    rows = TOKENS[simmesh.rows_of(place, mesh.size() // dims.tp, len(TOKENS))]
    inputs, labels = rows[:, :-1].contiguous(), rows[:, 1:].contiguous()
    if dims.spmd_backend == "full_dtensor":
        return parallelize_inputs(dims, inputs, labels, {})[:2]
    if dims.spmd_backend == "spmd_types":
        return annotate_input_spmd_types(dims, inputs, labels, {})[:2]
    return inputs, labels


def training(
    backend: str, sequence: bool = True, precision: str = "float32"
) -> Callable[[DeviceMesh], torch.Tensor]:
    """Two steps of the trainer's loop: the loss is a sum over tokens, divided by all of them."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        titan_utils.set_spmd_backend(backend)
        dims = dims_of(mesh, backend)
        model = llama3.parallelize_llama(
            made(sequence), parallel_dims=dims, ac_config=None, dump_folder="",
            training=TrainingConfig(mixed_precision_param=precision),
            parallelism=ParallelismConfig(spmd_backend=backend),
            compile_config=CompileConfig(enable=False),
        )  # fmt: skip
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        options = {"global_vocab_size": VOCABULARY} if backend == "spmd_types" else {}
        for _ in range(2):
            inputs, labels = batch_of(dims, mesh)
            with titan_utils.get_spmd_context(parallel_dims=dims)():
                loss = cross_entropy_loss(model(inputs), labels, **options) / 64
                loss.backward()
            titan_utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return program


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_parallelize_has_the_bits_of_one_device(backend: str, layout: dict[str, int]) -> None:
    """Would fail if a backend changed bits, called an unknown operator, or declared a layout that
    the comparison reads otherwise.
    """
    comparison = simmesh.same_as_one_device(training(backend), layouts=[layout])
    assert comparison.equal, comparison.text
    assert comparison.verdicts[0].compared > 300


@pytest.mark.parametrize("backend", BACKENDS)
def test_mixed_precision_has_the_bits_of_one_device(backend: str) -> None:
    """Would fail if parameters that are gathered in bfloat16 were rounded by place."""
    program = training(backend, precision="bfloat16")
    comparison = simmesh.same_as_one_device(program, layouts=[{"dp_shard": 2}])
    assert comparison.equal, comparison.text


def test_whole_sequences_have_the_bits_of_one_device() -> None:
    """Would fail without sequence parallelism, where activations between layers are whole."""
    program = training("spmd_types", sequence=False)
    comparison = simmesh.same_as_one_device(program, layouts=[{"dp_shard": 2, "tp": 2}])
    assert comparison.equal, comparison.text


@pytest.mark.parametrize("backend", ["partial_dtensor", "full_dtensor"])
def test_products_of_parts_of_a_sum_are_a_limit(backend: str) -> None:
    """Would fail if a healthy program were called faulty: DTensor multiplies the parts of a
    gradient with weights before it adds them up, which one device can't do.
    """
    program = training(backend, sequence=False)
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="another formula"):
        comparison = simmesh.same_as_one_device(program, layouts=[{"tp": 2}])
    first = comparison.verdicts[0].findings[0]
    assert first.key is not None and first.key.text.startswith("gradient of the output")
