"""Memory, threads, processes and Ctrl-C."""

import copy
import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import tessera
from tessera import _library


class CountingAllocator:
    """The C library's memory, counted."""

    def __init__(self):
        libc = ctypes.CDLL(None)
        libc.free.argtypes = [ctypes.c_void_p]
        self.live, self.total = {}, 0
        lock = threading.Lock()

        def allocate(_user, size, alignment):
            out = ctypes.c_void_p()
            if libc.posix_memalign(
                ctypes.byref(out), ctypes.c_size_t(alignment), ctypes.c_size_t(size)
            ):
                return None
            with lock:
                self.live[out.value] = size
                self.total += 1
            return out.value

        def release(_user, pointer):
            if pointer:
                with lock:
                    del self.live[pointer]
                libc.free(pointer)

        struct = _library.structs["tess_allocator"]
        kinds = dict(struct._fields_)
        self.struct = struct(kinds["allocate"](allocate), kinds["release"](release), None)


@pytest.fixture
def counted():
    """A context of this thread's whose memory is counted."""
    before = getattr(_library._local, "context", None)
    allocator = CountingAllocator()
    _library._local.context = _library.Context(2, allocator.struct)
    yield allocator
    _library._local.context = before


def use_everything(b=3):
    A, rhs = tessera.generate("stencil7", n=4, b=b, rhs=True)
    plan = A.plan("cpu", "estimate")
    solver = tessera.Solver(plan, "gmres", pc="ilu0")
    x, info = solver.solve(rhs)
    assert info.converged
    solver.update(2 * A.data)
    S = A.to_scipy().tocsr()
    made = [tessera.bsr_array(S), A.T.copy(), A.astype("f4"), A.copy(), A @ rhs, A.detect()]
    M = tessera.preconditioner(plan, "ilu0")
    M.T @ (M @ rhs)
    operator = tessera.Solver(plan.aslinearoperator(), "gmres", M=M.aslinearoperator())
    assert operator.solve(rhs)[1].converged
    with pytest.raises(tessera.Error):
        A.plan("cpu", kernel="no_such_kernel")
    return [*made, M, operator], solver


def test_memory_is_freed_when_objects_die(counted):
    baseline = len(counted.live)
    for _ in range(3):
        use_everything()
    gc.collect()
    assert counted.total > 50 and len(counted.live) == baseline


def test_memory_is_freed_in_any_order_of_the_collector(counted):
    baseline = len(counted.live)

    class Knot:
        pass

    for _ in range(3):
        knot = Knot()
        knot.itself, knot.made = knot, use_everything()
        del knot
        gc.collect()
    assert len(counted.live) == baseline


def test_a_context_dies_after_its_objects(counted):
    made = use_everything()
    del _library._local.context
    gc.collect()
    assert len(counted.live) > 0 and made[1].solve(np.ones(192))[1].converged
    del made
    gc.collect()
    assert len(counted.live) == 0


def test_the_matrix_may_be_forgotten_before_its_plan():
    plan = tessera.generate("stencil7", n=4).plan("cpu", "estimate")
    solver = tessera.Solver(plan)
    gc.collect()
    assert np.isfinite(plan @ np.ones(192)).all()
    del plan
    gc.collect()
    assert solver.solve(np.ones(192))[1].converged


def test_what_owns_something_of_the_library_is_not_copied():
    A = tessera.generate("cdr", n=3)
    plan = A.plan("cpu", "estimate")
    owners = [plan, plan.device, tessera.Solver(plan), tessera.preconditioner(plan, "jacobi")]
    for owner in owners:
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"a {type(owner).__name__} can be neither copied"):
                attempt(owner)
    for twin in (copy.copy(A), copy.deepcopy(A), pickle.loads(pickle.dumps(A))):
        assert np.array_equal(twin.data, A.data) and twin.blocksize == A.blocksize
    x = np.ones(A.shape[0])
    assert np.array_equal(copy.deepcopy(A.T) @ x, A.T @ x)


def in_threads(count, work):
    failures = []

    def run():
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_threads_share_a_plan_and_have_matrices_of_their_own():
    A = tessera.generate("stencil7", n=5)
    plan, x = A.plan("cpu", "estimate"), np.ones(A.shape[1])
    expected = plan @ x

    def work():
        for _ in range(20):
            assert np.array_equal(plan @ x, expected)
        use_everything()
        with pytest.raises(tessera.OptionError, match="cgg"):
            tessera.Solver(A, "cgg")

    in_threads(4, work)


def test_the_interpreter_runs_during_a_call():
    A, b = tessera.generate("stencil7", n=20, rhs=True)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        while len(ticks) < 3:
            tessera.generate("stencil27", n=24)
    finally:
        stop.set()
        thread.join()


def test_set_threads():
    before = tessera.get_threads()
    try:
        tessera.set_threads(1)
        assert tessera.get_threads() == 1
        in_threads(1, lambda: pytest.fail("threads") if tessera.get_threads() != 1 else None)
        with pytest.raises(tessera.ArgumentError):
            tessera.set_threads(-1)
    finally:
        tessera.set_threads(before)


def test_a_number_of_threads_that_cannot_be_is_not_kept():
    code = """
        import numpy as np, tessera
        for wrong, error in ((-1, tessera.ArgumentError), (2.5, TypeError), (10**6, ValueError)):
            try:
                tessera.set_threads(wrong)
            except error:
                pass
            else:
                raise SystemExit(f"{wrong} threads")
        tessera.set_threads(np.int64(1))
        assert tessera.get_threads() == 1
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=100)


def interrupted(code):
    """The output of a program that gets Ctrl-C after it has printed "ready"."""
    # A shell's background jobs ignore Ctrl-C, and a child process inherits that.
    handled = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program = subprocess.Popen(
        [sys.executable, "-c", handled + textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout.readline().strip() == "ready"
    time.sleep(0.3)
    program.send_signal(signal.SIGINT)
    try:
        return program.communicate(timeout=120)[0].split()
    finally:
        program.kill()


def test_ctrl_c_stops_a_solve():
    # Without end: a tolerance that is never met, and no limit to the iterations.
    code = """
        import tessera
        A, b = tessera.generate("stencil7", n=12, rhs=True)
        solver = tessera.Solver(A, "gmres", tol=1e-30, max=10**9, stagnation=10**9)
        print("ready", flush=True)
        try:
            solver.solve(b)
        except KeyboardInterrupt:
            print("stopped")
        print(tessera.solve(A, b)[1].reason)
    """
    assert interrupted(code) == ["stopped", "CONVERGED"]


def test_ctrl_c_in_a_callback_that_calls_the_library_again():
    A, b = tessera.generate("stencil7", n=6, rhs=True)

    def callback(iteration, residual):
        if iteration == 2:
            signal.raise_signal(signal.SIGINT)
            for _ in range(2):  # these end at once, or without a trace of it
                A.copy()

    with pytest.raises(KeyboardInterrupt):
        tessera.solve(A, b, callback=callback)
    assert tessera.solve(A, b)[1].converged


def test_an_earlier_ctrl_c_is_not_raised_again():
    A, b = tessera.generate("stencil7", n=6, rhs=True)
    with pytest.raises(KeyboardInterrupt):
        tessera.solve(A, b, callback=lambda i, r: signal.raise_signal(signal.SIGINT))
    with pytest.raises(tessera.ArgumentError):
        tessera.set_threads(-1)  # a call that nothing can interrupt
    assert np.allclose(A @ b, A.plan("ref") @ b)


def test_ctrl_c_stops_a_callback_and_planning():
    code = """
        import time, tessera
        A, b = tessera.generate("stencil7", n=12, rhs=True)
        print("ready", flush=True)
        try:
            for _ in range(1000):
                tessera.solve(A, b, callback=lambda i, r: time.sleep(0.01))
                A.plan("cpu", "exhaustive")
        except KeyboardInterrupt:
            print("stopped")
        print((A @ b).shape[0])
    """
    assert interrupted(code) == ["stopped", "5184"]


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


@needs_fork
def test_a_forked_child_refuses_old_objects_and_makes_new_ones():
    code = """
        import os, signal, warnings
        warnings.simplefilter("ignore")
        import numpy as np, tessera
        A = tessera.generate("stencil7", n=12)
        plan, x = A.plan("cpu", "estimate"), np.ones(A.shape[1])
        y = plan @ x
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            for old in (lambda: plan @ x, lambda: A.detect(), lambda: A.plan("cpu")):
                try:
                    old()
                except tessera.UnsupportedError as error:
                    assert "fork" in str(error)
                else:
                    os._exit(1)
            tessera.set_threads(3)
            assert tessera.get_threads() == 3
            new = tessera.generate("stencil7", n=12)
            assert np.array_equal(new.plan("cpu", "estimate", reproducible=True) @ x,
                                  new.plan("ref") @ x) or np.allclose(new @ x, y)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert np.array_equal(plan @ x, y)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=300)


def product_in_child(A):
    return A @ np.ones(A.shape[1])


def test_matrices_go_to_spawned_processes():
    A = tessera.generate("stencil7", n=4)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (y,) = pool.map(product_in_child, [A])
    assert np.allclose(y, A @ np.ones(A.shape[1]))
