"""null.py HEADER: a C program that calls every function of the header with NULL and 0 for all arguments. A child
process makes each call and prints what came back."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import header  # noqa: E402

print("""#include <stdio.h>
#include <sys/wait.h>
#include <tessera/tessera.h>
#include <unistd.h>
int main(void)
{
    int status;""")
public = header.read(open(sys.argv[1], encoding="utf-8").read())
for kind, name, arguments in public.functions:
    values = [
        "NULL" if header.is_pointer(one, public.callbacks) else "(tess_complex){0, 0}" if "tess_complex" in one else "0"
        for one in arguments
    ]
    call = f"{name}({', '.join(values)})"
    if kind == "void":
        said = f'{call}, printf("{name} void\\n")'
    elif kind == "tess_status":
        said = f'printf("{name} %s\\n", tess_status_name({call}))'
    elif kind.startswith("const char"):
        said = f'{{ const char *text = {call}; printf("{name} %s\\n", !text ? "NULL" : *text ? "text" : "empty"); }}'
    elif "*" in kind:
        said = f'printf("{name} %s\\n", {call} ? "object" : "NULL")'
    else:
        said = f'printf("{name} %lld\\n", (long long){call})'
    print(f"""    fflush(stdout);
    if (fork() == 0) {{
        {said};
        fflush(stdout);
        _exit(0);
    }}
    wait(&status);
    if (status)
        printf("{name} crash\\n");""")
print("    return 0;\n}")
