/* Spy plots: where the entries are, from the whole matrix down to single blocks.
 *
 * A picture shows a window of the matrix in cells. The fuller a cell is, relative to the fullest
 * one, the darker it is drawn. The next window lies around the fullest cell and is an eighth as
 * large. The last window shows single scalars, with the blocks of the plan's matrix outlined. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

enum {
    CELLS = 96, /* across a picture, at most */
    SIDE = 300, /* of a picture, in points, at most */
    SHADES = 6,
    FEW = 24,  /* scalars across the last picture, at least */
    BLOCKS = 6 /* blocks across the last picture, at least */
};

typedef struct window {
    int64_t row, col, rows, cols;
} window;

/* The cells of a window: how many entries each has. */
typedef struct cell_grid {
    window at;
    int down, across;
    int64_t counts[CELLS][CELLS];
    bool nonzero[CELLS][CELLS]; /* at least one entry is not 0 */
} cell_grid;

/* One cell per scalar where the window is small. Otherwise a picture is at most three times as high
 * as wide, or as wide as high. */
static void shape_cells(cell_grid *grid)
{
    if (grid->at.rows <= CELLS && grid->at.cols <= CELLS) {
        grid->down = (int)grid->at.rows;
        grid->across = (int)grid->at.cols;
        return;
    }
    const double aspect = fmin(fmax((double)grid->at.rows / (double)grid->at.cols, 1 / 3.0), 3);
    const int down = aspect >= 1 ? CELLS : (int)(CELLS * aspect);
    const int across = aspect >= 1 ? (int)(CELLS / aspect) : CELLS;
    grid->down = (int)lesser(grid->at.rows, down);
    grid->across = (int)lesser(grid->at.cols, across);
}

/* The first entry of a row at or right of a column. */
static int64_t first_from(const tess_matrix_view *A, int64_t row, int64_t col)
{
    int64_t low = A->row_offsets[row], high = A->row_offsets[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (A->columns[middle] < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void count_cells(const tess_matrix_view *A, cell_grid *grid)
{
    const window *w = &grid->at;
    memset(grid->counts, 0, sizeof grid->counts);
    memset(grid->nonzero, 0, sizeof grid->nonzero);
    for (int64_t i = w->row; i < w->row + w->rows; i++) {
        const int64_t y = (i - w->row) * grid->down / w->rows;
        for (int64_t k = first_from(A, i, w->col);
             k < A->row_offsets[i + 1] && A->columns[k] < w->col + w->cols; k++) {
            const int64_t x = (A->columns[k] - w->col) * grid->across / w->cols;
            grid->counts[y][x]++;
            const tess_complex value = get_scalar(A->values, A->type, k);
            if (value.re != 0 || value.im != 0)
                grid->nonzero[y][x] = true;
        }
    }
}

static bool shows_scalars(const cell_grid *grid)
{
    return grid->down == grid->at.rows && grid->across == grid->at.cols;
}

/* ---- The next window ---- */

/* Finds the fullest cell; of several the one nearest to the middle. */
static void find_fullest(const cell_grid *grid, int *y, int *x)
{
    int64_t most = -1;
    double distance = 0;
    for (int i = 0; i < grid->down; i++)
        for (int j = 0; j < grid->across; j++) {
            const double away = hypot(i - grid->down / 2.0, j - grid->across / 2.0);
            if (grid->counts[i][j] > most || (grid->counts[i][j] == most && away < distance)) {
                most = grid->counts[i][j];
                distance = away;
                *y = i;
                *x = j;
            }
        }
}

/* The scalars across the last picture, in whole blocks. */
static int64_t last_size(int32_t block)
{
    const int64_t wanted = greater(block * BLOCKS, FEW);
    const int64_t size = lesser(wanted, CELLS);
    return size > block ? size - size % block : size;
}

/* The next window's size: an eighth of `whole`, or `least` if an eighth is less than 4 * least. */
static int64_t shrink(int64_t whole, int64_t least)
{
    const int64_t next = whole / 8 < 4 * least ? least : whole / 8;
    return lesser(next, whole);
}

/* The next window's first row or column: a multiple of the block size, inside the window, such that
 * the block at the middle of `cell` is in the middle. */
static int64_t place(int64_t start, int64_t whole, int cells, int cell, int64_t size, int32_t block)
{
    const int64_t middle = start + (int64_t)((cell + 0.5) * (double)whole / cells);
    const int64_t first = middle / block * block - size / 2 / block * block;
    return clamp(first, start, (start + whole - size + block - 1) / block * block);
}

static window zoom(const cell_grid *grid, const tess_block_candidate *block)
{
    const window *w = &grid->at;
    window next = {.rows = shrink(w->rows, last_size(block->rows)),
                   .cols = shrink(w->cols, last_size(block->cols))};
    int y = 0, x = 0;
    find_fullest(grid, &y, &x);
    next.row = place(w->row, w->rows, grid->down, y, next.rows, block->rows);
    next.col = place(w->col, w->cols, grid->across, x, next.cols, block->cols);
    if (next.row + next.rows > w->row + w->rows) /* the last block is cut */
        next.rows = w->row + w->rows - next.row;
    if (next.col + next.cols > w->col + w->cols)
        next.cols = w->col + w->cols - next.col;
    return next;
}

/* ---- Drawing ---- */

static void draw_cells(FILE *out, const cell_grid *grid)
{
    unsigned char shades[CELLS * CELLS] = {0};
    double least = HUGE_VAL, most = 0;
    for (int y = 0; y < grid->down; y++)
        for (int x = 0; x < grid->across; x++)
            if (grid->counts[y][x] > 0) {
                least = fmin(least, (double)grid->counts[y][x]);
                most = fmax(most, (double)grid->counts[y][x]);
            }
    for (int y = 0; y < grid->down; y++)
        for (int x = 0; x < grid->across; x++) {
            const double share =
                most > least ? log((double)grid->counts[y][x] / least) / log(most / least) : 1;
            if (grid->counts[y][x] > 0) /* a stored zero is pale */
                shades[y * grid->across + x] =
                    (unsigned char)(shows_scalars(grid) ? (grid->nonzero[y][x] ? SHADES : 1)
                                                        : 1 + lround((SHADES - 1) * share));
        }
    for (int shade = 1; shade <= SHADES; shade++) {
        char attributes[48];
        snprintf(attributes, sizeof attributes, "class=\"f1\" fill-opacity=\"%.2f\"",
                 0.25 + 0.75 * shade / SHADES);
        svg_cells(out, attributes, grid->down, grid->across, shades, (unsigned char)shade);
    }
}

/* Outlines every block that holds an entry, and returns how many there are. */
static int draw_blocks(FILE *out, const cell_grid *grid, const tess_block_candidate *block)
{
    int count = 0;
    fprintf(out,
            "<path class=\"c2 none\" stroke-width=\"1.5\" vector-effect=\"non-scaling-stroke\" "
            "d=\"M0,0");
    for (int y = 0; y < grid->down; y += block->rows)
        for (int x = 0; x < grid->across; x += block->cols) {
            bool full = false;
            for (int i = y; i < y + block->rows && i < grid->down; i++)
                for (int j = x; j < x + block->cols && j < grid->across; j++)
                    full = full || grid->counts[i][j] > 0;
            if (!full)
                continue;
            fprintf(out, "M%d,%dh%dv%dh-%dz", x, y, block->cols, block->rows, block->cols);
            count++;
        }
    fprintf(out, "\"/>\n");
    return count;
}

static void draw_next(FILE *out, const cell_grid *grid, const window *next)
{
    const window *w = &grid->at;
    const double y = (double)grid->down / (double)w->rows,
                 x = (double)grid->across / (double)w->cols;
    const double width = fmax((double)next->cols * x, 1), height = fmax((double)next->rows * y, 1);
    fprintf(out,
            "<rect class=\"c2 none\" stroke-width=\"2\" vector-effect=\"non-scaling-stroke\" "
            "x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
            (double)(next->col - w->col) * x, (double)(next->row - w->row) * y, width, height);
}

static void write_caption(FILE *out, const cell_grid *grid, const tess_matrix_view *A, int blocks,
                          const tess_block_candidate *block)
{
    const window *w = &grid->at;
    char t[4][TEXT_MAX];
    fprintf(out, "<figcaption>");
    if (w->rows == A->rows && w->cols == A->cols)
        fprintf(out, "The whole matrix");
    else
        page_text(out, "Rows %s to %s, columns %s to %s", text_count(w->row + 1, t[0]),
                  text_count(w->row + w->rows, t[1]), text_count(w->col + 1, t[2]),
                  text_count(w->col + w->cols, t[3]));
    if (shows_scalars(grid) && (block->rows > 1 || block->cols > 1))
        fprintf(out, ": %d block%s of %d \xc3\x97 %d, outlined", blocks, blocks == 1 ? "" : "s",
                block->rows, block->cols);
    fprintf(out, "</figcaption>\n");
}

static void draw_window(FILE *out, const cell_grid *grid, int number, const tess_matrix_view *A,
                        const tess_block_candidate *block, const window *next)
{
    char name[16], title[32];
    int blocks = 0;
    snprintf(name, sizeof name, "spy%d", number);
    snprintf(title, sizeof title, "Pattern, zoom %d", number);
    const int longer = greater(grid->across, grid->down);
    fprintf(out, "<figure><div style=\"max-width:%dpx\">\n", SIDE * grid->across / longer);
    svg_open(out, name, grid->across, grid->down, title,
             "The more entries a cell holds, the stronger its colour.", false);
    draw_cells(out, grid);
    if (shows_scalars(grid))
        blocks = draw_blocks(out, grid, block);
    if (next)
        draw_next(out, grid, next);
    fprintf(out,
            "<rect class=\"axis none\" vector-effect=\"non-scaling-stroke\" width=\"%d\" "
            "height=\"%d\"/>\n",
            grid->across, grid->down);
    svg_close(out);
    fprintf(out, "</div>\n");
    write_caption(out, grid, A, blocks, block);
    fprintf(out, "</figure>\n");
}

void report_spy(FILE *out, const report_facts *facts)
{
    const tess_matrix_view A = view_of(facts->scalars);
    const tess_matrix_view blocked = view_of(facts->plan->A);
    const tess_block_candidate block = {.rows = blocked.block_height, .cols = blocked.block_width};
    cell_grid *grid = calloc(1, sizeof *grid);
    const bool any = A.rows > 0 && A.cols > 0 && grid;
    page_section(
        out, "Pattern", "%s",
        any ? "The more entries a cell holds, the stronger its colour; a frame marks the next "
              "picture. In the last one a square is an entry, pale where it is stored but 0."
            : "There is nothing to draw: the matrix has no rows or no columns.");
    page_begin_side(out, "zooms");
    if (any)
        grid->at = (window){0, 0, A.rows, A.cols};
    for (int number = 1, more = any; more && number <= 12; number++) {
        shape_cells(grid);
        count_cells(&A, grid);
        more = !shows_scalars(grid);
        const window next = more ? zoom(grid, &block) : grid->at;
        draw_window(out, grid, number, &A, &block, more ? &next : NULL);
        grid->at = next;
    }
    page_end_side(out);
    page_end_section(out);
    free(grid);
}
