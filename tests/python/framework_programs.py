"""Trainings by frameworks, as a user writes them, that run as processes of gloo and on ranks.

python -m torch.distributed.run --nproc-per-node 2 framework_programs.py NAME FOLDER
python -m simmesh.torch --ranks 2 framework_programs.py NAME FOLDER

Each rank saves what it computed in the folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import package_programs

STEPS = 4


def network(dim: int = 8) -> nn.Sequential:
    """The same small network on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))


def batches(seed: int) -> torch.Tensor:
    """The batches of a rank."""
    return torch.randn(STEPS, 4, 8, generator=torch.Generator().manual_seed(seed))


def rows() -> torch.Tensor:
    """The rows of two ranks' batches."""
    return torch.cat([batches(1), batches(2)]).flatten(0, 1)


def rank() -> int:
    """The number of the rank, as torchrun says it."""
    return int(os.environ["RANK"])


def of_accelerate() -> list[Any]:
    """DDP by accelerate, with a loader that it splits."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(rows(), batch_size=4, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    found: list[Any] = []
    for batch in loader:
        loss = model(batch).pow(2).mean()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        found.append(accelerator.gather(loss.detach()))
    return [*found, *(each.detach() for each in model.parameters())]


def of_fabric() -> list[Any]:
    """DDP by Lightning's Fabric."""
    from lightning_fabric import Fabric

    devices = int(os.environ["WORLD_SIZE"])
    fabric = Fabric(accelerator="cpu", devices=devices, strategy="ddp")
    fabric.launch()
    model = network()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=0.01))
    found: list[Any] = []
    for batch in batches(fabric.global_rank):
        loss = model(batch).pow(2).mean()
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
        found.append(fabric.all_gather(loss.detach()))
    return [*found, *(each.detach() for each in model.parameters())]


def small_llama() -> Any:
    """The configuration of a small Llama."""
    import transformers

    return transformers.LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=32,
    )  # fmt: skip


def _unchanged(trainer: Any) -> None:
    """Leaves what trains as it is."""


def of_trainer(change: Callable[[Any], None] = _unchanged) -> list[Any]:
    """DDP by the Trainer of transformers, with a model of its own. ``change`` gets the trainer."""
    import tempfile

    import transformers

    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(small_llama())
    tokens = torch.randint(0, 64, (32, 9), generator=torch.Generator().manual_seed(3))
    rows = [{"input_ids": row, "labels": row} for row in tokens]
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder, max_steps=STEPS, per_device_train_batch_size=2, use_cpu=True,
            report_to=[], logging_steps=1, save_strategy="no", disable_tqdm=True,
        )  # fmt: skip
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=rows)
        change(trainer)
        trainer.train()
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    return [*losses, *(each.detach() for each in model.parameters())]


def of_deepspeed(stage: int, change: Callable[[Any], None] = _unchanged) -> list[Any]:
    """DeepSpeed's engine, with a ZeRO stage. ``change`` gets the engine."""
    import deepspeed

    # It compiles an operator for sums in shared memory otherwise, which takes a minute.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed("gloo")
    engine, *_ = deepspeed.initialize(
        model=network(),
        config={
            "train_micro_batch_size_per_gpu": 4,
            "optimizer": {"type": "AdamW", "params": {"lr": 0.01, "torch_adam": True}},
            "gradient_clipping": 1.0,
            "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0},
        },
    )
    change(engine)
    found: list[Any] = []
    for batch in batches(rank()):
        loss = engine(batch).pow(2).mean()
        engine.backward(loss)
        engine.step()
        found.append(loss.detach())
    with deepspeed.zero.GatheredParameters(list(engine.module.parameters()), enabled=stage == 3):
        return [*found, *(each.detach().clone() for each in engine.module.parameters())]


def of_megatron() -> list[Any]:
    """Tensor-parallel layers of megatron-core."""
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.model_parallel_config import ModelParallelConfig

    torch.distributed.init_process_group("gloo")
    size = torch.distributed.get_world_size()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=size)
    config = ModelParallelConfig(
        tensor_model_parallel_size=size, use_cpu_initialization=True, params_dtype=torch.float32
    )
    torch.manual_seed(0)
    options: dict[str, Any] = {"config": config, "init_method": nn.init.xavier_normal_}
    embedding = tensor_parallel.VocabParallelEmbedding(32, 8, **options)
    first = tensor_parallel.ColumnParallelLinear(8, 16, bias=True, gather_output=False, **options)
    second = tensor_parallel.RowParallelLinear(
        16, 8, bias=True, input_is_parallel=True, skip_bias_add=False, **options
    )
    head = tensor_parallel.ColumnParallelLinear(8, 32, bias=False, gather_output=False, **options)
    parts = nn.ModuleList([embedding, first, second, head])
    optimizer = torch.optim.AdamW(parts.parameters(), lr=0.01)
    tokens = torch.randint(0, 32, (STEPS, 4, 6), generator=torch.Generator().manual_seed(3))
    found: list[Any] = [parallel_state.get_tensor_model_parallel_rank()]
    for batch in tokens:
        hidden = second(nn.functional.gelu(first(embedding(batch))[0]))[0]
        logits = head(hidden)[0].transpose(0, 1).contiguous()
        losses = tensor_parallel.vocab_parallel_cross_entropy(logits, batch.t().contiguous())
        losses.mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(losses.detach())
    return [*found, *(each.detach() for each in parts.parameters())]


def of_tensor_parallel_plan() -> list[Any]:
    """A Llama of transformers that its own plan cuts over the ranks when it is loaded."""
    import transformers

    folder = os.path.join(sys.argv[2], "model")
    if rank() == 0:
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(small_llama()).save_pretrained(folder)
    torch.distributed.init_process_group("gloo")
    torch.distributed.barrier()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, tp_plan="auto", dtype=torch.float32
    )
    tokens = torch.arange(16).view(2, 8)
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    made = model.generate(tokens[:, :4], max_new_tokens=4, do_sample=False)
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    return [loss.detach(), made, *(getattr(each, "_local_tensor", each) for each in gradients)]


PROGRAMS: dict[str, Callable[[], list[Any]]] = {
    "accelerate": of_accelerate,
    "lightning_fabric": of_fabric,
    "transformers": of_trainer,
    "transformers-tp": of_tensor_parallel_plan,
    "deepspeed-0": lambda: of_deepspeed(0),
    "deepspeed-1": lambda: of_deepspeed(1),
    "deepspeed-2": lambda: of_deepspeed(2),
    "deepspeed-3": lambda: of_deepspeed(3),
    "megatron": of_megatron,
    "lightning": lambda: package_programs.of_lightning(STEPS, rows()),
    "torchao": lambda: package_programs.of_torchao(STEPS, rows()),
    "torchft": lambda: package_programs.of_torchft(STEPS, rows()),
    "torchrec": lambda: package_programs.of_torchrec(STEPS, rows()),
    "spmd_types": lambda: package_programs.of_spmd_types(STEPS, rows()),
}

#: What each program is, as the table of the page says it.
TITLES = {
    "accelerate": "`Accelerator` with DDP, a shuffled loader that it splits, clipping, `gather`; 4 "
                  "steps",
    "lightning_fabric": "`Fabric` with DDP, clipping, `all_gather`; 4 steps",
    "transformers": "`Trainer` with DDP of a small Llama; 4 steps",
    "transformers-tp": 'a small Llama loaded with `tp_plan="auto"`: loss, gradients, `generate`',
    "deepspeed-0": "its engine with ZeRO 0, AdamW, clipping; 4 steps",
    "deepspeed-1": "the same with ZeRO 1",
    "deepspeed-2": "the same with ZeRO 2",
    "deepspeed-3": "the same with ZeRO 3",
    "megatron": "`parallel_state`, vocabulary embedding, column and row linear layers, vocabulary "
                "cross entropy; 4 steps",
    "lightning": "`Trainer` with DDP, a shuffled loader that it splits, clipping, `all_gather`; 4 "
                 "steps",
    "torchao": "`AdamW8bit` over FSDP2; 4 steps",
    "torchft": "`ProcessGroupGloo`, configured anew for each of 4 steps; a checkpoint by "
               "`PGTransport`",
    "torchrec": "three tables that `DistributedModelParallel` cuts over the ranks; 4 steps",
    "spmd_types": "a layer cut by columns and rows, type-checked; 4 steps",
}  # fmt: skip

#: Scripts that packages bring with them, which say themselves whether they pass.
OWN_SCRIPTS = {
    "accelerate": ("accelerate.test_utils.scripts.test_script",
                   "accelerate.test_utils.scripts.test_sync"),
}  # fmt: skip

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.save(PROGRAMS[sys.argv[1]](), f"{sys.argv[2]}/{rank()}.pt")
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
