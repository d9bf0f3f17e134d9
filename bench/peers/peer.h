/* What every adapter of another library shares: the matrix it is given and the conversation with
 * `tessera bench --peers`.
 *
 * An adapter is a long-lived child process. It says who it is, then answers one line for each line
 * it reads, so that the driver can run our kernels and everybody else's in turn, in one run:
 *
 *     > peer eigen 3.4.0 2              name, version, threads it uses
 *     < load /dev/shm/tessera-17/matrix
 *     > variant csr ok                  one line for each storage the library offers ...
 *     > variant bsr no it has no blocks ... or why it cannot take this matrix
 *     > end
 *     < run csr 5
 *     > times 0.0123 0.0121 ...         seconds of each y = A x
 *     < result csr /dev/shm/tessera-17/y
 *     > ok                              y is in that file, rows doubles
 *     < quit
 *
 * The matrix file is a peer_header, then row_offsets, columns, values and x, each starting at a
 * multiple of 64 bytes. Blocks are whole and column-major; values are double. An idle adapter must
 * use no processor time: it would disturb the others.
 */
#ifndef TESS_PEER_H
#define TESS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEER_MAGIC "TESSPEER"

typedef struct peer_header {
    char magic[8];
    int64_t rows, cols;
    int64_t block_height, block_width;
    int64_t block_rows, block_cols;
    int64_t blocks;
} peer_header;

static inline int64_t peer_align(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

typedef struct peer_matrix {
    peer_header size;
    const int64_t *row_offsets; /* block_rows + 1 */
    const int32_t *columns;     /* blocks */
    const double *values;       /* blocks * height * width */
    const double *x;            /* cols */
} peer_matrix;

/* The library behind an adapter. Functions get the index of a variant. */
typedef struct peer_library {
    const char *name, *version;
    int threads;
    const char *const *variants; /* NULL-terminated */
    /* NULL when the matrix is ready to be multiplied, otherwise the reason why it cannot be. */
    const char *(*load)(int variant, const peer_matrix *A);
    void (*multiply)(int variant); /* y = A x, complete when it returns */
    void (*result)(int variant, double *y);
    /* Both NULL for a library in one process. With MPI, every rank runs peer_main: `read_line`
     * gives the driver's line to all ranks (false at the end of input), and only rank 0 answers. */
    bool (*read_line)(char *line, size_t size);
    bool silent;
} peer_library;

/* Holds the conversation until "quit" or the end of input. Returns main's exit status. */
int peer_main(const peer_library *library);

/* The same matrix as scalar CSR with 32-bit offsets, block rows first..last-1 only, entries of a
 * row by increasing column; malloc'ed. false when it does not fit 32-bit offsets or memory. */
typedef struct peer_csr {
    int *offsets, *columns;
    double *values;
} peer_csr;
bool peer_make_csr(const peer_matrix *A, int64_t first, int64_t last, peer_csr *csr);
void peer_free_csr(peer_csr *csr);

/* Square, and equal to its transpose to the last bit. */
bool peer_is_symmetric(const peer_matrix *A);

/* TESSERA_PEER_THREADS, at least 1. */
int peer_threads(void);

#ifdef __cplusplus
}
#endif
#endif
