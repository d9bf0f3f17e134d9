/* SpMV on the CPU: every candidate for each block size, interleaved with the read ceiling.
 *
 *     tessera_bench_cpu_spmv [stencil7|stencil27|powerlaw|...] [megabytes] [threads] [b ...]
 *
 * One line per block size: the ceiling in GB/s, then for every kernel its GB/s and its share of the
 * ceiling, medians over interleaved rounds. */
#include <math.h>
#include <string.h>

#include "program.h"

enum { ROUNDS = 7, MOST = 16 };

/* A matrix of about `megabytes`, computed from the blocks of a row: 7 or 27 of a stencil, 6 of
 * other generators. */
static tess_matrix *make_matrix(tess_ctx *ctx, const char *kind, double megabytes, int b)
{
    char spec[128];
    tess_matrix *A;
    if (strncmp(kind, "stencil", 7) == 0) {
        double points = strcmp(kind, "stencil7") == 0 ? 7 : 27;
        int n = (int)cbrt(megabytes * 1e6 / (points * (8.0 * b * b + 4) + 16.0 * b)) + 1;
        snprintf(spec, sizeof spec, "%s:n=%d,b=%d", kind, n, b);
    } else {
        snprintf(spec, sizeof spec, "%s:rows=%d,b=%d", kind,
                 (int)(megabytes * 1e6 / (6 * (8.0 * b * b + 4) + 16.0 * b)), b);
    }
    check(ctx, tess_matrix_generate(ctx, spec, &A, NULL));
    return A;
}

static void bench(tess_ctx *ctx, tess_device *device, const char *kind, double megabytes, int b)
{
    tess_matrix *A = make_matrix(ctx, kind, megabytes, b);
    double *x, *y, bytes = tess_matrix_spmv_bytes(A);
    check(ctx, TESS_ALLOC(ctx, A->cols, &x));
    check(ctx, TESS_ALLOC(ctx, A->rows, &y));
    for (int64_t i = 0; i < A->cols; i++)
        x[i] = tess_random_unit(1, (uint64_t)i);
    tess_candidates list = {0};
    check(ctx, tess_candidates_list(device, A, &(tess_product){.kind = TESS_PRODUCT_SPMV}, &list));
    int count = (int)tess_min(list.count, MOST);
    tess_plan *plans[MOST];
    for (int i = 0; i < count; i++)
        check(ctx, tess_plan_create(ctx, A, device,
                                    &(tess_plan_options){.kernel = list.items[i].kernel,
                                                         .format = list.items[i].format,
                                                         .params = list.items[i].params},
                                    &plans[i]));
    double ceilings[ROUNDS], seconds[MOST][ROUNDS];
    int passes = 1 + (int)(400e6 / bytes);
    for (int round = 0; round < ROUNDS; round++) {
        check(ctx, tess_cpu_read_ceiling(device, bytes, &ceilings[round]));
        for (int i = 0; i < count; i++) {
            for (int pass = 0; pass < 3;
                 pass++) /* brings data back that the read ceiling evicted */
                check(ctx, tess_spmv(plans[i], 1, x, 0, y));
            double start = tess_seconds();
            for (int pass = 0; pass < passes; pass++)
                check(ctx, tess_spmv(plans[i], 1, x, 0, y));
            seconds[i][round] = (tess_seconds() - start) / passes;
        }
    }
    double ceiling = tess_median(ceilings, ROUNDS);
    printf("%-9s b=%-2d %5.0f MB  ceiling %5.1f", kind, b, bytes * 1e-6, ceiling * 1e-9);
    for (int i = 0; i < count; i++) {
        double rate = bytes / tess_median(seconds[i], ROUNDS);
        printf("  | %s %.1f %.0f%%", list.items[i].kernel + strlen("bsr_spmv_"), rate * 1e-9,
               100 * rate / ceiling);
        tess_plan_destroy(plans[i]);
    }
    printf("\n");
    fflush(stdout);
    tess_candidates_free(ctx, &list);
    tess_free(ctx, x);
    tess_free(ctx, y);
    tess_matrix_destroy(A);
}

int main(int argc, char **argv)
{
    static const char *const defaults[] = {"1", "2", "3",  "4",  "5", "6",
                                           "7", "8", "11", "16", "32"};
    const char *kind = argc > 1 ? argv[1] : "stencil7";
    double megabytes = argc > 2 ? atof(argv[2]) : 400;
    tess_ctx *ctx;
    tess_device *device;
    check(NULL,
          tess_ctx_create(&(tess_ctx_options){.threads = argc > 3 ? atoi(argv[3]) : 0}, &ctx));
    check(ctx, tess_device_open(ctx, "cpu", &device));
    printf("%s\n", tess_device_description(device));
    int sizes = argc > 4 ? argc - 4 : (int)(sizeof defaults / sizeof defaults[0]);
    for (int i = 0; i < sizes; i++)
        bench(ctx, device, kind, megabytes, atoi(argc > 4 ? argv[4 + i] : defaults[i]));
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return 0;
}
