"""How long does a test of three steps of ZeRO stage 3 take in DeepSpeed, with one process per rank?

Prints {"name": "zero3_three_steps/ranks:2", "us": ...}: the time from the start of two gloo
processes to the end of the last one, the least of several runs. The work is that of
bench/zero/three_steps.toml: three linear layers under stage 3 train three steps, and losses and
parameters must be those of an unsharded model.
"""

import logging
import os
import warnings

import gloo_ranks
from gloo_ranks import three_layers

RANKS, STEPS, BATCH, WIDTH = 2, 3, 8, 16
CONFIG = {
    "train_micro_batch_size_per_gpu": BATCH // RANKS,
    "gradient_clipping": 0.0,
    "zero_optimization": {
        "stage": 3,
        "stage3_param_persistence_threshold": 0,
        "reduce_bucket_size": 4096,
        "stage3_prefetch_bucket_size": 4096,
    },
    "zero_allow_untested_optimizer": True,
}


def run_rank(rank: int, port: int) -> None:
    """Trains the model under stage 3 as one rank, and beside it an unsharded model."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    os.environ.update(
        DS_ACCELERATOR="cpu",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(RANKS),
    )
    import deepspeed
    import torch

    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo", verbose=False)
    whole, sharded = three_layers(torch, WIDTH), three_layers(torch, WIDTH)
    optimizer = torch.optim.AdamW(whole.parameters(), lr=0.01)
    engine, *_ = deepspeed.initialize(
        model=sharded, config=CONFIG, optimizer=torch.optim.AdamW(sharded.parameters(), lr=0.01)
    )
    for step in range(STEPS):
        torch.manual_seed(1 + step)
        inputs, targets = torch.randn(2, BATCH, WIDTH).unbind()
        expected = torch.nn.functional.mse_loss(whole(inputs), targets)
        rows = slice(rank * BATCH // RANKS, (rank + 1) * BATCH // RANKS)
        loss = torch.nn.functional.mse_loss(engine(inputs[rows]), targets[rows])
        expected.backward()
        engine.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        engine.step()
        total = loss.detach().clone()
        torch.distributed.all_reduce(total)
        torch.testing.assert_close(total / RANKS, expected.detach())
    with deepspeed.zero.GatheredParameters(list(sharded.parameters())):
        for ours, theirs in zip(sharded.parameters(), whole.parameters()):
            torch.testing.assert_close(ours.detach(), theirs.detach())
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    gloo_ranks.main(__file__, __doc__, "zero3_three_steps", RANKS, run_rank)
