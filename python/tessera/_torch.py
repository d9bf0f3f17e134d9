"""Products that PyTorch can differentiate: the gradient of A x is the conjugate transpose's
product, by PyTorch's convention for complex numbers."""

from __future__ import annotations

from typing import Any

import torch


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, plan: Any, adjoint: bool) -> Any:
        ctx.plan, ctx.adjoint = plan, adjoint
        return plan.multiply(x.detach(), transpose=adjoint, conjugate=adjoint)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _Product.apply(gradients[0], ctx.plan, not ctx.adjoint), None, None


def differentiable(plan: Any, x: Any, transpose: bool, conjugate: bool) -> Any:
    if transpose and not conjugate and plan.dtype.kind == "c":  # A^T x = conj(A^H conj(x))
        return _Product.apply(x.conj(), plan, True).conj()
    return _Product.apply(x, plan, transpose)
