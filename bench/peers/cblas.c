#include "cblas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dense.h"

enum { COLUMN_MAJOR = 102, AS_IT_IS = 111 }; /* CBLAS's order and transpose */

struct cblas_gemv {
    tess_ctx *ctx;
    tess_type type;
    int rows, cols;
    void *A;
    void (*dgemv)(int order, int transpose, int rows, int cols, double alpha, const double *A,
                  int lda, const double *x, int dx, double beta, double *y, int dy);
    void (*sgemv)(int order, int transpose, int rows, int cols, float alpha, const float *A,
                  int lda, const float *x, int dx, float beta, float *y, int dy);
    char version[160];
};

static tess_status load(cblas_gemv *peer)
{
    const char *named = getenv("TESSERA_CBLAS");
    const char *const names[] = {named ? named : "libopenblas.so.0",
                                 named ? NULL : "libopenblas.so"};
    void *library = NULL;
    for (int i = 0; !library && i < 2 && names[i]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return tess_fail(
            peer->ctx, TESS_ERR_UNSUPPORTED,
            "no BLAS on this machine: install OpenBLAS (Debian: libopenblas0), or name "
            "a library with CBLAS's functions by TESSERA_CBLAS%s%s",
            named ? ", which is now " : "", named ? named : "");
    void *found[] = {dlsym(library, "cblas_dgemv"), dlsym(library, "cblas_sgemv"),
                     dlsym(library, "openblas_get_config")};
    if (!found[0] || !found[1])
        return tess_fail(peer->ctx, TESS_ERR_UNSUPPORTED, "%s has no cblas_dgemv",
                         named ? named : names[0]);
    char *(*config)(void);
    memcpy(&peer->dgemv, &found[0], sizeof peer->dgemv);
    memcpy(&peer->sgemv, &found[1], sizeof peer->sgemv);
    memcpy(&config, &found[2], sizeof config);
    snprintf(peer->version, sizeof peer->version, "%s", found[2] ? config() : named);
    return TESS_OK;
}

tess_status cblas_open(const tess_matrix *A, cblas_gemv **out)
{
    cblas_gemv *peer;
    tess_status status;
    TESS_TRY(TESS_ALLOC(A->ctx, 1, &peer));
    *peer =
        (cblas_gemv){.ctx = A->ctx, .type = A->type, .rows = (int)A->rows, .cols = (int)A->cols};
    TESS_TRY_CLEAN(load(peer));
    TESS_TRY_CLEAN(dense_values(A, &peer->A));
    *out = peer;
    return TESS_OK;
cleanup:
    cblas_close(peer);
    return status;
}

void cblas_close(cblas_gemv *peer)
{
    if (!peer)
        return;
    tess_free(peer->ctx, peer->A);
    tess_free(peer->ctx, peer);
}

const char *cblas_version(const cblas_gemv *peer)
{
    return peer->version;
}

static void multiply(const cblas_gemv *peer, const void *x, void *y)
{
    if (peer->type == TESS_F64)
        peer->dgemv(COLUMN_MAJOR, AS_IT_IS, peer->rows, peer->cols, 1, peer->A, peer->rows, x, 1, 0,
                    y, 1);
    else
        peer->sgemv(COLUMN_MAJOR, AS_IT_IS, peer->rows, peer->cols, 1, peer->A, peer->rows, x, 1, 0,
                    y, 1);
}

tess_status cblas_time(cblas_gemv *peer, const void *x, void *y, int reps, double *seconds)
{
    for (int i = 0; i < reps; i++) {
        const double start = tess_seconds();
        multiply(peer, x, y);
        seconds[i] = tess_seconds() - start;
    }
    return TESS_OK;
}
