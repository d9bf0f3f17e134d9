/* A .tess file read by ranges is the matrix that part 0 would deal out. A fault that any part finds
 * in the file fails on all parts. */
#include "support/counted.h"
#include "support/support.h"
#include "support/thread_comm.h"

#include <string.h>
#include <unistd.h>

enum { MOST = 6 };

typedef struct reading {
    test_team *team;
    const char *path[MOST];
    const tess_matrix *A; /* dealt out instead where path[0] is NULL */
    const void *x;
    void *y;
    tess_part_info info[MOST];
    tess_status status[MOST];
    char error[MOST][1024];
    int fails_at; /* the part whose allocations fail from `allocation` on; -1: none */
    int64_t allocation;
} reading;

static tess_status multiply(reading *d, int rank, tess_device *device, tess_part *part)
{
    tess_plan *plan;
    tess_part_get_info(part, sizeof d->info[rank], &d->info[rank]);
    const size_t scalar = tess_type_size(d->info[rank].type);
    const size_t at = (size_t)d->info[rank].first_row * scalar;
    tess_status status = tess_plan_create_part(part, device, NULL, &plan);
    if (status == TESS_OK) {
        status = tess_spmv(plan, 1, (const char *)d->x + at, 0, (char *)d->y + at);
        tess_plan_destroy(plan);
    }
    return status;
}

static void one_part(int rank, void *user)
{
    reading *d = user;
    counted memory;
    const tess_comm comm = test_team_comm(d->team, rank);
    tess_ctx *ctx = counted_ctx(&memory);
    tess_device *device;
    tess_part *part;
    if (tess_device_open(ctx, "cpu:1", &device) != TESS_OK)
        abort();
    if (rank == d->fails_at)
        memory.fails_in = d->allocation;
    d->status[rank] = d->path[rank] ? tess_part_read(ctx, &comm, d->path[rank], &part)
                                    : tess_part_deal(ctx, &comm, rank == 0 ? d->A : NULL, &part);
    if (d->status[rank] == TESS_OK) {
        d->status[rank] = multiply(d, rank, device, part);
        tess_part_destroy(part);
    }
    memory.fails_in = -1;
    snprintf(d->error[rank], sizeof d->error[rank], "%s", tess_ctx_error(ctx));
    tess_device_close(device);
    counted_end(ctx, &memory, rank);
}

static tess_status run(reading *d, int size)
{
    d->team = test_team_create(size);
    test_team_run(d->team, one_part, d);
    test_team_destroy(d->team);
    for (int r = 1; r < size; r++)
        assert_int_equal(d->status[r], d->status[0]);
    return d->status[0];
}

/* A file's name in the current directory, which is the build's. */
static const char *write_file(tess_ctx *ctx, const tess_matrix *A, char *path)
{
    snprintf(path, 64, "dist_read_%ld.tess", (long)getpid());
    assert_int_equal(tess_matrix_write(ctx, A, path), TESS_OK);
    return path;
}

static reading all_read(const char *path, const void *x, void *y)
{
    reading d = {.x = x, .y = y, .fails_at = -1};
    for (int r = 0; r < MOST; r++)
        d.path[r] = path;
    return d;
}

static void ranges_are_what_is_dealt_out(void **state)
{
    static const test_pattern patterns[] = {TEST_BANDED, TEST_RANDOM,   TEST_DENSE_ROW, TEST_RAGGED,
                                            TEST_SKEWED, TEST_DIAGONAL, TEST_EMPTY};
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < test_draws(36); seed++) {
        const int32_t b = 1 + (int32_t)tess_random_below(seed, 0, 5);
        tess_matrix *A = test_matrix(ctx, patterns[seed % 7], 1 + tess_random_below(seed, 1, 50), b,
                                     b, seed % 3 == 0 ? TESS_F32 : TESS_F64, seed);
        const int size = 1 + (int)(seed % MOST);
        char path[64], what[64];
        if (A->rows == A->cols) {
            void *x = test_vector(A->rows, A->type, seed);
            void *y = test_vector(A->rows, A->type, 1), *z = test_vector(A->rows, A->type, 2);
            reading read = all_read(write_file(ctx, A, path), x, y);
            reading dealt = {.A = A, .x = x, .y = z, .fails_at = -1};
            snprintf(what, sizeof what, "seed %llu, %d parts", (unsigned long long)seed, size);
            if (run(&read, size) != TESS_OK)
                fail_msg("%s: %s", what, read.error[0]);
            assert_int_equal(run(&dealt, size), TESS_OK);
            test_check_spmv(what, A, 1, x, 0, NULL, y);
            assert_memory_equal(y, z, (size_t)A->rows * tess_type_size(A->type));
            for (int r = 0; r < size; r++) { /* all members up to and including `neighbours` */
                assert_memory_equal(&read.info[r], &dealt.info[r],
                                    offsetof(tess_part_info, neighbours));
                assert_int_equal(read.info[r].neighbours, dealt.info[r].neighbours);
            }
            unlink(path);
            free(x), free(y), free(z);
        }
        tess_matrix_destroy(A);
    }
}

/* Turns one bit of the file. */
static void damage(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_true(fputc(byte ^ 1, file) != EOF);
    fclose(file);
}

/* 6 MB of values: several pieces per part, and pieces that two parts share. */
static void any_damage_fails_all(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    char path[64];
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=22,b=3", &A, NULL), TESS_OK);
    void *x = test_vector(A->rows, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    write_file(ctx, A, path);
    reading good = all_read(path, x, y);
    assert_int_equal(run(&good, 4), TESS_OK);
    test_check_spmv("a file of several pieces", A, 1, x, 0, NULL, y);
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    const long bytes = ftell(file), values = bytes - (long)A->blocks * 72;
    fclose(file);
    for (uint64_t seed = 0; seed < test_draws(12); seed++) {
        const long at = values + (long)tess_random_below(seed, 0, bytes - values);
        damage(path, at);
        reading bad = all_read(path, x, y);
        assert_int_equal(run(&bad, 1 + (int)(seed % MOST)), TESS_ERR_FORMAT);
        assert_non_null(strstr(bad.error[0], "the checksum of its values is wrong"));
        damage(path, at); /* mended */
    }
    damage(path, 300); /* a row offset: an error, and no read out of bounds */
    reading bad = all_read(path, x, y);
    assert_int_equal(run(&bad, 4), TESS_ERR_FORMAT);
    damage(path, 300);
    damage(path, 40); /* the header */
    bad = all_read(path, x, y);
    assert_int_equal(run(&bad, 3), TESS_ERR_FORMAT);
    damage(path, 40);
    assert_int_equal(truncate(path, bytes - 5), 0);
    bad = all_read(path, x, y);
    assert_int_equal(run(&bad, 3), TESS_ERR_FORMAT);
    unlink(path);
    free(x), free(y);
    tess_matrix_destroy(A);
}

static void a_file_missing_on_one_part_fails_all(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 30, 2, 2, TESS_F64, 1), *wide;
    void *x = test_vector(A->rows, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    char path[64];
    reading d = all_read(write_file(ctx, A, path), x, y);
    d.path[1] = "nowhere.tess";
    assert_int_equal(run(&d, 3), TESS_ERR_IO);
    for (int r = 0; r < 3; r++)
        assert_non_null(strstr(d.error[r], "part 1 of 3: nowhere.tess: No such file"));
    int64_t failures = 0;
    int part = 0;
    for (;; part = (part + 1) % 3, failures = test_next_failure(failures)) {
        reading f = all_read(path, x, y);
        f.fails_at = part;
        f.allocation = failures;
        const tess_status status = run(&f, 3);
        if (status == TESS_OK)
            break;
        assert_int_equal(status, TESS_ERR_MEMORY);
    }
    assert_true(failures > 20);
    wide = test_matrix(ctx, TEST_WIDE, 10, 2, 2, TESS_F64, 1);
    write_file(ctx, wide, path);
    assert_int_equal(run(&d, 1), TESS_ERR_UNSUPPORTED);
    unlink(path);
    free(x), free(y);
    tess_matrix_destroy(A);
    tess_matrix_destroy(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_what_is_dealt_out),
        cmocka_unit_test(any_damage_fails_all),
        cmocka_unit_test(a_file_missing_on_one_part_fails_all),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
