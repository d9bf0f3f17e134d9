/* Every kernel variant through NVRTC, without a GPU. A compiler error, a spilled register or a
 * stack frame (an array that went to local memory) fails.
 *
 *     compile_all [STEP]          every STEP-th variant of a list for sm_90 (default: 17)
 *     compile_all others [STEP]   the same for sm_80 and the newest architecture that NVRTC knows
 *                                (default: 1, all of them)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/driver/jit.h"
#include "coarsen_shapes.h"
#include "permutes.h"
#include "triangular_variants.h"
#include "passes.h"
#include "variants.h"

enum { MOST = 1024, LOG = 1 << 16 };

/* The first "N bytes <what>" of the report that is not 0. */
static int find_bytes(const char *log, const char *what)
{
    for (const char *at = log; (at = strstr(at, what)); at++) {
        const char *number = at;
        while (number > log && (number[-1] == ' ' || (number[-1] >= '0' && number[-1] <= '9')))
            number--;
        int bytes = atoi(number);
        if (bytes > 0)
            return bytes;
    }
    return 0;
}

/* 0 when the variant compiles cleanly. */
static int compile(tess_ctx *ctx, tess_jit *jit, const char *what, const tess_jit_request *request)
{
    static char log[LOG];
    void *image = NULL;
    size_t bytes;
    if (tess_jit_compile(ctx, jit, request, "--ptxas-options=-v", &image, &bytes, log,
                         sizeof log) != TESS_OK) {
        printf("%s: %s\n", what, tess_ctx_error(ctx));
        return 1;
    }
    tess_free(ctx, image);
    int spill = find_bytes(log, " bytes spill stores"),
        stack = find_bytes(log, " bytes stack frame");
    if (spill == 0 && stack == 0)
        return 0;
    printf("%s: %d bytes spilled, stack frame of %d bytes\n  sm_%d %s\n", what, spill, stack,
           request->sm, request->defines);
    return 1;
}

/* What one worker compiles: every `workers`-th of the requests, which all workers count alike. */
typedef struct share {
    tess_ctx *ctx;
    tess_jit *jit;
    int worker, workers;
    int step;     /* every step-th variant of a list */
    int archs[2]; /* the architectures asked for */
    int arch_count;
    int number; /* requests seen so far */
    int compiled, failed;
} share;

static void take(share *s, const char *what, const tess_jit_request *request)
{
    if (s->number++ % s->workers != s->worker)
        return;
    s->compiled++;
    s->failed += compile(s->ctx, s->jit, what, request);
}

/* The same text for every architecture. */
static void take_all(share *s, const char *what, const char *source, const char *defines)
{
    for (int a = 0; a < s->arch_count; a++)
        take(s, what, &(tess_jit_request){source, defines, s->archs[a]});
}

static void take_kernel(share *s, const tess_cuda_kernel *kernel)
{
    static test_variant variants[MOST];
    const int count = test_variants(kernel, variants, MOST);
    for (int i = 0; i < count && i < MOST; i += s->step)
        for (int a = 0; a < s->arch_count; a++) {
            tess_cuda_problem problem = variants[i].problem;
            problem.arch = s->archs[a];
            if (!tess_cuda_fits(kernel, &problem, variants[i].params))
                continue;
            char defines[TESS_CUDA_DEFINES], what[160];
            kernel->defines(&problem, variants[i].params, defines, sizeof defines);
            snprintf(what, sizeof what, "%s, %dx%d %s", kernel->name, (int)problem.block_height,
                     (int)problem.block_width, tess_type_name(problem.type));
            take(s, what, &(tess_jit_request){kernel->source, defines, problem.arch});
        }
}

/* A method's loop on the device, whose clusters need sm_90, and what runs between its stages. */
static void take_loops(share *s)
{
    static test_loop loops[TEST_LOOPS];
    const int count = test_loops(loops, TEST_LOOPS);
    for (int i = 0; i < count && i < TEST_LOOPS; i += s->step) {
        for (int a = 0; a < s->arch_count; a++)
            if (s->archs[a] >= 90)
                take(s, loops[i].name,
                     &(tess_jit_request){"loop.cu", loops[i].code.defines, s->archs[a]});
        for (int k = 0; k < loops[i].betweens; k++)
            take_all(s, loops[i].between[k].code.stages, "between.cu",
                     loops[i].between[k].code.defines);
    }
}

/* Hints that the instructions of a GPU before sm_80 lack. */
static void take_hints(share *s)
{
    static const char *const hints[] = {"2", "3"};
    for (int i = 0; i < 2; i++) {
        char defines[TESS_CUDA_DEFINES];
        snprintf(
            defines, sizeof defines,
            "-DREAL=8 -DBH=3 -DBW=3 -DHEIGHT=32 -DVEC=1 -DGROUP=1 -DDEPTH=2 -DPER_ROW=1 "
            "-DTHREADS=128 -DXVEC=1 -DWIDE=0 -DDEAL=1 -DTARGETS=0 -DRAGGED=0 -DDOT=1 -DHINT=%s",
            hints[i]);
        take(s, "sliced", &(tess_jit_request){"sliced.cu", defines, 75});
    }
}

static void work(share *s)
{
    for (int k = 0; k < tess_cuda_kernel_count; k++)
        take_kernel(s, tess_cuda_kernels[k]);
    static test_triangular triangular[MOST];
    int count = test_triangular_variants(triangular, MOST);
    for (int i = 0; i < count && i < MOST; i += s->step)
        take_all(s, triangular[i].name, "triangular.cu", triangular[i].defines);
    static test_pass passes[MOST];
    count = test_passes(passes, MOST);
    for (int i = 0; i < count && i < MOST; i += s->step)
        take_all(s, passes[i].what, "pass.cu", passes[i].defines);
    take_loops(s);
    if (s->jit->nvrtc.archs[0] <= 75)
        take_hints(s);
    for (int i = 0; i < test_coarsen_count; i++) {
        const int32_t b = test_coarsen[i].block, k = test_coarsen[i].modes;
        char defines[TESS_CUDA_DEFINES];
        tess_coarsen_defines(b, b, k, defines, sizeof defines);
        take_all(s, "coarsen", "coarsen.cu", defines);
        tess_coarsen_defines(k, b, k, defines, sizeof defines);
        take_all(s, "coarsen", "coarsen.cu", defines);
    }
    take_all(s, "bottom", "bottom.cu", "-DTHREADS=256 -DTILE=64 -DOUT=8");
    take_all(s, "groups", "groups.cu", "-DTHREADS=256");
    take_all(s, "inverse", "inverse.cu", "-DTHREADS=256");
    take_all(s, "lanczos", "lanczos.cu", "-DTHREADS=256");
    take_all(s, "patterns", "patterns.cu", "-DTHREADS=64 -DEACH=16");
    take_all(s, "strength", "strength.cu", "-DTHREADS=128");
    take_all(s, "tentative", "tentative.cu", "-DTHREADS=128");
    /* The sources that serve measurements and plain vectors. */
    take_all(s, "gate", "gate.cu", "");
    take_all(s, "cg_f64", "cg.cu", "-DREAL=8 -DTHREADS=256");
    take_all(s, "cg_f32", "cg.cu", "-DREAL=4 -DTHREADS=256 -DVECTORS=8");
    take_all(s, "convert", "convert.cu", "-DFROM=8 -DTO=4 -DADD=1 -DTHREADS=256");
    take_all(s, "update", "update.cu", "-DREAL=8 -DINDEX=4 -DTHREADS=256 -DEACH=8");
    take_all(s, "update", "update.cu", "-DREAL=8 -DCOMPLEX=1 -DINDEX=8 -DTHREADS=256 -DEACH=8");
    for (int i = 0; i < test_permute_count; i++)
        take_all(s, "permute", "permute.cu", test_permutes[i].defines);
    take_all(s, "slices", "slices.cu", "-DREAL=8 -DTHREADS=256 -DBACK=1");
    take_all(s, "slices", "slices.cu", "-DREAL=4 -DTHREADS=256 -DBACK=0");
    take_all(s, "slices", "slices.cu", "-DREAL=8 -DCOMPLEX=1 -DTHREADS=256 -DBACK=0");
    take_all(s, "finish", "finish.cu", "-DTHREADS=512");
    take_all(s, "finish", "finish.cu", "-DTHREADS=512 -DCOMPLEX=1");
    take_all(s, "halo", "halo.cu", "-DREAL=8 -DTHREADS=256");
    take_all(s, "halo", "halo.cu", "-DREAL=4 -DTHREADS=256");
    take_all(s, "shuffle", "shuffle.cu", "-DREAL=8 -DTHREADS=256");
    take_all(s, "shuffle", "shuffle.cu", "-DREAL=4 -DTHREADS=256");
    take_all(s, "sums", "sums.cu", "-DTHREADS=128 -DPARTS=64 -DDOTS=8");
    take_all(s, "rescale", "rescale.cu", "-DFROM=8 -DTO=4 -DDIVIDE=1 -DTHREADS=256");
    take_all(s, "rescale", "rescale.cu", "-DFROM=4 -DTO=8 -DDIVIDE=0 -DTHREADS=256");
    take_all(s, "dot", "dot.cu", "-DREAL=8 -DTHREADS=256");
    take_all(s, "dot", "dot.cu", "-DREAL=4 -DCOMPLEX=1 -DTHREADS=256");
    take_all(s, "read_ceiling", "read_ceiling.cu", "-DTHREADS=256 -DEACH=8 -DSTREAMING=1");
}

int main(int argc, char **argv)
{
    const bool others = argc > 1 && strcmp(argv[1], "others") == 0;
    const char *step = argc > 1 + others ? argv[1 + others] : others ? "1" : "17";
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    share s = {.step = atoi(step), .workers = cores < 1 ? 1 : cores > 8 ? 8 : (int)cores};
    if (s.step < 1 || tess_ctx_create(NULL, &s.ctx) != TESS_OK)
        return 2;
    tess_jit jit = {0};
    if (tess_nvrtc_load(s.ctx, &jit.nvrtc) != TESS_OK) {
        printf("skipped: %s\n", tess_ctx_error(s.ctx));
        tess_ctx_destroy(s.ctx);
        return 77;
    }
    jit.loaded = true;
    s.jit = &jit;
    s.archs[s.arch_count++] = others ? 80 : 90;
    if (others && jit.nvrtc.newest > 90)
        s.archs[s.arch_count++] = jit.nvrtc.newest;
    printf("NVRTC %d.%d, newest architecture sm_%d, %d workers\n", jit.nvrtc.major, jit.nvrtc.minor,
           jit.nvrtc.newest, s.workers);
    fflush(stdout);
    for (; s.worker < s.workers; s.worker++) {
        pid_t child = fork();
        if (child < 0)
            return 2;
        if (child == 0) {
            work(&s);
            printf("worker %d: %d compiled, %d bad\n", s.worker, s.compiled, s.failed);
            fflush(stdout);
            _exit(s.failed > 0 || s.compiled == 0);
        }
    }
    int bad = 0, status;
    while (wait(&status) > 0)
        bad |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    tess_ctx_destroy(s.ctx);
    return bad;
}
