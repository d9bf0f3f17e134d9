"""The public header as tests read it."""
import collections
import re

PATH = "include/tessera/tessera.h"

# functions: [(result, name, [argument])], a parameter that is a function written as `callback *NAME`. callbacks: names of
# the types of functions. opaque: of structs that only the library knows. enums: {name: [constant]}, structs: {name: [field]}.
Header = collections.namedtuple("Header", "functions callbacks opaque enums structs")


def read(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    functions = []
    for result, name, arguments in re.findall(r"TESS_API\s+([\w ]+?[ *]+)(tess_\w+)\(([^;]*)\);", text):
        arguments = re.sub(r"\w[\w ]*\(\*(\w+)\)\([^)]*\)", r"callback *\1", " ".join(arguments.split()))
        arguments = [] if arguments == "void" else [one.strip() for one in arguments.split(",")]
        functions.append((result.strip(), name, arguments))
    structs = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\} \1;", text, flags=re.S):
        body = re.sub(r"\([^()*]*\)", "()", body)
        fields = re.findall(r"(?:\(\*(\w+)\)\([^;]*\)|(\w+)(?:\[\w+\])?)\s*(?=[,;])", body)
        structs[name] = [one or other for one, other in fields]
    return Header(
        functions,
        callbacks=set(re.findall(r"typedef \w[\w ]*\(\*(\w+)\)", text)),
        opaque=set(re.findall(r"typedef struct (\w+) \1;", text)),
        enums={name: re.findall(r"TESS_\w+", body) for name, body in re.findall(r"typedef enum (\w+) \{([^}]*)\}", text)},
        structs=structs,
    )


def is_pointer(argument, callbacks):
    """Whether it is passed as an address."""
    return "*" in argument or "[" in argument or argument.replace("const ", "").split()[0] in callbacks
