"""How long does a test of three sharded layers take in PyTorch, with one process per rank?

Prints {"name": "fsdp_three_layers/ranks:4", "us": ...}: the time from the start of four gloo processes to the end of the
last one, the least of several runs. The work is that of bench/fsdp/three_layers.toml: three linear layers, each sharded
by fully_shard, train three steps, and losses and parameters must be those of an unsharded model.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
import warnings

RANKS, STEPS, BATCH, WIDTH = 4, 3, 8, 16


def make_model(torch):
    """Returns three layers with the same values on every rank."""
    torch.manual_seed(0)
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    return torch.nn.Sequential(linear(WIDTH, WIDTH), relu(), linear(WIDTH, WIDTH), relu(),
                               linear(WIDTH, WIDTH))


def run_rank(rank, port):
    """Trains the sharded model as one of the ranks, and beside it an unsharded model on all rows."""
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank,
                            world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    whole, sharded = make_model(torch), make_model(torch)
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


def free_port():
    """Returns a port that is free."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def time_processes():
    """Returns the seconds from the start of the ranks to their end."""
    port = free_port()
    started = time.perf_counter()
    ranks = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "--rank", str(rank),
                               "--port", str(port)]) for rank in range(RANKS)]
    statuses = [process.wait() for process in ranks]
    if any(statuses):
        sys.exit(f"fsdp_gloo.py: ranks ended with {statuses}")
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rank", type=int, help="be this rank; without it, all are started")
    parser.add_argument("--port", type=int, help="where the ranks meet")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if options.rank is not None:
        return run_rank(options.rank, options.port)
    seconds = min(time_processes() for _ in range(options.runs))
    print(json.dumps({"name": f"fsdp_three_layers/ranks:{RANKS}", "us": round(seconds * 1e6)}))


if __name__ == "__main__":
    main()
