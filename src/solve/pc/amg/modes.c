/* The modes of the finest level: vectors that A maps to almost 0. */
#include "solve/pc/amg/amg.h"

/* Scalar rows of component c of every block: one constant a component. */
static void constants(int64_t length, int32_t b, double *modes)
{
    for (int32_t c = 0; c < b; c++)
        for (int64_t i = 0; i < length; i++)
            modes[c * length + i] = i % b == c;
}

/* The centre of the coordinates: rotations about it are nearly orthogonal to translations. */
static void find_centre(const double *coordinates, int32_t d, int64_t nodes, double centre[3])
{
    for (int32_t c = 0; c < d; c++) {
        centre[c] = 0;
        for (int64_t i = 0; i < nodes; i++)
            centre[c] += coordinates[i * d + c] / (double)nodes;
    }
}

/* Translations, and rotations in the planes (0,1), (0,2), (1,2): column d + plane. */
static void rigid_motions(const double *coordinates, int32_t d, int64_t nodes, int64_t length,
                          double *modes)
{
    static const int plane[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    double centre[3];
    find_centre(coordinates, d, nodes, centre);
    for (int32_t c = 0; c < d; c++)
        for (int64_t i = 0; i < nodes; i++)
            modes[c * length + i * d + c] = 1;
    for (int32_t m = 0; m < d * (d - 1) / 2; m++) {
        const int p = plane[m][0], q = plane[m][1];
        double *rotation = modes + (d + m) * length;
        for (int64_t i = 0; i < nodes; i++) {
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
    /* Coordinates the matrix came with serve where they fit; those the caller set must. */
    const bool rigid = !options->modes && coordinates && d == b && d >= 2 && d <= 3;
    int32_t k = options->modes ? options->mode_count : rigid ? d * (d + 1) / 2 : b;
    double *modes;
    if (k > TESS_AMG_MODES)
        return tess_fail(pc->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=amg: %d modes are more than %d: blocks of %d need --modes, fewer of "
                         "them, or --pc bjacobi",
                         (int)k, TESS_AMG_MODES, (int)b);
    *length = A->block_rows * b;
    TESS_TRY(TESS_CALLOC(pc->ctx, *length * k, &modes));
    if (options->modes) {
        for (int32_t j = 0; j < k; j++)
            for (int64_t i = 0; i < A->rows; i++)
                modes[j * *length + i] = options->modes[j * A->rows + i];
    } else if (rigid) {
        rigid_motions(coordinates, d, A->block_rows, *length, modes);
    } else {
        constants(*length, b, modes);
    }
    *count = k;
    *out = modes;
    return TESS_OK;
}
