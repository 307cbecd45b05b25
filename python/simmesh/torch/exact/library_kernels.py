"""Keeps torch from choosing kernels of oneDNN, which computes whole layers in an order of its own.

Without it, torch composes an LSTM of products and functions, as it does a GRU.
"""

from __future__ import annotations

import torch

from simmesh.torch.exact.shared_changes import WhileAnyThread

_before = True


def _switch_off(is_first: bool) -> None:
    global _before
    if is_first:
        _before = torch._C._get_mkldnn_enabled()
        torch._C._set_mkldnn_enabled(False)


def _put_back() -> None:
    torch._C._set_mkldnn_enabled(_before)


#: Switches oneDNN off while any thread is in the mode; the last one puts back what was.
without_onednn = WhileAnyThread(_switch_off, _put_back)
