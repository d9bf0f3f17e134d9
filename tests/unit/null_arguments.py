"""null_arguments.py LIBRARY: no public function ends the program where a pointer argument is NULL.

Nor where the functions of a tess_comm are NULL. Every function of the header is called with each of its pointers NULL in
turn, the others valid as far as this script can make them, and with all of them NULL. Each call is made in a process of
its own."""
import ctypes
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import header  # noqa: E402

NAMES = {"int": ctypes.c_int, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "size_t": ctypes.c_size_t,
         "double": ctypes.c_double, "uint64_t": ctypes.c_uint64, "float": ctypes.c_float}
SPEC = b"stencil7:n=2,b=2"
SECONDS = 60
MINUTES = {"tess_calibrate": "classes"}  # NULL is all of them


FN = ctypes.CFUNCTYPE
P, SIZE = ctypes.c_void_p, ctypes.c_size_t


class Comm(ctypes.Structure):
    """tess_comm of one part."""
    _fields_ = [("rank", ctypes.c_int), ("size", ctypes.c_int), ("user", P), ("gather", FN(ctypes.c_int, P, P, SIZE, P)),
                ("gather_start", P), ("gather_wait", P),
                ("open", FN(ctypes.c_int, P, ctypes.c_int, P, ctypes.c_int, P, P)), ("start", FN(ctypes.c_int, P, P)),
                ("skip", FN(ctypes.c_int, P, P)),
                ("wait", FN(ctypes.c_int, P, P)), ("close", FN(None, P, P)), ("device_memory", ctypes.c_int)]


def gather(user, mine, size, every):
    ctypes.memmove(every, mine, size)
    return 0


COMM = Comm(rank=0, size=1)
for field, kind in Comm._fields_[3:]:
    if hasattr(kind, "_restype_"):
        setattr(COMM, field, kind(gather if field == "gather" else lambda *_: 0))


class Complex(ctypes.Structure):
    _fields_ = [("re", ctypes.c_double), ("im", ctypes.c_double)]


class Objects:
    """Valid arguments by type."""

    def __init__(self, library, public):
        self.public = public
        self.callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
        self.room = ctypes.create_string_buffer(1 << 20)
        self.objects = {}

        def make(kind, call, *arguments):
            out = ctypes.c_void_p()
            status = getattr(library, call)(*arguments, ctypes.byref(out))
            if status != 0:
                sys.exit("%s: status %d" % (call, status))
            self.objects[kind] = out
            return out

        ctx = make("tess_ctx", "tess_ctx_create", None)
        assert library.tess_ctx_set_threads(ctx, 1) == 0  # a process of a fork has no others
        A = ctypes.c_void_p()
        assert library.tess_matrix_generate(ctx, SPEC, ctypes.byref(A), None) == 0
        self.objects["tess_matrix"] = A
        device = make("tess_device", "tess_device_open", ctx, b"cpu:1")
        plan = make("tess_plan", "tess_plan_create", ctx, A, device, None)
        make("tess_solver", "tess_solver_create", plan, b"cg")
        make("tess_preconditioner", "tess_pc_create", plan, b"jacobi")
        make("tess_detection", "tess_detect", ctx, A, None)
        self.objects["tess_comm"] = ctypes.cast(ctypes.byref(COMM), P)
        part = make("tess_part", "tess_part_deal", ctx, ctypes.byref(COMM), A)
        make("tess_part_builder", "tess_part_builder_create", ctx, ctypes.byref(COMM), 0, ctypes.c_int64(16), 2)
        builder = make("tess_builder", "tess_builder_create", ctx, 0, ctypes.c_int64(16), ctypes.c_int64(16), 2, 2, 1)
        library.tess_builder_inserter.restype = P
        self.objects["tess_inserter"] = P(library.tess_builder_inserter(builder, 0))
        make("tess_prediction", "tess_predict", ctx, A, device, None)

    def value(self, argument):
        """A valid argument, and whether it is a pointer."""
        words = argument.replace("const ", "").replace("struct ", "").split()
        kind = words[0].rstrip("*")
        if "callback *" in argument or kind in self.public.callbacks:
            return ctypes.cast(self.callback, ctypes.c_void_p), True
        if header.is_pointer(argument, self.public.callbacks):
            if kind == "char" and "const" in argument and "**" not in argument:
                return ctypes.c_char_p(SPEC), True
            if kind in self.objects and "**" not in argument:
                return self.objects[kind], True
            if kind in self.public.opaque and "**" not in argument:
                return P(None), True
            return ctypes.cast(self.room, ctypes.c_void_p), True
        if kind == "tess_complex":
            return Complex(1, 0), False
        return NAMES.get(kind, ctypes.c_int)(1 if kind in NAMES else 0), False


def without_functions(library, objects):
    """The faults of the calls that take a tess_comm without functions."""
    empty = ctypes.cast(ctypes.byref(Comm(rank=0, size=1)), P)
    ctx, A, room = objects.objects["tess_ctx"], objects.objects["tess_matrix"], objects.room
    calls = {"tess_part_create": (ctx, empty, room, room), "tess_part_deal": (ctx, empty, A, room),
             "tess_part_read": (ctx, empty, b"gen:" + SPEC, room),
             "tess_part_builder_create": (ctx, empty, 0, ctypes.c_int64(16), 2, room)}
    ends = {name: end_of(lambda: os._exit(getattr(library, name)(*given))) for name, given in calls.items()}
    return ["%s: tess_comm without functions: ends with %d" % (name, end) for name, end in ends.items() if end != 1]


def end_of(call):
    """How a process that makes the call ends: its exit status, or minus the signal."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        call()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    library = ctypes.CDLL(sys.argv[1])
    public = header.read(open(header.PATH, encoding="utf-8").read())
    objects = Objects(library, public)
    if end_of(lambda: ctypes.string_at(0)) != -signal.SIGSEGV:
        sys.exit("a planted fault is not noticed")
    faults, tried = [], 0
    for _, name, arguments in public.functions:
        values = [objects.value(a) for a in arguments]
        pointers = [i for i, (_, pointer) in enumerate(values) if pointer]
        function = getattr(library, name)
        function.restype = ctypes.c_void_p
        pointers = [i for i in pointers if not arguments[i].endswith("*" + MINUTES.get(name, "\0"))]
        for missing in [[i] for i in pointers] + [pointers] * (len(pointers) > 1):
            given = [ctypes.c_void_p(None) if i in missing else v for i, (v, _) in enumerate(values)]
            end = end_of(lambda: function(*given))
            tried += 1
            if end < 0:
                faults.append("%s: %s NULL: %s" % (name, " and ".join(arguments[i] for i in missing),
                                                   signal.Signals(-end).name))
    faults += without_functions(library, objects)
    print("%d calls" % tried)
    if tried < 300 or faults:
        sys.exit("\n".join(faults) or "too few calls: is the header read?")


if __name__ == "__main__":
    main()
