/* NVRTC's part of the fake. A program is compiled for the emulator; its "machine code" is the text
 * "FAKE tools path": a hash of the compiler and the emulator, and the shared object. Several
 * threads may compile at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { INVALID_OPTION = 5, COMPILATION = 6 };

typedef struct fake_program {
    fake_source source;
    char code[4096], *log;
} fake_program;

EXPORT const char *nvrtcGetErrorString(int result)
{
    return result == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_FAKE";
}

CALL nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

static const int supported[] = {80, 90, 100};
enum { SUPPORTED = sizeof supported / sizeof *supported };

CALL nvrtcGetNumSupportedArchs(int *count)
{
    *count = SUPPORTED;
    return 0;
}

CALL nvrtcGetSupportedArchs(int *archs)
{
    memcpy(archs, supported, sizeof supported);
    return 0;
}

CALL nvrtcCreateProgram(nvrtc_program *program, const char *text, const char *name, int headers,
                        const char *const *texts, const char *const *names)
{
    fake_program *p = calloc(1, sizeof *p);
    p->source = (fake_source){strdup(text), strdup(name), headers,
                              calloc((size_t)headers + 1, sizeof(char *)),
                              calloc((size_t)headers + 1, sizeof(char *))};
    for (int i = 0; i < headers; i++) {
        p->source.header_text[i] = strdup(texts[i]);
        p->source.header_name[i] = strdup(names[i]);
    }
    __atomic_add_fetch(&fake_state.alive, 1, __ATOMIC_RELAXED);
    *program = (nvrtc_program)p;
    return 0;
}

CALL nvrtcDestroyProgram(nvrtc_program *program)
{
    fake_program *p = (fake_program *)*program;
    for (int i = 0; i < p->source.headers; i++) {
        free(p->source.header_text[i]);
        free(p->source.header_name[i]);
    }
    free(p->source.header_text);
    free(p->source.header_name);
    free(p->source.text);
    free(p->source.name);
    free(p->log);
    free(p);
    __atomic_sub_fetch(&fake_state.alive, 1, __ATOMIC_RELAXED);
    *program = NULL;
    return 0;
}

static bool architecture_known(const char *option)
{
    const char *number = strchr(option, '_');
    for (int i = 0; number && i < SUPPORTED; i++)
        if (atoi(number + 1) == supported[i])
            return true;
    return false;
}

CALL nvrtcCompileProgram(nvrtc_program program, int options, const char *const *option)
{
    fake_program *p = (fake_program *)program;
    char path[4000];
    __atomic_add_fetch(&fake_state.compiled, 1, __ATOMIC_RELAXED);
    if (fake_state.compile_fails) {
        p->log = strdup("line 7: a fake diagnostic");
        return COMPILATION;
    }
    for (int i = 0; i < options; i++)
        if (strncmp(option[i], "--gpu-architecture=", 19) == 0 && !architecture_known(option[i]))
            return INVALID_OPTION;
    if (!fake_compile(&p->source, options, option, path, sizeof path, &p->log))
        return COMPILATION;
    snprintf(p->code, sizeof p->code, "FAKE %016llx %s", (unsigned long long)fake_tools(), path);
    return 0;
}

CALL nvrtcGetCUBINSize(nvrtc_program program, size_t *bytes)
{
    *bytes = strlen(((fake_program *)program)->code) + 1;
    return 0;
}

CALL nvrtcGetCUBIN(nvrtc_program program, char *cubin)
{
    strcpy(cubin, ((fake_program *)program)->code);
    return 0;
}

CALL nvrtcGetPTXSize(nvrtc_program program, size_t *bytes)
{
    return nvrtcGetCUBINSize(program, bytes);
}

CALL nvrtcGetPTX(nvrtc_program program, char *ptx)
{
    return nvrtcGetCUBIN(program, ptx);
}

CALL nvrtcGetProgramLogSize(nvrtc_program program, size_t *bytes)
{
    const char *log = ((fake_program *)program)->log;
    *bytes = log ? strlen(log) + 1 : 1;
    return 0;
}

CALL nvrtcGetProgramLog(nvrtc_program program, char *log)
{
    const char *text = ((fake_program *)program)->log;
    strcpy(log, text ? text : "");
    return 0;
}
