/* NVRTC's part of the fake: the "machine code" is the source's name and the options as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))
#define CALL EXPORT cu_result

typedef struct fake_program {
    char text[4096];
} fake_program;

EXPORT const char *nvrtcGetErrorString(int result)
{
    return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_FAKE";
}

CALL nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

CALL nvrtcGetNumSupportedArchs(int *count)
{
    *count = 3;
    return 0;
}

CALL nvrtcGetSupportedArchs(int *archs)
{
    archs[0] = 80;
    archs[1] = 90;
    archs[2] = 100;
    return 0;
}

CALL nvrtcCreateProgram(nvrtc_program *program, const char *source, const char *name, int headers,
                        const char *const *texts, const char *const *names)
{
    (void)source, (void)headers, (void)texts, (void)names;
    fake_program *created = calloc(1, sizeof *created);
    snprintf(created->text, sizeof created->text, "FAKE %s", name);
    __atomic_add_fetch(&fake_cuda_state()->alive, 1, __ATOMIC_RELAXED);
    *program = (nvrtc_program)created;
    return 0;
}

CALL nvrtcDestroyProgram(nvrtc_program *program)
{
    free(*program);
    __atomic_sub_fetch(&fake_cuda_state()->alive, 1, __ATOMIC_RELAXED);
    *program = NULL;
    return 0;
}

CALL nvrtcCompileProgram(nvrtc_program program, int options, const char *const *option)
{
    fake_program *p = (fake_program *)program;
    __atomic_add_fetch(&fake_cuda_state()->compiled, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < options; i++) {
        size_t used = strlen(p->text);
        snprintf(p->text + used, sizeof p->text - used, " %s", option[i]);
    }
    return fake_cuda_state()->compile_fails ? 6 : 0;
}

CALL nvrtcGetCUBINSize(nvrtc_program program, size_t *bytes)
{
    *bytes = strlen(((fake_program *)program)->text) + 1;
    return 0;
}

CALL nvrtcGetCUBIN(nvrtc_program program, char *cubin)
{
    strcpy(cubin, ((fake_program *)program)->text);
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

static const char log_text[] = "line 7: a fake diagnostic";

CALL nvrtcGetProgramLogSize(nvrtc_program program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof log_text;
    return 0;
}

CALL nvrtcGetProgramLog(nvrtc_program program, char *log)
{
    (void)program;
    memcpy(log, log_text, sizeof log_text);
    return 0;
}
