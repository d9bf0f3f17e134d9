"""Reads tessera.h and makes the ctypes declarations of everything in it.

The header is the only description of the library's interface: the package ships it beside the
library and binds what it declares, so the two cannot differ. The header keeps to a few forms.
This module reads only these forms, and anything else is an error.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

_SCALARS: dict[str, Any] = {
    "void": None,
    "char": ctypes.c_char,
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
}

_FORMS = re.compile(
    r"""\s*(?:
      typedef\ enum\ (?P<enum>\w+)\ \{(?P<values>[^}]*)\}\ \w+
    | enum\ \{(?P<constants>[^}]*)\}
    | typedef\ struct\ (?P<opaque>\w+)\ \w+
    | typedef\ struct\ (?P<struct>\w+)\ \{(?P<fields>[^}]*)\}\ \w+
    | typedef\ (?P<returns>[\w ]+?[ *]+)\(\*(?P<callback>\w+)\)\((?P<takes>[^)]*)\)
    | TESS_API\ (?P<result>[\w ]+?[ *]+)(?P<function>tess_\w+)\((?P<arguments>[^)]*)\)
    )\s*;""",
    re.VERBOSE,
)


class Header:
    """The declarations of tessera.h: `constants`, `structs`, `callbacks` and `functions`, each by
    name. A function is its result type and the types of its arguments."""

    def __init__(self, text: str) -> None:
        self.constants: dict[str, int] = {}
        self.structs: dict[str, type[ctypes.Structure]] = {}
        self.callbacks: dict[str, Any] = {}
        self.functions: dict[str, tuple[Any, list[Any]]] = {}
        self._types = dict(_SCALARS)
        numbers = [
            re.search(rf"TESS_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")
        ]
        self.version = ".".join(n.group(1) for n in numbers if n)
        self._read(_without_inline_callbacks(_without_comments(text)))

    def bind(self, library: ctypes.CDLL) -> None:
        """Gives the library's functions their types."""
        for name, (result, arguments) in self.functions.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    def _read(self, text: str) -> None:
        at = 0
        while text[at:].strip():
            form = _FORMS.match(text, at)
            if not form:
                line = text[at:].strip().partition("\n")[0]
                raise ValueError(f"tessera.h has a declaration of an unknown form: {line}")
            self._declare(form)
            at = form.end()

    def _declare(self, form: re.Match[str]) -> None:
        if form["enum"]:
            self._types[form["enum"]] = ctypes.c_int
            self._enumerate(form["values"])
        elif form["constants"]:
            self._enumerate(form["constants"])
        elif form["opaque"]:
            self._types[form["opaque"]] = None  # only pointers to it exist
        elif form["struct"]:
            fields = [
                f for line in form["fields"].split(";") if line.strip() for f in self._fields(line)
            ]
            made = type(form["struct"], (ctypes.Structure,), {"_fields_": fields})
            self.structs[form["struct"]] = self._types[form["struct"]] = made
        elif form["callback"]:
            self.callbacks[form["callback"]] = self._function(form["returns"], form["takes"])
            self._types[form["callback"]] = self.callbacks[form["callback"]]
        else:
            arguments = [] if form["arguments"] == "void" else form["arguments"].split(",")
            self.functions[form["function"]] = (
                self._type(form["result"]),
                [self._argument(a) for a in arguments],
            )

    def _enumerate(self, text: str) -> None:
        for entry in filter(None, (e.strip() for e in text.split(","))):
            name, _, value = entry.partition("=")
            self.constants[name.strip()] = int(value)

    def _function(self, result: str, arguments: str) -> Any:
        return ctypes.CFUNCTYPE(
            self._type(result), *(self._argument(a) for a in arguments.split(","))
        )

    def _fields(self, line: str) -> list[tuple[str, Any]]:
        pointer = re.fullmatch(r"\s*([\w ]+?[ *]+)\(\*(\w+)\)\((.*)\)\s*", line)
        if pointer:
            return [(pointer[2], self._function(pointer[1], pointer[3]))]
        first, *others = line.split(",")
        base = re.match(r"\s*((?:const )?\w+)", first)
        assert base
        fields = []
        for declarator in (first[base.end() :], *others):
            parts = re.fullmatch(r"\s*(\**)\s*(\w+)(?:\[(\w+)\])?\s*", declarator)
            if not parts:
                raise ValueError(f"tessera.h has a field of an unknown form: {line}")
            kind = self._type(base[1] + parts[1])
            if parts[3]:
                kind = kind * (self.constants.get(parts[3]) or int(parts[3]))
            fields.append((parts[2], kind))
        return fields

    def _argument(self, text: str) -> Any:
        return self._type(re.sub(r"\w+\s*$", "", text))

    def _type(self, text: str) -> Any:
        """Strings are c_char_p, all other pointers c_void_p: that takes addresses, arrays and
        byref() alike."""
        words = text.replace("*", " * ").split()
        if words.count("*") == 1 and words[:2] == ["const", "char"]:
            return ctypes.c_char_p
        if "*" in words:
            return ctypes.c_void_p
        return self._types[words[-1]]


def _without_inline_callbacks(text: str) -> str:
    """A parameter that is a function, `void (*visit)(...)`, as the pointer that it is."""
    return re.sub(r"\bvoid \(\*(\w+)\)\([^()]*\)(?=[,)\s])", r"void *\1", text)


def _without_comments(text: str) -> str:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"^#ifdef __cplusplus.*?^#endif", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text)
