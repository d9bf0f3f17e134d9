/* Generators by name: "stencil27:n=48,b=3", and the functions they share (generate.h). */
#include "matrix/generate/generate.h"

static const struct {
    const char *name;
    tess_generator *generate;
    bool takes_input; /* "NAME:keys:INPUT": made from another matrix */
} generators[] = {
    {"stencil7", tess_generate_stencil7, false},
    {"stencil27", tess_generate_stencil27, false},
    {"elasticity", tess_generate_elasticity, false},
    {"diffusion", tess_generate_diffusion, false},
    {"cdr", tess_generate_cdr, false},
    {"powerlaw", tess_generate_powerlaw, false},
    {"random", tess_generate_random, false},
    {"trefethen", tess_generate_trefethen, false},
    {"promote", tess_generate_promote, .takes_input = true},
    {"tile", tess_generate_tile, .takes_input = true},
    {"planted", tess_generate_planted, false},
};
enum { GENERATORS = sizeof generators / sizeof generators[0] };

static tess_status unknown_generator(tess_ctx *ctx, const char *name)
{
    const char *names[GENERATORS];
    for (size_t i = 0; i < GENERATORS; i++)
        names[i] = generators[i].name;
    return tess_fail(ctx, TESS_ERR_OPTION, "unknown generator '%s' (%s)", name,
                     tess_suggest(&(tess_suggestion){""}, name, names, GENERATORS));
}

/* What follows "gen:", which may begin a generator's specification. */
static const char *behind_gen(const char *spec)
{
    return strncmp(spec, "gen:", 4) == 0 ? spec + 4 : spec;
}

tess_status tess_matrix_generate(tess_ctx *ctx, const char *spec, tess_matrix **A, void **rhs)
{
    TESS_NEED(ctx, ctx && spec && A);
    spec = behind_gen(spec);
    char name[32], what[40];
    size_t length = strcspn(spec, ":");
    if (length >= sizeof name)
        return tess_fail(ctx, TESS_ERR_OPTION, "a generator's name of %zu bytes is too long",
                         length);
    memcpy(name, spec, length);
    name[length] = '\0';
    strcat(strcpy(what, "gen:"), name);
    const char *keys = spec + length + (spec[length] == ':');
    for (size_t i = 0; i < GENERATORS; i++)
        if (strcmp(name, generators[i].name) == 0)
            return generators[i].generate(ctx, what, keys, A, rhs);
    return unknown_generator(ctx, name);
}

tess_status tess_matrix_input(tess_ctx *ctx, const char *input, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && input && out);
    if (behind_gen(input) != input || tess_generator_taking_input(input))
        return tess_matrix_generate(ctx, input, out, NULL);
    return tess_matrix_read(ctx, input, out);
}

tess_generator *tess_generator_taking_input(const char *input)
{
    const char *name = behind_gen(input);
    const size_t length = strcspn(name, ":");
    for (size_t i = 0; i < GENERATORS && name[length] == ':'; i++)
        if (generators[i].takes_input && strlen(generators[i].name) == length &&
            memcmp(name, generators[i].name, length) == 0)
            return generators[i].generate;
    return NULL;
}

tess_status tess_generate_split_input(tess_ctx *ctx, const char *what, const char *example,
                                      const char *text, char *keys, size_t size, const char **input)
{
    size_t length = strcspn(text, ":");
    bool has_keys = memchr(text, '=', length) != NULL;
    if (has_keys && length >= size)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: keys of %zu bytes are too long", what, length);
    memcpy(keys, text, has_keys ? length : 0);
    keys[has_keys ? length : 0] = '\0';
    *input = has_keys ? text + length + (text[length] == ':') : text;
    if (!**input)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: needs an input: %s", what, example);
    return TESS_OK;
}

tess_row_rule
tess_rule(int type, int64_t block_rows, int64_t block_cols, int64_t height, int64_t width,
          const void *problem, int64_t (*count)(const void *problem, int64_t row),
          void (*fill)(const void *problem, int64_t row, int32_t *columns, double *values))
{
    return (tess_row_rule){(tess_type)type, block_rows, block_cols, (int32_t)height,
                           (int32_t)width,  problem,    count,      fill};
}

struct fill_range {
    tess_matrix *A;
    const tess_row_rule *rule;
    int64_t size;
    double *scratch;
    int64_t longest;
};

/* A random number of modulus 1 for the pair {i, j}: that of (j, i) is the conjugate, that of (i, i)
 * is 1. For t in (-1, 1) the point ((1 - t^2) / (1 + t^2), 2 t / (1 + t^2)) lies on one half of the
 * unit circle; a random bit chooses the half. */
static tess_complex phase(int64_t order, int64_t i, int64_t j)
{
    enum { SEED = 77 };
    if (i == j)
        return (tess_complex){1, 0};
    const uint64_t pair = (uint64_t)tess_min(i, j) * (uint64_t)order + (uint64_t)tess_max(i, j);
    const double t = tess_random_unit(SEED, pair), scale = 1 / (1 + t * t);
    const double sign = tess_random_u64(SEED + 1, pair) & 1 ? -1 : 1;
    return (tess_complex){sign * (1 - t * t) * scale, (i < j ? sign : -sign) * 2 * t * scale};
}

/* Stores the scalars of a block row, rounded to the type and, if it is complex, times their
 * phases. */
static void round_row(tess_matrix *A, int64_t row, const double *values)
{
    const int64_t r = A->block_height, c = A->block_width, order = tess_max(A->rows, A->cols);
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        for (int64_t at = 0; at < r * c; at++) {
            const double value = *values++;
            tess_complex factor = {1, 0};
            if (tess_is_complex(A->type))
                factor = phase(order, row * r + at % r, A->columns[k] * c + at / r);
            tess_put_complex(A->values, A->type, k * r * c + at,
                             (tess_complex){value * factor.re, value * factor.im});
        }
    }
}

/* f64 rows are written in place. Rows of other types pass through `scratch`, one row per thread. */
static void fill_range(void *arg, tess_range range)
{
    const struct fill_range *job = arg;
    tess_matrix *A = job->A;
    const tess_row_rule *rule = job->rule;
    const int64_t size = job->size;
    for (int64_t row = range.first; row < range.last; row++) {
        const int64_t first = A->row_offsets[row];
        if (A->type == TESS_F64) {
            rule->fill(rule->problem, row, A->columns + first, (double *)A->values + first * size);
            continue;
        }
        double *mine = job->scratch + range.share * job->longest * size;
        rule->fill(rule->problem, row, A->columns + first, mine);
        round_row(A, row, mine);
    }
}

static void count_row(void *counts, const void *rule_of, int64_t row)
{
    const tess_row_rule *rule = rule_of;
    ((int64_t *)counts)[row] = rule->count(rule->problem, row);
}

static tess_status generate_rows(tess_ctx *ctx, const tess_row_rule *rule, tess_matrix **out)
{
    int64_t rows, cols, size = (int64_t)rule->block_height * rule->block_width;
    if (!tess_mul(rule->block_rows, rule->block_height, &rows) ||
        !tess_mul(rule->block_cols, rule->block_width, &cols))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "%lld x %lld blocks of %d x %d overflow",
                         (long long)rule->block_rows, (long long)rule->block_cols,
                         (int)rule->block_height, (int)rule->block_width);
    tess_matrix *A = NULL;
    double *scratch = NULL;
    tess_status status;
    TESS_TRY(tess_matrix_head(ctx, rule->type, rows, cols, rule->block_height, rule->block_width, 0,
                              &A));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rule->block_rows + 1, &A->row_offsets));
    A->row_offsets[0] = 0;
    tess_for_each(ctx, rule->block_rows, 0, count_row, A->row_offsets + 1, rule);
    tess_counts_to_offsets(A->row_offsets, rule->block_rows);
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(A, A->row_offsets[rule->block_rows]));
    const int64_t longest = rule->type == TESS_F64 ? 0 : tess_matrix_longest_row(A);
    if (rule->type != TESS_F64)
        TESS_TRY_CLEAN(TESS_ALLOC(ctx, longest * size * ctx->threads, &scratch));
    tess_for(ctx, A->block_rows, fill_range, &(struct fill_range){A, rule, size, scratch, longest});
cleanup:
    tess_free(ctx, scratch);
    return TESS_DELIVER(status, A, tess_matrix_destroy, out);
}

struct evaluate {
    void *array;
    double (*value)(const void *, int64_t); /* NULL: the sum of A's row */
    const void *problem;
    const tess_matrix *A;
};

static tess_complex row_sum(const tess_matrix *A, int64_t i)
{
    int64_t r = A->block_height, c = A->block_width, row = i / r;
    tess_complex sum = {0, 0};
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
        for (int64_t q = 0; q < c; q++)
            sum = tess_complex_sum(sum, tess_matrix_complex_value(A, (k * c + q) * r + i % r));
    return sum;
}

static void evaluate(void *arg, tess_range range)
{
    const struct evaluate *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        tess_put_complex(job->array, job->A->type, i,
                         job->value ? (tess_complex){job->value(job->problem, i), 0}
                                    : row_sum(job->A, i));
}

static tess_status generate_vector(tess_ctx *ctx, const tess_matrix *A,
                                   double (*value)(const void *problem, int64_t i),
                                   const void *problem, void **rhs)
{
    void *array;
    TESS_TRY(tess_alloc_bytes(ctx, A->rows, tess_type_size(A->type), &array));
    tess_for(ctx, A->rows, evaluate, &(struct evaluate){array, value, problem, A});
    *rhs = array;
    return TESS_OK;
}

tess_status tess_generate_with_rhs(tess_ctx *ctx, const tess_row_rule *rule,
                                   double (*value)(const void *problem, int64_t i),
                                   tess_matrix **out, void **rhs)
{
    tess_matrix *A = NULL;
    TESS_TRY(generate_rows(ctx, rule, &A));
    const tess_status status = rhs ? generate_vector(ctx, A, value, rule->problem, rhs) : TESS_OK;
    return TESS_DELIVER(status, A, tess_matrix_destroy, out);
}

tess_status tess_grid_check(tess_ctx *ctx, const char *what, tess_grid *grid, int64_t b)
{
    grid->nx = grid->nx ? grid->nx : grid->n;
    grid->ny = grid->ny ? grid->ny : grid->n;
    grid->nz = grid->nz ? grid->nz : grid->n;
    int64_t points;
    if (!tess_mul(grid->nx, grid->ny, &points) || !tess_mul(points, grid->nz, &points) ||
        points > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_OVERFLOW,
                         "%s: %lld x %lld x %lld points with b=%lld are more than 2^31-1 block "
                         "columns",
                         what, (long long)grid->nx, (long long)grid->ny, (long long)grid->nz,
                         (long long)b);
    return TESS_OK;
}

void tess_generate_dominant(uint64_t seed, int64_t order, int32_t b, int64_t row, int64_t count,
                            int64_t diagonal, const int32_t *columns, double *values)
{
    for (int32_t p = 0; p < b; p++) {
        int64_t i = row * b + p;
        double sum = 0;
        for (int64_t k = 0; k < count; k++) {
            for (int32_t q = 0; q < b; q++) {
                int64_t j = (int64_t)columns[k] * b + q;
                uint64_t low = (uint64_t)tess_min(i, j), high = (uint64_t)tess_max(j, i);
                double u = fabs(tess_random_unit(seed, low * (uint64_t)order + high));
                values[(k * b + q) * b + p] = -u;
                sum += i == j ? 0 : u;
            }
        }
        if (diagonal >= 0)
            values[(diagonal * b + p) * b + p] = sum > 0 ? 1.01 * sum : 1;
    }
}
