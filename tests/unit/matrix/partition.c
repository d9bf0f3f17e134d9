/* Partitions: every row has one owner, halos and bytes are what counting by hand gives, and each
 * kind keeps its promise. */
#include "matrix/partition/partition.h"

#include "support/support.h"

#include <string.h>

/* A square matrix of random pattern, block size and type. Its last block may be padded. */
static tess_matrix *draw(tess_ctx *ctx, uint64_t seed)
{
    static const test_pattern patterns[] = {TEST_DIAGONAL,  TEST_BANDED,     TEST_RANDOM,
                                            TEST_DENSE_ROW, TEST_EMPTY_ENDS, TEST_RAGGED,
                                            TEST_ONE_BLOCK, TEST_SKEWED,     TEST_EMPTY};
    const int32_t b = 1 + (int32_t)tess_random_below(seed, 0, 7);
    tess_matrix *A = test_matrix(ctx, patterns[tess_random_below(seed, 1, 9)],
                                 1 + tess_random_below(seed, 2, 60), b, b,
                                 seed % 4 == 0 ? TESS_F32 : TESS_F64, seed);
    if (A->rows == A->cols)
        return A;
    tess_matrix_destroy(A);
    return test_matrix(ctx, TEST_BANDED, 20, b, b, TESS_F64, seed);
}

/* Returns whether a partition of this kind can be made here. If not, checks that the message names
 * what is missing. */
static bool available(tess_ctx *ctx, int kind)
{
    const int32_t columns[] = {0, 1, 0, 1};
    const int64_t offsets[] = {0, 2, 4};
    const double values[] = {1, 1, 1, 1};
    tess_matrix *A;
    tess_partition *p;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 2, 2, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    const tess_status status = tess_partition_create(ctx, A, 2, tess_partition_name(kind), &p);
    if (status == TESS_OK) {
        tess_partition_destroy(p);
    } else {
        assert_int_equal(status, TESS_ERR_UNSUPPORTED);
        assert_non_null(strstr(tess_ctx_error(ctx), "is not here: install it"));
        print_message("left out: %s\n", tess_ctx_error(ctx));
    }
    tess_matrix_destroy(A);
    return status == TESS_OK;
}

/* Checks one part's numbers by looking at every block for every column. */
static void check_part(const tess_matrix *A, const tess_partition *p, int part, const char *what)
{
    const tess_partition_part *mine = &p->parts[part];
    int64_t block_rows = 0, rows = 0, blocks = 0, outside = 0, halo = 0, sent = 0;
    int neighbours = 0;
    bool *needed = calloc((size_t)A->block_cols + 1, 1), *asked = calloc((size_t)p->count, 1);
    for (int64_t i = 0; i < A->block_rows; i++) {
        bool *goes = calloc((size_t)p->count, 1);
        for (int64_t from = 0; from < A->block_rows; from++)
            for (int64_t k = A->row_offsets[from]; k < A->row_offsets[from + 1]; k++)
                if (A->columns[k] == i && p->owner[from] != part && p->owner[i] == part)
                    goes[p->owner[from]] = true;
        for (int r = 0; r < p->count; r++)
            sent += goes[r];
        free(goes);
        if (p->owner[i] != part)
            continue;
        block_rows++;
        rows += tess_min(A->block_height, A->rows - i * A->block_height);
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            const int32_t j = A->columns[k];
            blocks++;
            outside += p->owner[j] != part;
            halo += p->owner[j] != part && !needed[j];
            neighbours += p->owner[j] != part && !asked[p->owner[j]];
            needed[j] = true;
            asked[p->owner[j]] |= p->owner[j] != part;
        }
    }
    free(needed);
    free(asked);
    if (block_rows != mine->block_rows || rows != mine->rows || blocks != mine->blocks ||
        outside != mine->outside_blocks || halo != mine->halo || sent != mine->sent ||
        neighbours != mine->neighbours)
        fail_msg("%s, part %d of %d: halo %lld, expected %lld; sent %lld, expected %lld", what,
                 part, p->count, (long long)mine->halo, (long long)halo, (long long)mine->sent,
                 (long long)sent);
    const double scalar = (double)tess_type_size(A->type), b = A->block_height;
    const double bytes = (double)blocks * (scalar * b * b + 4) +
                         (double)block_rows * (8 + 2 * scalar * b) + (double)halo * scalar * b;
    assert_true(mine->bytes == bytes);
}

static void every_kind_counts_what_is_there(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int kind = 0; tess_partition_name(kind); kind++) {
        assert_non_null(tess_partition_summary(kind));
        if (!available(ctx, kind))
            continue;
        for (uint64_t seed = 0; seed < 60; seed++) {
            tess_matrix *A = draw(ctx, seed);
            const int parts = 1 + (int)tess_random_below(seed, 3, 12);
            char what[64];
            tess_partition *p, *again;
            snprintf(what, sizeof what, "%s, seed %llu", tess_partition_name(kind),
                     (unsigned long long)seed);
            if (tess_partition_create(ctx, A, parts, tess_partition_name(kind), &p) != TESS_OK)
                fail_msg("%s: %s", what, tess_ctx_error(ctx));
            assert_int_equal(p->count, parts);
            assert_string_equal(p->name, tess_partition_name(kind));
            for (int64_t i = 0; i < A->block_rows; i++) {
                assert_in_range(p->owner[i], 0, parts - 1);
                if (p->in_order && i > 0)
                    assert_true(p->owner[i] >= p->owner[i - 1]);
            }
            if (A->rows % A->block_height != 0) /* a padded block is the last of all */
                for (int r = p->owner[A->block_rows - 1] + 1; r < parts; r++)
                    assert_int_equal(p->parts[r].block_rows, 0);
            for (int r = 0; r < parts; r++)
                check_part(A, p, r, what);
            assert_int_equal(
                tess_partition_create(ctx, A, parts, tess_partition_name(kind), &again), TESS_OK);
            assert_memory_equal(p->owner, again->owner, (size_t)A->block_rows * sizeof *p->owner);
            tess_partition_destroy(p);
            tess_partition_destroy(again);
            tess_matrix_destroy(A);
        }
    }
    assert_null(tess_partition_name(-1));
    assert_null(tess_partition_summary(-1));
}

static void order_lists_the_parts_rows_one_after_the_other(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 100; seed < 130; seed++) {
        tess_matrix *A = draw(ctx, seed);
        const int parts = 1 + (int)(seed % 7);
        tess_partition *p;
        assert_int_equal(tess_partition_create(ctx, A, parts, "cyclic", &p), TESS_OK);
        int64_t firsts[8], *order = malloc((size_t)(A->block_rows + 1) * sizeof *order);
        tess_partition_order(p, firsts, order);
        assert_int_equal(firsts[0], 0);
        assert_int_equal(firsts[parts], A->block_rows);
        for (int r = 0; r < parts; r++)
            for (int64_t n = firsts[r]; n < firsts[r + 1]; n++) {
                assert_int_equal(p->owner[order[n]], r);
                assert_true(n == firsts[r] || order[n] > order[n - 1]);
            }
        free(order);
        tess_partition_destroy(p);
        tess_matrix_destroy(A);
    }
}

static double row_bytes(const tess_matrix *A, int64_t i)
{
    return (double)(A->row_offsets[i + 1] - A->row_offsets[i]) * tess_partition_block_bytes(A) +
           tess_partition_row_bytes(A);
}

/* Ranges of rows can miss an equal share of the bytes by one row, and by no more. */
static void contiguous_ranges_have_equal_bytes(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 200; seed < 300; seed++) {
        tess_matrix *A = draw(ctx, seed);
        const int parts = 1 + (int)tess_random_below(seed, 3, 9);
        double all = 0, largest = 0;
        for (int64_t i = 0; i < A->block_rows; i++) {
            all += row_bytes(A, i);
            largest = row_bytes(A, i) > largest ? row_bytes(A, i) : largest;
        }
        tess_partition *p;
        assert_int_equal(tess_partition_create(ctx, A, parts, NULL, &p), TESS_OK);
        assert_string_equal(p->name, "contiguous");
        for (int r = 0; r < parts; r++) {
            double bytes = 0;
            for (int64_t i = 0; i < A->block_rows; i++)
                bytes += p->owner[i] == r ? row_bytes(A, i) : 0;
            if (bytes > all / parts + largest || bytes < all / parts - largest)
                fail_msg("seed %llu: part %d of %d has %.0f bytes of %.0f, the largest row %.0f",
                         (unsigned long long)seed, r, parts, bytes, all, largest);
        }
        tess_partition_destroy(p);
        tess_matrix_destroy(A);
    }
}

/* Rows of 1, 3, 1, 2, 3 and 2 blocks. By length they are 1 4 | 3 5 | 0 2, dealt to parts 0 and 1.
 */
static void cyclic_deals_rows_by_length(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 1, 4, 5, 7, 10, 12};
    const int32_t columns[] = {0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 4, 5};
    const double values[12] = {1};
    static const int32_t expected[] = {0, 0, 1, 0, 1, 1};
    tess_matrix *A;
    tess_partition *p;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 6, 6, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    assert_int_equal(tess_partition_create(ctx, A, 2, "cyclic", &p), TESS_OK);
    assert_memory_equal(p->owner, expected, sizeof expected);
    assert_int_equal(p->in_order, 0);
    tess_partition_destroy(p);
    tess_matrix_destroy(A);
}

/* A cube cut into boxes has less surface than a cube cut into slabs. Rows dealt out one by one have
 * the most. */
static void graphs_are_cut_where_little_is_coupled(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=14,b=2", &A, NULL), TESS_OK);
    for (int parts = 4; parts <= 32; parts *= 2) {
        int64_t halo[4] = {0};
        for (int kind = 0; tess_partition_name(kind); kind++) {
            tess_partition *p;
            if (!available(ctx, kind))
                continue;
            assert_int_equal(tess_partition_create(ctx, A, parts, tess_partition_name(kind), &p),
                             TESS_OK);
            double most = 0, all = 0;
            for (int r = 0; r < parts; r++) {
                halo[kind] += p->parts[r].halo;
                all += p->parts[r].bytes;
                most = p->parts[r].bytes > most ? p->parts[r].bytes : most;
            }
            if (kind >= 2 && halo[kind] >= halo[0])
                fail_msg("%s, %d parts: a halo of %lld, contiguous has %lld", p->name, parts,
                         (long long)halo[kind], (long long)halo[0]);
            if (kind >= 2 && most > 1.15 * all / parts)
                fail_msg("%s, %d parts: %.0f bytes at most, %.0f in the mean", p->name, parts, most,
                         all / parts);
            tess_partition_destroy(p);
        }
        assert_true(halo[1] > halo[0]);
    }
    tess_matrix_destroy(A);
}

static void what_cannot_be_is_said(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A, *wide;
    tess_partition *p;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=3,b=2", &A, NULL), TESS_OK);
    wide = test_matrix(ctx, TEST_RANDOM, 10, 2, 3, TESS_F64, 1);
    assert_int_equal(tess_partition_create(ctx, A, 2, "cyclik", &p), TESS_ERR_OPTION);
    assert_string_equal(tess_ctx_error(ctx), "unknown partition 'cyclik' (nearest: 'cyclic')");
    assert_int_equal(tess_partition_create(ctx, A, 0, NULL, &p), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_partition_create(ctx, A, TESS_PARTS_MAX + 1, NULL, &p),
                     TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "65537 parts, not 1..65536");
    assert_int_equal(tess_partition_create(ctx, wide, 2, NULL, &p), TESS_ERR_UNSUPPORTED);
    assert_non_null(strstr(tess_ctx_error(ctx), "parts need a square matrix of square blocks"));
    char *before = getenv("TESSERA_PARTITIONERS");
    char *kept = before ? strdup(before) : NULL;
    setenv("TESSERA_PARTITIONERS", "off", 1);
    assert_int_equal(tess_partition_create(ctx, A, 2, "metis", &p), TESS_ERR_UNSUPPORTED);
    assert_string_equal(tess_ctx_error(ctx),
                        "METIS is not here: install it (Debian: libmetis5), or "
                        "take a contiguous partition");
    assert_int_equal(tess_partition_create(ctx, A, 2, "scotch", &p), TESS_ERR_UNSUPPORTED);
    if (kept)
        setenv("TESSERA_PARTITIONERS", kept, 1);
    else
        unsetenv("TESSERA_PARTITIONERS");
    free(kept);
    tess_matrix_destroy(A);
    tess_matrix_destroy(wide);
}

static void missing_memory_leaves_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 40, 2, 2, TESS_F64, 3);
    for (int kind = 0; tess_partition_name(kind); kind++) {
        if (!available(ctx, kind))
            continue;
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            tess_partition *p = NULL;
            status = tess_partition_create(ctx, A, 5, tess_partition_name(kind), &p);
            tess_partition_destroy(p);
        } while (test_sweep_goes_on(&sweep, status));
        assert_true(sweep.failed > 5);
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_counts_what_is_there),
        cmocka_unit_test(order_lists_the_parts_rows_one_after_the_other),
        cmocka_unit_test(contiguous_ranges_have_equal_bytes),
        cmocka_unit_test(cyclic_deals_rows_by_length),
        cmocka_unit_test(graphs_are_cut_where_little_is_coupled),
        cmocka_unit_test(what_cannot_be_is_said),
        cmocka_unit_test(missing_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
