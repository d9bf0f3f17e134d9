/* The modes of the finest level: vectors that A maps to almost 0. */
#include "solve/pc/amg/amg.h"

enum { CHUNKS = 64 };

/* The modes that are made. A range is one of block rows (nodes). */
typedef struct making {
    const double *from; /* the caller's modes, or coordinates */
    double *modes;
    int64_t rows, nodes, length;
    int32_t block, count; /* scalars a block row; modes */
    double centre[3];
    double part[CHUNKS][3];
} making;

/* Sets all modes to 0 on some block rows. */
static void clear(const making *m, tess_range nodes)
{
    for (int32_t j = 0; j < m->count; j++)
        memset(m->modes + j * m->length + nodes.first * m->block, 0,
               (size_t)((nodes.last - nodes.first) * m->block) * sizeof *m->modes);
}

/* One constant a component: mode c is 1 in component c of every block row. */
static void constants(void *arg, tess_range nodes)
{
    const making *m = arg;
    clear(m, nodes);
    for (int32_t c = 0; c < m->block; c++)
        for (int64_t i = nodes.first; i < nodes.last; i++)
            m->modes[c * m->length + i * m->block + c] = 1;
}

static void copies(void *arg, tess_range nodes)
{
    const making *m = arg;
    clear(m, nodes);
    const int64_t first = nodes.first * m->block, last = tess_min(nodes.last * m->block, m->rows);
    for (int32_t j = 0; first < last && j < m->count; j++)
        memcpy(m->modes + j * m->length + first, m->from + j * m->rows + first,
               (size_t)(last - first) * sizeof *m->modes);
}

static void add_chunks(void *arg, tess_range chunks)
{
    making *m = arg;
    const int32_t d = m->block;
    for (int64_t chunk = chunks.first; chunk < chunks.last; chunk++)
        for (int64_t i = m->nodes * chunk / CHUNKS; i < m->nodes * (chunk + 1) / CHUNKS; i++)
            for (int32_t c = 0; c < d; c++)
                m->part[chunk][c] += m->from[i * d + c];
}

/* Finds the centre of the coordinates: rotations about it are nearly orthogonal to translations.
 * The number of chunks that are summed apart does not depend on threads. */
static void find_centre(tess_ctx *ctx, making *m)
{
    tess_for(ctx, CHUNKS, add_chunks, m);
    for (int32_t c = 0; c < m->block; c++) {
        for (int chunk = 0; chunk < CHUNKS; chunk++)
            m->centre[c] += m->part[chunk][c];
        m->centre[c] /= (double)tess_max(m->nodes, 1);
    }
}

/* Translations, and rotations in the planes (0,1), (0,2), (1,2): column d + plane. */
static void rigid_motions(void *arg, tess_range nodes)
{
    static const int plane[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    const making *m = arg;
    const int32_t d = m->block;
    const double *coordinates = m->from, *centre = m->centre;
    constants(arg, nodes);
    for (int32_t r = 0; r < d * (d - 1) / 2; r++) {
        const int p = plane[r][0], q = plane[r][1];
        double *rotation = m->modes + (d + r) * m->length;
        for (int64_t i = nodes.first; i < nodes.last; i++) {
            rotation[i * d + p] = -(coordinates[i * d + q] - centre[q]);
            rotation[i * d + q] = coordinates[i * d + p] - centre[p];
        }
    }
}

tess_status tess_amg_modes(const tess_pc *pc, const tess_matrix *A, int32_t *count, int64_t *length,
                           double **out)
{
    const tess_amg_options *options = &pc->options.amg;
    const int32_t b = A->block_height;
    const double *coordinates = options->coordinates ? options->coordinates : A->coordinates;
    const int32_t d = options->coordinates ? options->dimensions : A->dimensions;
    /* Coordinates of the matrix are used where their dimensions are those of a block. Those that
     * the caller set were checked before. */
    const bool rigid = !options->modes && coordinates && d == b && d >= 2 && d <= 3;
    int32_t k = options->modes ? options->mode_count : rigid ? d * (d + 1) / 2 : b;
    if (k > TESS_AMG_MODES)
        return tess_fail(pc->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=amg: %d modes are more than %d: blocks of %d need --modes, fewer of "
                         "them, or --pc bjacobi",
                         (int)k, TESS_AMG_MODES, (int)b);
    making m = {.from = options->modes ? options->modes : coordinates,
                .rows = A->rows,
                .nodes = A->block_rows,
                .length = A->block_rows * b,
                .block = b,
                .count = k};
    TESS_TRY(TESS_ALLOC(pc->ctx, m.length * k, &m.modes));
    if (rigid)
        find_centre(pc->ctx, &m);
    tess_for(pc->ctx, m.nodes, options->modes ? copies : rigid ? rigid_motions : constants, &m);
    *length = m.length;
    *count = k;
    *out = m.modes;
    return TESS_OK;
}
