/* The modes of the finest level: vectors that A maps to almost 0. */
#include "solve/pc/amg/amg.h"

enum { CHUNKS = 64 };

/* The modes that are made. A range is one of block rows (nodes). */
typedef struct making {
    const tess_mode_source *source;
    double *modes;
    int64_t length; /* of a mode, with padding */
} making;

/* Sets all modes to 0 on some block rows. */
static void clear(const making *m, tess_range nodes)
{
    const int32_t b = m->source->block;
    for (int32_t j = 0; j < m->source->count; j++)
        memset(m->modes + j * m->length + nodes.first * b, 0,
               (size_t)((nodes.last - nodes.first) * b) * sizeof *m->modes);
}

/* One constant per component: mode c is 1 in component c of every block row. */
static void constants(void *arg, tess_range nodes)
{
    const making *m = arg;
    const int32_t b = m->source->block;
    clear(m, nodes);
    for (int32_t c = 0; c < b; c++)
        for (int64_t i = nodes.first; i < nodes.last; i++)
            m->modes[c * m->length + i * b + c] = 1;
}

static void copies(void *arg, tess_range nodes)
{
    const making *m = arg;
    const tess_mode_source *s = m->source;
    clear(m, nodes);
    const int64_t first = nodes.first * s->block, last = tess_min(nodes.last * s->block, s->rows);
    for (int32_t j = 0; first < last && j < s->count; j++)
        memcpy(m->modes + j * m->length + first, s->given + j * s->rows + first,
               (size_t)(last - first) * sizeof *m->modes);
}

/* Translations, and rotations in the planes (0,1), (0,2), (1,2): column d + plane. */
static void rigid_motions(void *arg, tess_range nodes)
{
    static const int plane[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    const making *m = arg;
    const int32_t d = m->source->block;
    const double *coordinates = m->source->coordinates, *centre = m->source->centre;
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

tess_status tess_amg_make_modes(tess_ctx *ctx, const tess_mode_source *source, double **out)
{
    making m = {.source = source, .length = source->nodes * source->block};
    TESS_TRY(TESS_ALLOC(ctx, m.length * source->count, &m.modes));
    tess_for(ctx, source->nodes,
             source->given         ? copies
             : source->coordinates ? rigid_motions
                                   : constants,
             &m);
    *out = m.modes;
    return TESS_OK;
}

/* ---- What they are made of ---- */

struct add_chunks {
    const tess_mode_source *source;
    double part[CHUNKS][3];
};

static void add_chunks(void *arg, tess_range chunks)
{
    struct add_chunks *job = arg;
    const tess_mode_source *s = job->source;
    const int32_t d = s->block;
    for (int64_t chunk = chunks.first; chunk < chunks.last; chunk++)
        for (int64_t i = s->nodes * chunk / CHUNKS; i < s->nodes * (chunk + 1) / CHUNKS; i++)
            for (int32_t c = 0; c < d; c++)
                job->part[chunk][c] += s->coordinates[i * d + c];
}

/* Finds the centre of the coordinates: rotations about it are nearly orthogonal to translations.
 * The number of chunks that are summed separately does not depend on threads. */
static void find_centre(tess_ctx *ctx, tess_mode_source *s)
{
    struct add_chunks job = {.source = s};
    tess_for(ctx, CHUNKS, add_chunks, &job);
    for (int32_t c = 0; c < s->block; c++) {
        for (int chunk = 0; chunk < CHUNKS; chunk++)
            s->centre[c] += job.part[chunk][c];
        s->centre[c] /= (double)tess_max(s->nodes, 1);
    }
}

tess_status tess_amg_find_modes(const tess_pc *pc, const tess_matrix *A, tess_mode_source *source)
{
    const tess_amg_options *options = &pc->options.amg;
    const int32_t b = A->block_height;
    const double *coordinates = options->coordinates ? options->coordinates : A->coordinates;
    const int32_t d = options->coordinates ? options->dimensions : A->dimensions;
    /* Coordinates of the matrix are used where their dimensions are those of a block. Those that
     * the caller set were checked before. */
    const bool rigid = !options->modes && coordinates && d == b && d >= 2 && d <= 3;
    const int32_t k = options->modes ? options->mode_count : rigid ? d * (d + 1) / 2 : b;
    if (k > TESS_AMG_MODES)
        return tess_fail(pc->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=amg: %d modes are more than %d: blocks of %d need --modes, fewer of "
                         "them, or --pc bjacobi",
                         (int)k, TESS_AMG_MODES, (int)b);
    *source = (tess_mode_source){.count = k,
                                 .block = b,
                                 .rows = A->rows,
                                 .nodes = A->block_rows,
                                 .given = options->modes,
                                 .coordinates = rigid ? coordinates : NULL};
    if (rigid)
        find_centre(pc->ctx, source);
    return TESS_OK;
}
