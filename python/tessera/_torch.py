"""Products that PyTorch can differentiate: the gradient of A x is the transpose's product."""

from __future__ import annotations

from typing import Any

import torch


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, plan: Any, transpose: bool) -> Any:
        ctx.plan, ctx.transpose = plan, transpose
        return plan.multiply(x.detach(), transpose=transpose)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        gradient = differentiable(ctx.plan, gradients[0], not ctx.transpose)
        return gradient, None, None


def differentiable(plan: Any, x: Any, transpose: bool) -> Any:
    return _Product.apply(x, plan, transpose)
