/* A part's share of the whole, on partitions drawn at random: its halo is the distinct outside
 * block columns, and its memory is its share of the matrix. */
#include "dealt.h"
#include "matrices.h"

static tess_status nothing(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    (void)d, (void)rank, (void)part, (void)plan;
    return TESS_OK;
}

static void the_halo_is_the_distinct_outside_columns(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 300; seed < 300 + test_draws(40); seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        dealt d = dealt_open(A, 1 + (int)(seed % 6), seed);
        d.body = nothing;
        dealt_run(&d);
        dealt_ok(&d, seed);
        int64_t received = 0, sent = 0;
        for (int r = 0; r < d.size; r++) {
            bool *seen = calloc((size_t)A->block_cols + 1, 1);
            int64_t distinct = 0;
            for (int64_t k = A->row_offsets[d.firsts[r]]; k < A->row_offsets[d.firsts[r + 1]];
                 k++) {
                const int32_t column = A->columns[k];
                const bool own = column >= d.firsts[r] && column < d.firsts[r + 1];
                distinct += !own && !seen[column];
                seen[column] = true;
            }
            free(seen);
            assert_int_equal(d.info[r].halo_rows, distinct * A->block_height);
            assert_int_equal(d.info[r].first_row, dealt_row(&d, r));
            assert_int_equal(d.info[r].all_rows, A->rows);
            received += d.info[r].halo_rows;
            sent += d.info[r].sent_rows;
        }
        assert_int_equal(received, sent);
        test_team_destroy(d.team);
        tess_matrix_destroy(A);
    }
}

/* Bytes of a part: its blocks, each with its column and its place in the caller's order in both
 * numberings; offsets of its rows in both matrices; what it sends; and a little for each other
 * part. */
static int64_t share_of(const dealt *d, int r)
{
    const int64_t scalar = (int64_t)tess_type_size(d->A->type), b = d->A->block_height;
    const int64_t rows = d->firsts[r + 1] - d->firsts[r];
    const int64_t blocks = d->A->row_offsets[d->firsts[r + 1]] - d->A->row_offsets[d->firsts[r]];
    return blocks * (b * b * scalar + 2 * (int64_t)sizeof(int32_t) + (int64_t)sizeof(int64_t)) +
           5 * rows * (int64_t)sizeof(int64_t) +
           (d->info[r].sent_rows + d->info[r].halo_rows) / b * (int64_t)sizeof(int64_t) +
           512 * d->size + 4096;
}

static void a_part_holds_its_share_and_no_more(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 400; seed < 400 + test_draws(12); seed++) {
        tess_matrix *A;
        if (seed % 2)
            assert_int_equal(tess_matrix_generate(ctx, "gen:stencil27:n=14,b=3", &A, NULL),
                             TESS_OK);
        else
            A = test_matrix(ctx, TEST_RANDOM, 3000, 2, 2, seed % 4 ? TESS_F64 : TESS_F32, seed);
        dealt d = dealt_open(A, 2 + (int)(seed % 6), seed);
        d.body = nothing;
        dealt_run(&d);
        dealt_ok(&d, seed);
        for (int r = 0; r < d.size; r++) {
            const int64_t share = share_of(&d, r);
            /* While the part is made it also holds all outside columns, repeated ones too, and the
             * sorted halo. */
            const int64_t more = (int64_t)sizeof(int64_t) * (d.info[r].blocks + d.info[r].all_rows);
            if (d.held[r] > share || d.peak[r] > share + more)
                fail_msg("seed %llu, part %d of %d holds %lld bytes, at most %lld; its share is "
                         "%lld",
                         (unsigned long long)seed, r, d.size, (long long)d.held[r],
                         (long long)d.peak[r], (long long)share);
        }
        test_team_destroy(d.team);
        tess_matrix_destroy(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_halo_is_the_distinct_outside_columns),
        cmocka_unit_test(a_part_holds_its_share_and_no_more),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
