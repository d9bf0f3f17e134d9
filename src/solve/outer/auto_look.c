/* What a matrix looks like, and which rungs are tried on it. The rules use sizes, signs and
 * symmetry. */
#include "core/threads.h"
#include "solve/outer/auto.h"
#include "solve/direct/direct.h"

/* SMALL: up to this many rows, complete factors cost less than an attempt that fails. LARGE: from
 * this many rows on, multigrid levels are tried before a long iteration. */
enum { SMALL = 2000, LARGE = 100000 };

/* Iterations of the attempts with CG:
 *     FEW          with block-Jacobi, until it is known to be slow: setting up levels and
 *                  solving with them takes as long as 170 to 600 of these iterations
 *     CYCLES       with levels; one takes as long as ten without
 *     MORE_CYCLES  with levels beyond CYCLES, while that is better than starting again without
 */
enum { FEW = 100, CYCLES = 60, MORE_CYCLES = 400 };

/* Seconds that set-ups take per entry of A:
 *     VECTORS    a vector or two
 *     PATTERN    factors in the pattern of A or near it
 *     THRESHOLD  factors by threshold; measured are 0.8 to 20 microseconds
 */
static const double VECTORS = 0, PATTERN = 1e-6, THRESHOLD = 2e-6;

/* What all threads share while they look at A. */
typedef struct looking {
    const tess_matrix *A;
    bool *used, *zero; /* per column: it has an entry; per row: it has none */
    tess_look_at *all; /* what all threads have seen */
} looking;

static const int64_t NOWHERE = INT64_MAX; /* in place of a row: none */

/* Looks at row `row` of A entry by entry, and marks the columns of entries that are not 0. */
static void look_at_row(const looking *job, int64_t row, tess_look_at *look)
{
    const tess_matrix *A = job->A;
    const int64_t height = A->block_height, width = A->block_width, at = row / height;
    double largest = 0;
    tess_complex diagonal = {0, 0};
    for (int64_t k = A->row_offsets[at]; k < A->row_offsets[at + 1]; k++)
        for (int64_t j = 0; j < width; j++) {
            const int64_t column = A->columns[k] * width + j;
            const tess_complex value =
                tess_matrix_complex_value(A, (k * width + j) * height + row % height);
            const double size = look->complex ? hypot(value.re, value.im) : fabs(value.re);
            if (column >= A->cols || size == 0)
                continue;
            tess_set_flag_once(&job->used[column]);
            look->entries++;
            if (!isfinite(size))
                look->not_finite_row = tess_min(look->not_finite_row, row);
            largest = fmax(largest, size);
            if (column == row)
                diagonal = value;
        }
    const double on_diagonal = hypot(diagonal.re, diagonal.im);
    job->zero[row] = largest == 0;
    look->zero_rows += largest == 0;
    look->positive_diagonal &= diagonal.re > 0 && diagonal.im == 0;
    look->strong_diagonal &= on_diagonal >= 1e-3 * largest && on_diagonal != 0;
}

static void look_at_rows(void *arg, tess_range range)
{
    const looking *job = arg;
    tess_look_at *all = job->all, look = {.complex = all->complex,
                                          .positive_diagonal = true,
                                          .strong_diagonal = true,
                                          .not_finite_row = NOWHERE};
    for (int64_t row = range.first; row < range.last; row++)
        look_at_row(job, row, &look);
    tess_take(&all->entries, look.entries);
    tess_take(&all->zero_rows, look.zero_rows);
    tess_lower(&all->not_finite_row, look.not_finite_row);
    if (!look.positive_diagonal)
        tess_set_flag(&all->positive_diagonal, false);
    if (!look.strong_diagonal)
        tess_set_flag(&all->strong_diagonal, false);
}

/* Returns whether a block is, on average, in a block row of at most twice the mean length. With a
 * few long rows, coarse levels would have more blocks than A. */
static bool has_even_rows(const tess_matrix *A)
{
    double squares = 0;
    for (int64_t row = 0; row < A->block_rows; row++) {
        const double length = (double)(A->row_offsets[row + 1] - A->row_offsets[row]);
        squares += length * length;
    }
    return squares * (double)A->block_rows <= 2 * (double)A->blocks * (double)A->blocks;
}

/* Finds whether a real A is symmetric but for rounding, or a complex A exactly Hermitian. */
static tess_status look_at_mirrors(tess_ctx *ctx, const tess_matrix *A, bool *mirrored)
{
    int hermitian;
    tess_symmetry symmetry;
    if (tess_is_complex(A->type)) {
        TESS_TRY(tess_matrix_hermitian(ctx, A, &hermitian));
        *mirrored = hermitian;
        return TESS_OK;
    }
    TESS_TRY(tess_matrix_symmetry(ctx, A, &symmetry));
    *mirrored = symmetry.asymmetry < 1e-10;
    return TESS_OK;
}

tess_status tess_look_at_matrix(tess_ctx *ctx, const tess_matrix *A, bool *zero, tess_look_at *out)
{
    tess_look_at look = {.rows = A->rows,
                         .complex = tess_is_complex(A->type),
                         .even = has_even_rows(A),
                         .positive_diagonal = true,
                         .strong_diagonal = true,
                         .not_finite_row = NOWHERE};
    bool *used;
    TESS_TRY(look_at_mirrors(ctx, A, &look.symmetric));
    TESS_TRY(TESS_CALLOC(ctx, A->cols, &used));
    tess_for(ctx, A->rows, look_at_rows, &(looking){A, used, zero, &look});
    if (look.not_finite_row == NOWHERE)
        look.not_finite_row = -1;
    for (int64_t column = A->cols; column-- > 0;)
        if (!used[column]) {
            look.zero_columns++;
            look.zero_column = column;
        }
    tess_free(ctx, used);
    *out = look;
    return TESS_OK;
}

void tess_look_for_faults(const tess_look_at *look, const tess_matrix *A, const bool *zero,
                          const void *b, double threshold, tess_system *end)
{
    if (look->not_finite_row >= 0) {
        tess_system_end(end, TESS_REASON_NOT_FINITE,
                        "row %lld of A has an entry that is not finite",
                        (long long)look->not_finite_row);
        return;
    }
    for (int64_t i = 0; look->zero_rows > 0 && look->square && i < A->rows; i++) {
        const tess_complex at = tess_get_complex(b, A->type, i);
        const double size = hypot(at.re, at.im);
        if (zero[i] && size > threshold) {
            tess_system_end(end, TESS_REASON_BREAKDOWN,
                            "row %lld of A is 0, but %s there is %.3g: no x solves this",
                            (long long)i, look->complex ? "|b|" : "b",
                            look->complex ? size : at.re);
            return;
        }
    }
}

const char *tess_look_for_doubts(const tess_look_at *look)
{
    return look->complex
               ? "A may be singular, tol= too small for rounding, or A need the scaling and the "
                 "pivots that real matrices can have: try its real form, of blocks [re -im; im re]"
               : "A may be singular and b out of its reach, or tol= too small for rounding";
}

/* A ladder that grows. */
typedef struct ladder {
    tess_rung *rungs;
    int count;
} ladder;

static void add(ladder *to, tess_rung_for only, double setup, int64_t most, const char *why,
                const char *spec)
{
    tess_rung *rung = &to->rungs[to->count++];
    snprintf(rung->spec, sizeof rung->spec, "%s", spec);
    rung->setup = setup;
    rung->worth = 0;
    rung->most = most;
    rung->why = why;
    rung->only = only;
}

/* Adds a short attempt without levels, then one with levels. A long one without levels follows. */
static void add_levels(ladder *to)
{
    add(to, TESS_FOR_DEFINITE, VECTORS, FEW, "symmetric with a positive diagonal", "cg:pc=bjacobi");
    add(to, TESS_FOR_DEFINITE, VECTORS, CYCLES, "large", "cg:pc=amg");
    to->rungs[to->count - 1].worth = FEW;
}

/* Adds methods with little memory, those that suit the signs and the symmetry of A. */
static void add_plain(const tess_look_at *look, ladder *to)
{
    const int64_t root = (int64_t)sqrt((double)look->rows);
    const bool positive = look->symmetric && look->positive_diagonal;
    const bool large = look->rows >= LARGE && look->even;
    if (positive && large)
        add_levels(to);
    if (positive) {
        add(to, TESS_FOR_DEFINITE, VECTORS, 500 + 2 * root,
            large ? "levels do not help" : "symmetric with a positive diagonal", "cg:pc=bjacobi");
        to->rungs[to->count - 1].worth = MORE_CYCLES;
        add(to, TESS_FOR_DEFINITE, PATTERN, 500 + 2 * root, "a better preconditioner",
            "cg:pc=ick,scale=equilibrate");
    }
    if (look->symmetric)
        add(to, positive ? TESS_FOR_INDEFINITE : TESS_FOR_ANY, VECTORS, 200 + 2 * root,
            "symmetric, not definite", "minres:scale=equilibrate");
    if (!positive && look->strong_diagonal)
        add(to, TESS_FOR_ANY, PATTERN, 100 + root, "a diagonal to start from", "bicgstab:pc=ilu0");
}

/* Adds the rungs for complex matrices, which are neither scaled nor reordered. */
static void add_complex(const tess_look_at *look, ladder *to)
{
    const int64_t root = (int64_t)sqrt((double)look->rows);
    const bool positive = look->symmetric && look->positive_diagonal;
    if (positive)
        add(to, TESS_FOR_DEFINITE, VECTORS, 500 + 2 * root, "Hermitian with a positive diagonal",
            "cg:pc=bjacobi");
    if (positive)
        add(to, TESS_FOR_DEFINITE, PATTERN, 500 + 2 * root, "a better preconditioner", "cg:pc=ick");
    if (look->symmetric)
        add(to, positive ? TESS_FOR_INDEFINITE : TESS_FOR_ANY, VECTORS, 200 + 2 * root,
            "Hermitian, not definite", "minres");
    if (!positive && look->strong_diagonal)
        add(to, TESS_FOR_ANY, PATTERN, 100 + root, "a diagonal to start from", "bicgstab:pc=ilu0");
    add(to, TESS_FOR_ANY, THRESHOLD, 300, "fill-in by size", "gmres:restart=60,pc=ilut");
    add(to, TESS_FOR_ANY, THRESHOLD, 300, "more fill",
        "gmres:restart=60,pc=ilut,drop=1e-6,fill=50");
    add(to, TESS_FOR_ANY, VECTORS, 1000, "no preconditioner", "gmres:restart=200");
}

int tess_make_ladder(const tess_look_at *look, bool factors, double memory, tess_rung *rungs)
{
    static const char arranged[] = "gmres:restart=60,pc=ilut,pivot=0.1,scale=match,order=rcm";
    static const char least[] = "lsqr:scale=equilibrate";
    const bool direct = factors && tess_direct_available(NULL, false) == TESS_OK,
               small = look->rows <= SMALL;
    char spec[TESS_SPEC_MAX];
    ladder to = {.rungs = rungs};
    if (!look->square) {
        add(&to, TESS_FOR_ANY, VECTORS, INT64_MAX / 2, "not square: the least |b - Ax|",
            look->complex ? "lsqr" : least);
        return to.count;
    }
    if (look->complex) {
        add_complex(look, &to);
        add(&to, TESS_FOR_ANY, VECTORS, 10000, "singular, perhaps: the least |b - Ax|", "lsqr");
        return to.count;
    }
    if (direct && small)
        add(&to, TESS_FOR_ANY, PATTERN, 20, "small", "direct");
    add_plain(look, &to);
    add(&to, TESS_FOR_ANY, THRESHOLD, 300, "large entries on the diagonal, columns exchanged",
        arranged);
    if (direct && !small)
        add(&to, TESS_FOR_ANY, PATTERN, 20, "complete factors", "direct");
    snprintf(spec, sizeof spec, "%s,drop=1e-6,fill=50", arranged);
    add(&to, TESS_FOR_ANY, THRESHOLD, 300, "more fill", spec);
    /* An entry takes 12 bytes, and is held three times while the factors are made. */
    const double entries = 1e9 * memory / 36;
    snprintf(spec, sizeof spec, "%s,drop=0,fill=%.4g", arranged,
             fmin(1e6, entries / fmax(1, (double)look->entries)));
    add(&to, TESS_FOR_ANY, THRESHOLD, 300, "all fill that memory allows", spec);
    add(&to, TESS_FOR_ANY, VECTORS, 10000, "singular, perhaps: the least |b - Ax|", least);
    return to.count;
}

int tess_find_rung(const tess_rung *rungs, int count, const char *spec, int at)
{
    if (at < count && strcmp(rungs[at].spec, spec) == 0)
        return at;
    for (at = 0; at < count && strcmp(rungs[at].spec, spec) != 0; at++)
        continue;
    return at;
}
