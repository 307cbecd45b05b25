"""How long does a test of three sharded layers take in PyTorch, with one process per rank?

Prints {"name": "fsdp_three_layers/ranks:4", "us": ...}: the time from the start of four gloo
processes to the end of the last one, the least of several runs. The work is that of
bench/fsdp/three_layers.toml: three linear layers, each sharded by fully_shard, train three steps,
and losses and parameters must be those of an unsharded model.
"""

import warnings

import gloo_ranks
from gloo_ranks import three_layers

RANKS, STEPS, BATCH, WIDTH = 4, 3, 8, 16


def run_rank(rank: int, port: int) -> None:
    """Trains the sharded model as one rank, and beside it an unsharded model on all rows."""
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS
    )
    mesh = init_device_mesh("cpu", (RANKS,))
    whole, sharded = three_layers(torch, WIDTH), three_layers(torch, WIDTH)
    for layer in sharded:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in (whole, sharded)]
    for step in range(STEPS):
        torch.manual_seed(1 + step)
        inputs, targets = torch.randn(2, BATCH, WIDTH).unbind()
        expected = torch.nn.functional.mse_loss(whole(inputs), targets)
        rows = slice(rank * BATCH // RANKS, (rank + 1) * BATCH // RANKS)
        loss = torch.nn.functional.mse_loss(sharded(inputs[rows]), targets[rows])
        expected.backward()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        torch.testing.assert_close(total / RANKS, expected.detach())
    for ours, theirs in zip(sharded.parameters(), whole.parameters()):
        torch.testing.assert_close(ours.full_tensor(), theirs)
    dist.destroy_process_group()


if __name__ == "__main__":
    gloo_ranks.main(__file__, __doc__, "fsdp_three_layers", RANKS, run_rank)
