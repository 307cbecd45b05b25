"""How long does one training step of a small transformer take in PyTorch eager, on one core?

Prints {"name": "transformer_step/ranks:8", "us": ...}: eight times the step of one rank, the same
work as our benchmark of that name, which simulates eight ranks one after the other. The least of
several steps counts.
"""

import json
import time

import torch
import torch.nn.functional as F

LAYERS, WIDTH, HEADS, VOCABULARY = 4, 256, 4, 512
BATCH, LENGTH, RANKS = 2, 64, 8


class Block(torch.nn.Module):
    """A layer: attention and an MLP, each after a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = torch.nn.RMSNorm(WIDTH)
        self.norm2 = torch.nn.RMSNorm(WIDTH)
        self.wq, self.wk, self.wv, self.wo = (
            torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)
        )
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        q, k, v = (
            w(y).view(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
        return x + self.down(F.silu(self.up(self.norm2(x))))


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Embedding(VOCABULARY, WIDTH),
        *(Block() for _ in range(LAYERS)),
        torch.nn.Linear(WIDTH, VOCABULARY, bias=False),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    tokens = torch.randint(VOCABULARY, (BATCH, LENGTH))
    best = float("inf")
    for _ in range(10):
        started = time.process_time()
        loss = F.cross_entropy(model(tokens).view(-1, VOCABULARY), tokens.view(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        best = min(best, time.process_time() - started)
    print(json.dumps({"name": f"transformer_step/ranks:{RANKS}", "us": best * RANKS * 1e6}))


if __name__ == "__main__":
    main()
