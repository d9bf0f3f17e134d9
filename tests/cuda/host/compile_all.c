/* Every kernel variant through NVRTC, without a GPU, for sm_80, sm_90 and the newest architecture
 * that it knows. A compiler error, a spilled register or a stack frame (an array that went to local
 * memory) fails.
 *
 *     compile_all [STEP [OTHERS]]   every STEP-th variant for sm_90, every OTHERS-th for the others
 *                                   (default: 1, all of them, and as STEP)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/driver/jit.h"
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

typedef struct tally {
    int compiled, failed;
} tally;

/* The preconditioners' kernels; `number` counts on over all workers. */
static void compile_triangular(tess_ctx *ctx, tess_jit *jit, int worker, int workers, int step,
                               int others, tally *t)
{
    static test_triangular variants[MOST];
    const int archs[] = {90, 80, jit->nvrtc.newest};
    const int count = test_triangular_variants(variants, MOST);
    int number = 0;
    for (int i = 0; i < count && i < MOST; i++)
        for (int a = 0; a < 3; a++) {
            if (i % (a == 0 ? step : others) != 0 || number++ % workers != worker)
                continue;
            t->compiled++;
            t->failed +=
                compile(ctx, jit, variants[i].name,
                        &(tess_jit_request){"triangular.cu", variants[i].defines, archs[a]});
        }
}

/* This worker's share of the list: every `workers`-th. */
static tally work(tess_ctx *ctx, tess_jit *jit, int worker, int workers, int step, int others)
{
    static test_variant variants[MOST];
    const int archs[] = {90, 80, jit->nvrtc.newest};
    tally t = {0, 0};
    int number = 0;
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[k];
        int count = test_variants(kernel, variants, MOST);
        for (int i = 0; i < count && i < MOST; i++) {
            for (int a = 0; a < 3; a++) {
                tess_cuda_problem problem = variants[i].problem;
                problem.arch = archs[a];
                if (i % (a == 0 ? step : others) != 0 || number++ % workers != worker ||
                    !kernel->fits(&problem, variants[i].params))
                    continue;
                char defines[TESS_CUDA_DEFINES], what[160];
                kernel->defines(&problem, variants[i].params, defines, sizeof defines);
                snprintf(what, sizeof what, "%s, %dx%d %s", kernel->name, (int)problem.block_height,
                         (int)problem.block_width, tess_type_name(problem.type));
                t.compiled++;
                t.failed +=
                    compile(ctx, jit, what, &(tess_jit_request){kernel->source, defines, archs[a]});
            }
        }
    }
    compile_triangular(ctx, jit, worker, workers, step, others, &t);
    static test_pass passes[MOST];
    const int count = test_passes(passes, MOST);
    for (int i = 0; i < count && i < MOST; i++) {
        for (int a = 0; a < 3; a++) {
            if (i % (a == 0 ? step : others) != 0 || number++ % workers != worker)
                continue;
            t.compiled++;
            t.failed += compile(ctx, jit, passes[i].what,
                                &(tess_jit_request){"pass.cu", passes[i].defines, archs[a]});
        }
    }
    static test_loop loops[64];
    const int loop_count = test_loops(loops, 64);
    for (int i = 0; i < loop_count && i < 64; i++) {
        if (i % step != 0 || number++ % workers != worker)
            continue;
        t.compiled++;
        t.failed += compile(ctx, jit, loops[i].name,
                            &(tess_jit_request){"loop.cu", loops[i].code.defines, 90});
        for (int k = 0; k < loops[i].betweens; k++, t.compiled++)
            t.failed +=
                compile(ctx, jit, loops[i].between[k].code.stages,
                        &(tess_jit_request){"between.cu", loops[i].between[k].code.defines, 80});
    }
    /* The sources that serve measurements and plain vectors. */
    if (worker == 0) {
        t.compiled += 6;
        t.failed += compile(ctx, jit, "gate", &(tess_jit_request){"gate.cu", "", 80});
        t.failed +=
            compile(ctx, jit, "convert",
                    &(tess_jit_request){"convert.cu", "-DFROM=8 -DTO=4 -DADD=1 -DTHREADS=256", 80});
        t.failed += compile(
            ctx, jit, "refresh",
            &(tess_jit_request){"refresh.cu", "-DREAL=8 -DINDEX=4 -DTHREADS=256 -DEACH=8", 80});
        t.failed +=
            compile(ctx, jit, "finish", &(tess_jit_request){"finish.cu", "-DTHREADS=512", 80});
        t.failed +=
            compile(ctx, jit, "dot", &(tess_jit_request){"dot.cu", "-DREAL=8 -DTHREADS=256", 80});
        t.failed += compile(
            ctx, jit, "read_ceiling",
            &(tess_jit_request){"read_ceiling.cu", "-DTHREADS=256 -DEACH=8 -DSTREAMING=1", 80});
    }
    return t;
}

int main(int argc, char **argv)
{
    int step = argc > 1 ? atoi(argv[1]) : 1, others = argc > 2 ? atoi(argv[2]) : step;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int workers = cores < 1 ? 1 : cores > 8 ? 8 : (int)cores;
    tess_ctx *ctx;
    if (step < 1 || others < 1 || tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 2;
    tess_jit jit = {0};
    if (tess_nvrtc_load(ctx, &jit.nvrtc) != TESS_OK) {
        printf("skipped: %s\n", tess_ctx_error(ctx));
        tess_ctx_destroy(ctx);
        return 77;
    }
    jit.loaded = true;
    printf("NVRTC %d.%d, newest architecture sm_%d, %d workers\n", jit.nvrtc.major, jit.nvrtc.minor,
           jit.nvrtc.newest, workers);
    fflush(stdout);
    for (int worker = 0; worker < workers; worker++) {
        pid_t child = fork();
        if (child < 0)
            return 2;
        if (child == 0) {
            tally t = work(ctx, &jit, worker, workers, step, others);
            printf("worker %d: %d variants, %d bad\n", worker, t.compiled, t.failed);
            fflush(stdout);
            _exit(t.failed > 0 || t.compiled == 0);
        }
    }
    int bad = 0, status;
    while (wait(&status) > 0)
        bad |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    tess_ctx_destroy(ctx);
    return bad;
}
