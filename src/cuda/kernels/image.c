/* Images: the storage formats as lists of arrays for the device. */
#include <stdio.h>
#include <string.h>

#include "cuda/kernels/support.h"
#include "format/balanced.h"
#include "format/interleaved.h"
#include "format/sliced.h"
#include "format/swept.h"

static void add_array(tess_cuda_image *image, const void *host, int64_t count, size_t size)
{
    image->arrays[image->count++] = (tess_cuda_array){host, (size_t)count * size};
}

/* ---- bsr: A's own arrays ---- */

static void keep_nothing(tess_cuda_image *image)
{
    (void)image;
}

static void point_at_values(tess_cuda_image *image, const void *values)
{
    image->arrays[BSR_VALUES].host = values;
}

static tess_status create_bsr(tess_ctx *ctx, const tess_matrix *A, const char *text,
                              tess_cuda_image *image)
{
    TESS_TRY(tess_options_parse(ctx, "bsr", text, NULL, 0));
    add_array(image, A->row_offsets, A->block_rows + 1, sizeof *A->row_offsets);
    add_array(image, A->columns, A->blocks, sizeof *A->columns);
    add_array(image, A->values, tess_matrix_stored(A), tess_type_size(A->type));
    image->values = BSR_VALUES;
    image->in_order = true;
    image->destroy = keep_nothing;
    image->refresh = point_at_values;
    return TESS_OK;
}

/* ---- stream: bsr and where the tiles' rows begin ---- */

static void destroy_stream(tess_cuda_image *image)
{
    tess_free(image->ctx, image->format);
}

static tess_status create_stream(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                 tess_cuda_image *image)
{
    int64_t tile = 64;
    const tess_option table[] = {{"tile", TESS_OPTION_INT, &tile, 1, 1 << 20, NULL, 0}};
    TESS_TRY(tess_options_parse(ctx, "stream", text, table, 1));
    if (A->block_rows > INT32_MAX - 1)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "stream: %lld block rows do not fit 31 bits",
                         (long long)A->block_rows);
    int64_t tiles = A->blocks > 0 ? tess_ceil_div(A->blocks, tile) : 1;
    int32_t *rows;
    TESS_TRY(TESS_ALLOC(ctx, tiles + 1, &rows));
    int64_t row = 0;
    for (int64_t t = 0; t < tiles; t++) {
        while (row < A->block_rows && A->row_offsets[row] < t * tile)
            row++;
        rows[t] = (int32_t)row;
    }
    rows[tiles] = (int32_t)A->block_rows;
    tess_status status = create_bsr(ctx, A, "", image);
    if (status != TESS_OK) {
        tess_free(ctx, rows);
        return status;
    }
    add_array(image, rows, tiles + 1, sizeof *rows);
    image->counts[STREAM_TILES] = tiles;
    image->workspace = 2 * STREAM_SHARES_MAX * (size_t)A->block_height * tess_type_size(A->type);
    image->format = rows;
    image->destroy = destroy_stream;
    return TESS_OK;
}

/* ---- balanced: bsr with segments for rows ---- */

static void destroy_balanced(tess_cuda_image *image)
{
    tess_balanced_destroy(image->format);
}

static tess_status create_balanced(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                   tess_cuda_image *image)
{
    int64_t lambda = 32;
    const tess_option table[] = {{"lambda", TESS_OPTION_INT, &lambda, 1, 1 << 30, NULL, 0}};
    TESS_TRY(tess_options_parse(ctx, "balanced", text, table, 1));
    tess_balanced *B;
    TESS_TRY(tess_balanced_create(ctx, A, (int32_t)lambda, &B));
    add_array(image, B->segment_offsets, B->segments + 1, sizeof *B->segment_offsets);
    add_array(image, A->columns, A->blocks, sizeof *A->columns);
    add_array(image, A->values, tess_matrix_stored(A), tess_type_size(A->type));
    add_array(image, B->segment_ptr, A->block_rows + 1, sizeof *B->segment_ptr);
    add_array(image, B->long_rows, B->long_count, sizeof *B->long_rows);
    image->values = BSR_VALUES;
    image->in_order = true;
    image->counts[BALANCED_SEGMENTS] = B->segments;
    image->counts[BALANCED_LONG_COUNT] = B->long_count;
    image->workspace = (size_t)B->segments * (size_t)A->block_height * tess_type_size(A->type);
    image->format = B;
    image->destroy = destroy_balanced;
    image->refresh = point_at_values;
    return TESS_OK;
}

void tess_cuda_launch_balanced_sum(const tess_cuda_problem *problem, const tess_cuda_image *image,
                                   const tess_cuda_call *call, tess_cuda_launch *out)
{
    int64_t long_count = image->counts[BALANCED_LONG_COUNT];
    int64_t grid = long_count + tess_ceil_div(problem->rows, 128);
    tess_cuda_launch *run = tess_cuda_launch_start(out, "balanced_sum", grid, 128);
    tess_cuda_arg_pointer(run, call->arrays[BALANCED_SEGMENT_PTR]);
    tess_cuda_arg_pointer(run, call->arrays[BALANCED_LONG_ROWS]);
    tess_cuda_arg_integer(run, long_count);
    tess_cuda_arg_pointer(run, call->workspace);
    tess_cuda_arg_pointer(run, call->y);
    tess_cuda_arg_integer(run, problem->rows);
    tess_cuda_arg_number(run, call->alpha);
    tess_cuda_arg_number(run, call->beta);
}

/* ---- sliced ---- */

static void destroy_sliced(tess_cuda_image *image)
{
    tess_sliced_destroy(image->format);
}

static void refresh_sliced(tess_cuda_image *image, const void *values)
{
    tess_sliced_refresh(image->format, values);
}

static tess_status create_sliced(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                 tess_cuda_image *image)
{
    int64_t C = 32, sigma = 1, lambda = 0, V = 1, panels = 1;
    const tess_option table[] = {
        {"C", TESS_OPTION_INT, &C, 1, 1024, NULL, 0},
        {"sigma", TESS_OPTION_INT, &sigma, 0, 1 << 30, NULL, 0},
        {"lambda", TESS_OPTION_INT, &lambda, 0, 1 << 30, NULL, 0},
        {"V", TESS_OPTION_INT, &V, 1, 4, NULL, 0},
        {"panels", TESS_OPTION_INT, &panels, 1, TESS_SLICED_PANELS, NULL, 0},
    };
    TESS_TRY(tess_options_parse(ctx, "sliced", text, table, sizeof table / sizeof *table));
    tess_sliced_options options = {(int32_t)C, (int32_t)sigma, (int32_t)lambda, (int32_t)V,
                                   (int32_t)panels};
    tess_sliced *S;
    TESS_TRY(tess_sliced_create(ctx, A, &options, &S));
    int64_t places = S->slices * C;
    add_array(image, S->offsets, S->slices + 1, sizeof *S->offsets);
    add_array(image, S->lengths, places, sizeof *S->lengths);
    add_array(image, S->targets, S->targets ? places : 0, sizeof *S->targets);
    add_array(image, S->columns, S->offsets[S->slices] * S->group * C, sizeof *S->columns);
    add_array(image, S->values, tess_sliced_stored(S), tess_type_size(S->type));
    add_array(image, S->cut_row, S->cut_rows, sizeof *S->cut_row);
    add_array(image, S->cut_slots, S->cut_rows + 1, sizeof *S->cut_slots);
    image->values = SLICED_VALUES;
    int64_t slots = tess_ceil_div(
        (int64_t)S->cut_slots[S->cut_rows] * S->block_height * (int64_t)tess_type_size(S->type), 8);
    image->counts[SLICED_DOT_AT] = 8 * slots;
    const tess_sliced_panel *last = &S->panel[S->options.panels - 1];
    image->workspace = 8 * (size_t)(slots + tess_ceil_div(last->slices * C * S->block_height, 32) +
                                    last->cut_rows * (1 + S->block_height / 128) + 2);
    image->format = S;
    image->destroy = destroy_sliced;
    image->refresh = refresh_sliced;
    return TESS_OK;
}

/* ---- swept ---- */

static void destroy_swept(tess_cuda_image *image)
{
    tess_swept_destroy(image->format);
}

static void refresh_swept(tess_cuda_image *image, const void *values)
{
    tess_swept_refresh(image->format, values);
}

static tess_status create_swept(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                tess_cuda_image *image)
{
    int64_t chunks = 1, lines = 512, lambda = 16;
    const tess_option table[] = {
        {"chunks", TESS_OPTION_INT, &chunks, 1, INT32_MAX, NULL, 0},
        {"lines", TESS_OPTION_INT, &lines, 1, TESS_SWEPT_NONE, NULL, 0},
        {"lambda", TESS_OPTION_INT, &lambda, 1, 1 << 30, NULL, 0},
    };
    TESS_TRY(tess_options_parse(ctx, "swept", text, table, sizeof table / sizeof *table));
    tess_swept_options options = {chunks, (int32_t)lines, (int32_t)lambda};
    tess_swept *S;
    TESS_TRY(tess_swept_create(ctx, A, &options, &S));
    int64_t steps = tess_swept_steps(S);
    add_array(image, S->chunk_line, S->chunks + 1, sizeof *S->chunk_line);
    add_array(image, S->first_step, S->chunks * S->panels + 1, sizeof *S->first_step);
    add_array(image, S->words, steps * TESS_SWEPT_LANES, sizeof *S->words);
    add_array(image, S->values, tess_swept_stored(S), tess_type_size(S->type));
    add_array(image, S->cut_row, S->cut_rows, sizeof *S->cut_row);
    add_array(image, S->cut_slots, S->cut_rows + 1, sizeof *S->cut_slots);
    image->values = SWEPT_VALUES;
    image->workspace =
        (size_t)S->cut_slots[S->cut_rows] * (size_t)S->block_height * tess_type_size(S->type);
    image->format = S;
    image->destroy = destroy_swept;
    image->refresh = refresh_swept;
    return TESS_OK;
}

/* ---- interleaved ---- */

static void destroy_interleaved(tess_cuda_image *image)
{
    tess_interleaved_destroy(image->format);
}

static void refresh_interleaved(tess_cuda_image *image, const void *values)
{
    tess_interleaved_refresh(image->format, values);
}

static tess_status create_interleaved(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                      tess_cuda_image *image)
{
    int64_t Bx = 1, By = 1, sort = 1;
    const tess_option table[] = {
        {"Bx", TESS_OPTION_INT, &Bx, 1, 1024, NULL, 0},
        {"By", TESS_OPTION_INT, &By, 1, 1024, NULL, 0},
        {"sort", TESS_OPTION_INT, &sort, 0, 1, NULL, 0},
    };
    TESS_TRY(tess_options_parse(ctx, "interleaved", text, table, sizeof table / sizeof *table));
    tess_interleaved_options options = {(int32_t)By, (int32_t)Bx, sort != 0};
    tess_interleaved *I;
    TESS_TRY(tess_interleaved_create(ctx, A, &options, &I));
    int64_t blocks = tess_interleaved_stored(I);
    add_array(image, I->offsets, I->groups + 1, sizeof *I->offsets);
    add_array(image, I->targets, I->groups * By, sizeof *I->targets);
    add_array(image, I->columns, blocks, sizeof *I->columns);
    add_array(image, I->values, blocks * A->block_height * A->block_width, tess_type_size(A->type));
    image->values = INTERLEAVED_VALUES;
    image->counts[INTERLEAVED_GROUPS] = I->groups;
    image->format = I;
    image->destroy = destroy_interleaved;
    image->refresh = refresh_interleaved;
    return TESS_OK;
}

/* ---- all ---- */

tess_status tess_cuda_image_create(tess_ctx *ctx, const tess_matrix *A, const char *layout,
                                   tess_cuda_image **out)
{
    static const struct {
        const char *name;
        tess_status (*create)(tess_ctx *, const tess_matrix *, const char *, tess_cuda_image *);
    } known[] = {{"bsr", create_bsr},
                 {"balanced", create_balanced},
                 {"stream", create_stream},
                 {"sliced", create_sliced},
                 {"swept", create_swept},
                 {"interleaved", create_interleaved},
                 {"fbcsr", tess_cuda_image_fbcsr}};
    size_t name = strcspn(layout, ":");
    const char *options = layout[name] ? layout + name + 1 : "";
    tess_cuda_image *image;
    TESS_TRY(TESS_ALLOC(ctx, 1, &image));
    *image = (tess_cuda_image){.ctx = ctx};
    snprintf(image->layout, sizeof image->layout, "%s", layout);
    tess_status status = TESS_ERR_ARGUMENT;
    size_t i = 0, count = sizeof known / sizeof *known;
    while (i < count && (strlen(known[i].name) != name || strncmp(known[i].name, layout, name)))
        i++;
    if (i < count)
        status = known[i].create(ctx, A, options, image);
    else
        tess_fail(ctx, status, "unknown layout '%s'", layout);
    if (status != TESS_OK) {
        tess_free(ctx, image);
        return status;
    }
    *out = image;
    return TESS_OK;
}

void tess_cuda_image_refresh(tess_cuda_image *image, const void *values)
{
    image->refresh(image, values);
}

void tess_cuda_image_destroy(tess_cuda_image *image)
{
    if (!image)
        return;
    image->destroy(image);
    tess_free(image->ctx, image);
}
