"""Finds and loads the library, and lets one thread at a time call it in each context.

A context serves one thread at a time, so each has a lock, and every thread makes its matrices in a
context of its own. Objects of the library are destroyed after those made from them, whatever order
the garbage collector takes: a `Handle` counts its users.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pathlib
import signal
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from . import _errors
from ._checks import integer
from ._header import Header

_HERE = pathlib.Path(__file__).resolve().parent


def _find(names: list[pathlib.Path], what: str) -> pathlib.Path:
    for name in names:
        if name.exists():
            return name
    raise ImportError(f"tessera: {what} is not at {' or '.join(map(str, names))}")


def _load() -> tuple[Header, ctypes.CDLL]:
    """TESSERA_LIBRARY names another library than the one in the package, for use from a source
    tree. Its version must be the header's."""
    root = _HERE.parent.parent
    header = Header(
        _find([_HERE / "tessera.h", root / "include/tessera/tessera.h"], "tessera.h").read_text()
    )
    suffix = "dylib" if sys.platform == "darwin" else "so"
    named = os.environ.get("TESSERA_LIBRARY")
    bundled = [_HERE / f"libtessera.{suffix}", root / f"build/lib/libtessera.{suffix}"]
    path = _find([pathlib.Path(named)] if named else bundled, "the library (TESSERA_LIBRARY)")
    library = ctypes.CDLL(str(path))
    header.bind(library)
    version = library.tess_version().decode()
    if version != header.version:
        raise ImportError(f"tessera: {path} is version {version}, the package {header.version}")
    return header, library


def _load_fast() -> Any:
    """The module `_fast`: in the package, or beside the library that TESSERA_LIBRARY names. None
    where it was not built."""
    try:
        from . import _fast

        return _fast
    except ImportError:
        pass
    named = os.environ.get("TESSERA_LIBRARY")
    beside = pathlib.Path(named).parent / "_fast.abi3.so" if named else None
    if beside is None or not beside.is_file():
        return None
    found = importlib.util.spec_from_file_location("tessera._fast", beside)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


header, lib = _load()
fast: Any = _load_fast()
constants = header.constants
structs = header.structs
_STATUS = {value: name for name, value in constants.items() if name.startswith("TESS_ERR_")}


class Handle:
    """An object of the library. It is destroyed when its owner has let go of it and no other
    handle made from it is left. `keep` is held until then: arrays that are used in place."""

    __slots__ = ("address", "context", "keep", "_destroy", "_parents", "_users")
    keep: Any

    def __init__(
        self,
        context: Context,
        address: int,
        destroy: Callable[[int], None],
        parents: tuple[Handle, ...] = (),
        keep: Any = None,
    ) -> None:
        self.context, self.address, self.keep = context, address, keep
        self._destroy, self._parents, self._users = destroy, parents, 1
        context._users += 1
        for parent in parents:
            parent._users += 1

    def share(self) -> Handle:
        """The handle for one more owner."""
        self._users += 1
        return self

    def _release(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._destroy(self.address)
            self.address, self.keep = 0, None
            for parent in self._parents:
                parent._release()
            self.context._release()


class _Interruption:
    """Keeps a Ctrl-C that arrives during a call: the library's callbacks then stop the call, and
    the exception of the handler that was installed is raised after it. A call that a callback makes
    within another call stops too, and leaves the exception to that one. Only the main thread gets
    signals."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.installed = False

    def __enter__(self) -> None:
        self.context.depth += 1
        if threading.current_thread() is not threading.main_thread():
            return
        self.previous: Any = signal.getsignal(signal.SIGINT)
        if callable(self.previous):
            signal.signal(signal.SIGINT, self._interrupt)
            self.installed = True

    def __exit__(self, *_: object) -> None:
        if self.installed:
            signal.signal(signal.SIGINT, self.previous)
        self.context.depth -= 1
        if self.context.depth == 0:
            self.context.interrupted = None

    def _interrupt(self, number: int, frame: Any) -> None:
        try:
            self.previous(number, frame)
        except BaseException as error:  # any exception is raised after the call
            self.context.interrupted = error


class Context:
    """A tess_ctx and its lock."""

    def __init__(self, threads: int = 0, allocator: Any = None) -> None:
        self.lock: Any = threading.RLock()  # a callback may call the library again
        self.interrupted: BaseException | None = None  # by Ctrl-C, during the present call
        self.depth = 0  # calls under way: callbacks of one make others
        self.dead: deque[Handle] = deque()
        self._users = 1
        self.devices: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        itself = weakref.ref(self)

        def progress(_user: Any, _what: Any, _fraction: float) -> int:
            context = itself()
            return int(context is not None and context.interrupted is not None)

        options = structs["tess_ctx_options"](threads=threads)
        options.progress = self._progress = header.callbacks["tess_progress_fn"](progress)
        if allocator is not None:
            options.allocator = allocator
        out = ctypes.c_void_p()
        status = lib.tess_ctx_create(ctypes.byref(options), ctypes.byref(out))
        if status or out.value is None:
            raise exception(status, lib.tess_status_text(status).decode())
        self.address: int = out.value
        self._destroy = lib.tess_ctx_destroy
        _contexts.add(self)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._release()

    def _release(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._destroy(self.address)

    def call(self, function: Any, *arguments: Any) -> None:
        """A call that may take long: Ctrl-C stops it."""
        with self.lock, _Interruption(self):
            self.check(function(*arguments))
            if self.interrupted is not None:
                raise self.interrupted
        self.sweep()

    def quick(self, function: Any, *arguments: Any) -> None:
        """A call that is over before anybody can press Ctrl-C."""
        with self.lock:
            status = function(*arguments)
            if status:
                self.check(status)
        if self.dead:
            self.sweep()

    def make(
        self,
        destroy: Callable[[int], None],
        parents: tuple[Handle, ...],
        function: Any,
        *arguments: Any,
        keep: Any = None,
    ) -> Handle:
        """A call whose last parameter receives a new object."""
        out = ctypes.c_void_p()
        with self.lock, _Interruption(self):
            self.check(function(*arguments, ctypes.byref(out)))
            assert out.value is not None
            handle = Handle(self, out.value, destroy, parents, keep)
            if self.interrupted is not None:
                self.dead.append(handle)
                raise self.interrupted
        self.sweep()
        return handle

    def check(self, status: int) -> None:
        """Raises what a status means; the lock is held, so the sentence is this call's."""
        if status == 0:
            return
        if self.interrupted is not None:
            raise self.interrupted
        raise exception(status, lib.tess_ctx_error(self.address).decode(errors="replace"))

    def bury(self, handle: Handle) -> None:
        """Called when an owner dies: in any thread, at any time, even inside a call."""
        self.dead.append(handle)
        self.sweep()

    def sweep(self) -> None:
        """Destroys what is dead. Whoever holds the lock sweeps after releasing it: also where this
        thread does, from a callback."""
        while self.dead and not self.lock._is_owned() and self.lock.acquire(blocking=False):
            try:
                while self.dead:
                    self.dead.popleft()._release()
            finally:
                self.lock.release()

    def release(self, pointer: int | None) -> None:
        with self.lock:
            lib.tess_release(self.address, pointer)


class Owner:
    """Base of the classes whose instances own a handle. Two of them must not own the same one, as
    a copy of an instance's attributes would."""

    _handle: Handle

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} can be neither copied nor pickled: make another one"
        )

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            handle.context.bury(handle)


def c_text(text: str | os.PathLike[str]) -> bytes:
    """Text as C has it, which ends at the first null character."""
    made = os.fsencode(text)
    if b"\0" in made:
        raise ValueError(f"{text!r} has a null character")
    return made


def exception(status: int, sentence: str) -> _errors.Error:
    name = _STATUS.get(status, "TESS_ERR_INTERNAL")
    return _errors.BY_STATUS.get(name, _errors.Error)(sentence or name)


class _ForkedLock:
    """Lock of a context that was made before a fork: no thread gets it in the child."""

    def __enter__(self) -> None:
        raise _errors.UnsupportedError(
            "this object was made before a fork of the process: make it again in the child, or "
            "start the child by multiprocessing's 'spawn' or 'forkserver'"
        )

    def __exit__(self, *_: object) -> None: ...

    def acquire(self, blocking: bool = True) -> bool:
        return False

    def _is_owned(self) -> bool:
        return False

    def release(self) -> None: ...


_contexts: weakref.WeakSet[Context] = weakref.WeakSet()
_local = threading.local()
_settings = {"threads": 0}
forked = False  # the driver of a GPU does not survive a fork


def _after_fork() -> None:
    global forked
    for each in list(_contexts):
        each.lock = _ForkedLock()
        forked = True
    _contexts.clear()
    _local.__dict__.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def context() -> Context:
    """The calling thread's context."""
    found: Context | None = getattr(_local, "context", None)
    if found is None:
        found = _local.context = Context(_settings["threads"])
    return found


def set_threads(threads: int) -> None:
    """Threads for everything from now on, in every context; 0: all. Plans keep theirs."""
    threads = integer(threads, 32, "threads")
    context()  # one at least, which says whether there may be so many
    for each in list(_contexts):
        each.quick(lib.tess_ctx_set_threads, each.address, threads)
    _settings["threads"] = threads


def get_threads() -> int:
    """Threads that a matrix made now, in this thread, will use."""
    return int(lib.tess_ctx_threads(context().address))


def version() -> str:
    """The library's version."""
    return str(lib.tess_version().decode())
