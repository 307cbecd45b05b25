"""A model that doesn't fit into the GPU keeps its layers on the host, and brings each one in
time. diffusers does so on a transfer stream: the next layer travels while one computes. The
stream that computes must wait until its layer is there. That wait was missing. A reproducer in
plain PyTorch has wrong numbers in about 98 % of its iterations on one kind of GPU. On others it
works, which is worse: pictures come out, and now and then one is odd. PyTorch's own sanitizer for
streams showed it, and that the wait cures it. It shows at the line that computes, and the line
that copies.
"""

import torch

from simmesh.museum import Accesses, Exhibit


def forward(waits):
    transfer, main = torch.cuda.Stream(), torch.cuda.current_stream()
    on_host = [torch.full((2, 2), float(layer + 1)).pin_memory() for layer in range(2)]
    x = torch.ones(1, 2, device="cuda")
    for weight in on_host:
        with torch.cuda.stream(transfer):
            on_device = weight.to("cuda", non_blocking=True)
        if waits:
            main.wait_stream(transfer)
        on_device.record_stream(main)
        x = x @ on_device
    return x


def wrong():
    return forward(waits=False)


def right():
    return forward(waits=True)


EXHIBIT = Exhibit(
    title="Computed before it was there",
    source="huggingface/diffusers PR 13502, ROCm/pytorch #3194",
    date="2026-04-30",
    check=Accesses(ranks=1, options={"device": "cuda", "backend": "nccl"}),
    wrong=wrong,
    right=right,
    at_fault="x = x @ on_device",
)
