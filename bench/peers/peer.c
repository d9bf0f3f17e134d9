/* The conversation of peer.h, and the conversions that most libraries need. */
#include "peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { VARIANTS_MAX = 8 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Maps the file. Returns NULL, or the fault of the file. */
static const char *open_matrix(const char *path, peer_matrix *A)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return "the matrix file cannot be opened";
    struct stat info;
    void *map = MAP_FAILED;
    if (fstat(file, &info) == 0 && (size_t)info.st_size >= sizeof A->size)
        map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (map == MAP_FAILED)
        return "the matrix file cannot be mapped";
    memcpy(&A->size, map, sizeof A->size);
    if (memcmp(A->size.magic, PEER_MAGIC, sizeof A->size.magic) != 0)
        return "the matrix file has the wrong magic";
    const char *at = (const char *)map + peer_align(sizeof A->size);
    A->row_offsets = (const int64_t *)at;
    at += peer_align((A->size.block_rows + 1) * 8);
    A->columns = (const int32_t *)at;
    at += peer_align(A->size.blocks * 4);
    A->values = (const double *)at;
    at += peer_align(A->size.blocks * A->size.block_height * A->size.block_width * 8);
    A->x = (const double *)at;
    return NULL;
}

static void answer_load(const peer_library *library, const char *path, peer_matrix *A, bool *loaded)
{
    const char *fault = open_matrix(path, A);
    for (int v = 0; library->variants[v]; v++) {
        const char *reason = fault ? fault : library->load(v, A);
        loaded[v] = !reason;
        if (library->silent)
            continue;
        if (reason)
            printf("variant %s no %s\n", library->variants[v], reason);
        else
            printf("variant %s ok\n", library->variants[v]);
    }
    if (!library->silent)
        puts("end");
}

static void answer_run(const peer_library *library, int variant, int repetitions)
{
    if (!library->silent)
        fputs("times", stdout);
    for (int i = 0; i < repetitions; i++) {
        double start = seconds_now();
        library->multiply(variant);
        double end = seconds_now();
        if (!library->silent)
            printf(" %.9g", end - start);
    }
    if (!library->silent)
        putchar('\n');
}

static void answer_result(const peer_library *library, int variant, const char *path,
                          const peer_matrix *A)
{
    double *y = malloc((size_t)A->size.rows * sizeof *y);
    bool good = y != NULL;
    if (good)
        library->result(variant, y);
    if (library->silent) {
        free(y);
        return;
    }
    FILE *file = good ? fopen(path, "wb") : NULL;
    good = file && fwrite(y, sizeof *y, (size_t)A->size.rows, file) == (size_t)A->size.rows;
    if (file)
        good = fclose(file) == 0 && good;
    puts(good ? "ok" : "no the result could not be written");
    free(y);
}

static int find_variant(const peer_library *library, const char *name, const bool *loaded)
{
    for (int v = 0; library->variants[v]; v++)
        if (strcmp(library->variants[v], name) == 0 && loaded[v])
            return v;
    return -1;
}

int peer_main(const peer_library *library)
{
    peer_matrix A = {0};
    bool loaded[VARIANTS_MAX] = {false};
    char line[4096], name[64], path[4000];
    int repetitions, variant;
    if (!library->silent)
        printf("peer %s %s %d\n", library->name, library->version, library->threads);
    for (;;) {
        fflush(stdout);
        if (library->read_line ? !library->read_line(line, sizeof line)
                               : !fgets(line, sizeof line, stdin))
            return 0;
        if (strncmp(line, "quit", 4) == 0)
            return 0;
        if (sscanf(line, "load %3999s", path) == 1)
            answer_load(library, path, &A, loaded);
        else if (sscanf(line, "run %63s %d", name, &repetitions) == 2 &&
                 (variant = find_variant(library, name, loaded)) >= 0)
            answer_run(library, variant, repetitions);
        else if (sscanf(line, "result %63s %3999s", name, path) == 2 &&
                 (variant = find_variant(library, name, loaded)) >= 0)
            answer_result(library, variant, path, &A);
        else if (!library->silent)
            puts("no such command");
    }
}

bool peer_make_csr(const peer_matrix *A, int64_t first, int64_t last, peer_csr *csr)
{
    int64_t r = A->size.block_height, c = A->size.block_width;
    int64_t count = (A->row_offsets[last] - A->row_offsets[first]) * r * c;
    *csr = (peer_csr){0};
    if (count > INT32_MAX || A->size.cols > INT32_MAX)
        return false;
    csr->offsets = malloc((size_t)((last - first) * r + 1) * sizeof *csr->offsets);
    csr->columns = malloc((size_t)(count + 1) * sizeof *csr->columns);
    csr->values = malloc((size_t)(count + 1) * sizeof *csr->values);
    if (!csr->offsets || !csr->columns || !csr->values) {
        peer_free_csr(csr);
        return false;
    }
    int at = 0;
    csr->offsets[0] = 0;
    for (int64_t row = first * r; row < last * r; row++) {
        for (int64_t k = A->row_offsets[row / r]; k < A->row_offsets[row / r + 1]; k++) {
            for (int64_t j = 0; j < c; j++, at++) {
                csr->columns[at] = (int)(A->columns[k] * c + j);
                csr->values[at] = A->values[(k * c + j) * r + row % r];
            }
        }
        csr->offsets[row - first * r + 1] = at;
    }
    return true;
}

void peer_free_csr(peer_csr *csr)
{
    free(csr->offsets);
    free(csr->columns);
    free(csr->values);
    *csr = (peer_csr){0};
}

/* The position of block (row, column), or -1. */
static int64_t find_block(const peer_matrix *A, int64_t row, int64_t column)
{
    int64_t low = A->row_offsets[row], high = A->row_offsets[row + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (A->columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < A->row_offsets[row + 1] && A->columns[low] == column ? low : -1;
}

bool peer_is_symmetric(const peer_matrix *A)
{
    int64_t b = A->size.block_height;
    if (A->size.rows != A->size.cols || b != A->size.block_width)
        return false;
    for (int64_t row = 0; row < A->size.block_rows; row++) {
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
            int64_t mirror = find_block(A, A->columns[k], row);
            if (mirror < 0)
                return false;
            for (int64_t j = 0; j < b; j++)
                for (int64_t i = 0; i < b; i++)
                    if (A->values[(k * b + j) * b + i] != A->values[(mirror * b + i) * b + j])
                        return false;
        }
    }
    return true;
}

int peer_threads(void)
{
    const char *text = getenv("TESSERA_PEER_THREADS");
    int threads = text ? atoi(text) : 1;
    return threads > 0 ? threads : 1;
}
