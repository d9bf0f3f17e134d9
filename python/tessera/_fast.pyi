from typing import Any

def product(
    spmv: int,
    plan: int,
    rows: int,
    cols: int,
    format: str,
    size: int,
    dtype: Any,
    device: int,
    /,
) -> Any: ...
def spmv(product: Any, x: Any, y: Any, /) -> int: ...
def spmv_at(product: Any, x: int, y: int, /) -> int: ...
def spmv_new(product: Any, x: Any, new: Any, current_stream: Any, stream: int | None, /) -> Any: ...
