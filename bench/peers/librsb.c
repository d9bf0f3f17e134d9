/* librsb: recursive sparse blocks over scalar CSR input, OpenMP, no autotuning. */
#include <rsb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

static struct rsb_mtx_t *matrix;
static const double *x;
static double *y;
static int64_t rows;

static const char *load(int variant, const peer_matrix *A)
{
    (void)variant;
    peer_csr csr;
    if (!peer_make_csr(A, 0, A->size.block_rows, &csr))
        return "too large for 32-bit offsets";
    rsb_err_t error = RSB_ERR_NO_ERROR;
    matrix = rsb_mtx_alloc_from_csr_const(
        csr.values, csr.offsets, csr.columns, csr.offsets[A->size.rows], RSB_NUMERICAL_TYPE_DOUBLE,
        (rsb_coo_idx_t)A->size.rows, (rsb_coo_idx_t)A->size.cols, 1, 1, RSB_FLAG_NOFLAGS, &error);
    peer_free_csr(&csr);
    x = A->x;
    rows = A->size.rows;
    y = malloc((size_t)(rows + 1) * sizeof *y);
    return matrix && y && error == RSB_ERR_NO_ERROR ? NULL : "rsb_mtx_alloc_from_csr_const failed";
}

static void multiply(int variant)
{
    (void)variant;
    const double one = 1, zero = 0;
    rsb_spmv(RSB_TRANSPOSITION_N, &one, matrix, x, 1, &zero, y, 1);
}

static void result(int variant, double *out)
{
    (void)variant;
    memcpy(out, y, (size_t)rows * sizeof *out);
}

int main(void)
{
    static const char *const variants[] = {"rsb", NULL};
    if (rsb_lib_init(RSB_NULL_INIT_OPTIONS) != RSB_ERR_NO_ERROR)
        return 1;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", RSB_LIBRSB_VER / 10000,
             RSB_LIBRSB_VER / 100 % 100, RSB_LIBRSB_VER % 100);
    return peer_main(&(peer_library){.name = "librsb",
                                     .version = version,
                                     .threads = peer_threads(),
                                     .variants = variants,
                                     .load = load,
                                     .multiply = multiply,
                                     .result = result});
}
