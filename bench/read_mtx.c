/* Seconds that tess_matrix_read takes: read_mtx FILE THREADS [REPEAT]. One line a read: seconds,
 * entries, and the process's largest resident size in MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <tessera/tessera.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: read_mtx FILE THREADS [REPEAT]\n");
        return 2;
    }
    int repeat = argc > 3 ? atoi(argv[3]) : 1;
    tess_ctx *ctx;
    tess_ctx_options options = {.threads = atoi(argv[2])};
    if (tess_ctx_create(&options, &ctx) != TESS_OK)
        return 2;
    for (int i = 0; i < repeat; i++) {
        tess_matrix *A;
        double begin = seconds();
        if (tess_matrix_read(ctx, argv[1], &A) != TESS_OK) {
            fprintf(stderr, "read_mtx: %s\n", tess_ctx_error(ctx));
            return 1;
        }
        double taken = seconds() - begin;
        tess_matrix_view view;
        tess_matrix_get_view(A, &view);
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        printf("%.6f %lld %ld\n", taken, (long long)view.blocks, usage.ru_maxrss / 1024);
        tess_matrix_destroy(A);
    }
    tess_ctx_destroy(ctx);
    return 0;
}
