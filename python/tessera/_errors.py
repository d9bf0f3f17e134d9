"""One exception for every status of the library. Each is also a built-in exception,
so that `except ValueError` works as usual."""

from __future__ import annotations


class Error(Exception):
    """A call of the library failed. `str()` is the library's sentence, `status` its name."""

    status = "TESS_ERR_INTERNAL"


class ArgumentError(Error, ValueError):
    """A value is outside its range."""

    status = "TESS_ERR_ARGUMENT"


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""

    status = "TESS_ERR_MEMORY"


class FileError(Error, OSError):
    """The operating system refused a file operation."""

    status = "TESS_ERR_IO"


class FormatError(Error, ValueError):
    """A file's content is malformed."""

    status = "TESS_ERR_FORMAT"


class MatrixError(Error, ValueError):
    """Matrix arrays break the rules of their format, or a block cannot be inverted."""

    status = "TESS_ERR_MATRIX"


class SizeError(Error, OverflowError):
    """A size does not fit the index types, or a value does not fit its type."""

    status = "TESS_ERR_OVERFLOW"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not something this build or format can do."""

    status = "TESS_ERR_UNSUPPORTED"


class OptionError(Error, ValueError):
    """An option is unknown or has a bad value."""

    status = "TESS_ERR_OPTION"


class PatternError(Error, ValueError):
    """A value lies outside a fixed sparsity pattern."""

    status = "TESS_ERR_PATTERN"


class DeviceError(Error, RuntimeError):
    """A device is missing, or its driver reported an error."""

    status = "TESS_ERR_DEVICE"


class CancelledError(Error):
    """A callback asked to stop."""

    status = "TESS_ERR_CANCELLED"


class InternalError(Error, RuntimeError):
    """A bug in Tessera; please report it."""

    status = "TESS_ERR_INTERNAL"


BY_STATUS: dict[str, type[Error]] = {
    kind.status: kind
    for kind in (
        ArgumentError,
        OutOfMemoryError,
        FileError,
        FormatError,
        MatrixError,
        SizeError,
        UnsupportedError,
        OptionError,
        PatternError,
        DeviceError,
        CancelledError,
        InternalError,
    )
}
