/* tessera predict --map: Figure 8 of paper 004. The horizontal axis is unknowns, the vertical one
 * stored elements, both logarithmic. Three panels: GFLOP/s of CG on one device, on n devices, and
 * the speed-up with a line at 1. The upper row is at best, by the envelopes of the curves, the
 * lower row on average.
 *
 *     stored |        dense /        A matrix lies between the two lines: at most x^2 elements,
 *            |          ////         at least x.
 *            |       ///////
 *            |     ////// diagonal
 *            +---------------- unknowns
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "predict.h"
#include "svg.h"

enum {
    CELLS = 64,
    PANELS = 3,
    ROWS = 2, /* at best, average */
    SHADES = 24,
    SIDE = 300,
    MARGIN = 64,
    GAP = 72,
    LEGEND = 58, /* between the second panel and the third */
    TOP = 60,
    BOTTOM = 72,
    ROW = TOP + SIDE + BOTTOM,
    BAR = 14,
    WIDTH = MARGIN + PANELS * SIDE + (PANELS - 1) * GAP + 2 * LEGEND + 12
};
/* Powers of ten. */
static const double x_low = 2, x_high = 8.5, e_low = 3, e_high = 10;

typedef struct map_data {
    double value[PANELS][CELLS][CELLS]; /* [e][x]; NAN: no such matrix, or not known. A cell on a
                                           limit has a value, and the drawing clips the cell. */
    double least[PANELS], most[PANELS];
} map_data;

static double power_at(double low, double high, double cell)
{
    return low + (high - low) * cell / CELLS;
}

/* One matrix per cell: what the model is asked, and what it predicts. */
typedef struct cell_table {
    double unknowns[CELLS * CELLS], stored[CELLS * CELLS];
    tess_predicted_solve one[CELLS * CELLS], several[CELLS * CELLS];
} cell_table;

static void place_matrices(cell_table *cells)
{
    for (int j = 0; j < CELLS; j++)
        for (int i = 0; i < CELLS; i++) {
            cells->unknowns[j * CELLS + i] = pow(10, power_at(x_low, x_high, i + 0.5));
            cells->stored[j * CELLS + i] = pow(10, power_at(e_low, e_high, j + 0.5));
        }
}

/* Whether a matrix lies, at least in part, between a diagonal and a dense one. */
static bool is_possible(int i, int j)
{
    double x = power_at(x_low, x_high, i + 0.5), e = power_at(e_low, e_high, j + 0.5);
    double reach_x = (x_high - x_low) / CELLS, reach_e = (e_high - e_low) / CELLS;
    return e >= x - reach_x - reach_e && e <= 2 * (x + reach_x) + reach_e;
}

static void fill(const cell_table *cells, bool best, map_data *map)
{
    for (int p = 0; p < PANELS; p++) {
        map->least[p] = HUGE_VAL;
        map->most[p] = 0;
    }
    for (int j = 0; j < CELLS; j++)
        for (int i = 0; i < CELLS; i++) {
            const tess_predicted_solve *one = &cells->one[j * CELLS + i];
            const tess_predicted_solve *several = &cells->several[j * CELLS + i];
            bool known = is_possible(i, j) && one->devices > 0 && several->devices > 0;
            const double alone = best ? one->best_iteration : one->iteration;
            const double together = best ? several->best_iteration : several->iteration;
            const double values[PANELS] = {1e-9 * one->flops / alone,
                                           1e-9 * several->flops / together, alone / together};
            for (int p = 0; p < PANELS; p++) {
                map->value[p][j][i] = known ? values[p] : NAN;
                if (known && values[p] < map->least[p])
                    map->least[p] = values[p];
                if (known && values[p] > map->most[p])
                    map->most[p] = values[p];
            }
        }
}

/* ---- Drawing ---- */

/* Both panels of GFLOP/s have one scale of colours, the speed-up one of its own. */
static svg_scale colours_of(const map_data *map, int p)
{
    svg_scale scale = {map->least[p], map->most[p], TOP + SIDE, TOP, true, NULL};
    if (p < 2) {
        scale.low = fmin(map->least[0], map->least[1]);
        scale.high = fmax(map->most[0], map->most[1]);
    }
    if (!(scale.high > scale.low)) /* one value, or none */
        scale = (svg_scale){0.5, 2, TOP + SIDE, TOP, true, NULL};
    return scale;
}

static svg_plot plot_of(double left)
{
    return (svg_plot){.x = {pow(10, x_low), pow(10, x_high), left, left + SIDE, true, NULL},
                      .y = {pow(10, e_low), pow(10, e_high), TOP + SIDE, TOP, true, NULL}};
}

/* Clips what is drawn next at diagonal and dense matrices. */
static void begin_clip(FILE *out, int p, const svg_plot *plot)
{
    const double corners[][2] = {{x_low, e_low},   {e_low, e_low},       {x_high, x_high},
                                 {x_high, e_high}, {e_high / 2, e_high}, {x_low, 2 * x_low}};
    fprintf(out, "<clipPath id=\"c%d\"><path d=\"", p);
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++)
        fprintf(out, "%c%.1f,%.1f", i ? 'L' : 'M', svg_at(&plot->x, pow(10, corners[i][0])),
                svg_at(&plot->y, pow(10, corners[i][1])));
    fprintf(out, "Z\"/></clipPath>\n<g clip-path=\"url(#c%d)\">\n", p);
}

static void draw_cells(FILE *out, const map_data *map, int p, const svg_plot *plot)
{
    unsigned char shades[CELLS * CELLS] = {0};
    svg_scale scale = colours_of(map, p);
    scale.from = 0;
    scale.to = SHADES;
    for (int j = 0; j < CELLS; j++)
        for (int i = 0; i < CELLS; i++)
            if (!isnan(map->value[p][j][i])) {
                const int shade = (int)svg_at(&scale, map->value[p][j][i]);
                shades[j * CELLS + i] = (unsigned char)(1 + lesser(shade, SHADES - 1));
            }
    const double size = (double)SIDE / CELLS;
    fprintf(out, "<g transform=\"translate(%.1f %d) scale(%.5f -%.5f)\">\n", plot->x.from,
            TOP + SIDE, size, size);
    for (int shade = 0; shade < SHADES; shade++) {
        char attributes[32], colour[8];
        snprintf(attributes, sizeof attributes, "fill=\"%s\"",
                 svg_heat((shade + 0.5) / SHADES, colour));
        svg_cells(out, attributes, CELLS, CELLS, shades, (unsigned char)(shade + 1));
    }
    fprintf(out, "</g>\n");
}

/* Draws the line at which the speed-up passes 1: in each column, the first place from below. */
static void draw_break_even(FILE *out, const map_data *map, double left)
{
    bool started = false;
    for (int i = 0; i < CELLS; i++) {
        for (int j = 1; j < CELLS; j++) {
            double below = map->value[2][j - 1][i], above = map->value[2][j][i];
            if (isnan(below) || isnan(above) || below >= 1 || above < 1)
                continue;
            double at = j - 0.5 + (1 - below) / (above - below);
            fprintf(out, "%s%.1f,%.1f",
                    started ? " L"
                            : "<path class=\"none even\" stroke=\"#000\" stroke-width=\"3\" d=\"M",
                    left + (i + 0.5) * SIDE / CELLS, TOP + SIDE - at * SIDE / CELLS);
            started = true;
            break;
        }
    }
    if (started)
        fprintf(out, "\"/>\n");
}

static void draw_limits(FILE *out, const svg_plot *plot)
{
    const double lines[][4] = {{e_low, e_low, x_high, x_high},          /* diagonal */
                               {x_low, 2 * x_low, e_high / 2, e_high}}; /* dense */
    for (int i = 0; i < 2; i++)
        fprintf(out, "<path class=\"axis dash\" d=\"M%.1f,%.1fL%.1f,%.1f\"/>\n",
                svg_at(&plot->x, pow(10, lines[i][0])), svg_at(&plot->y, pow(10, lines[i][1])),
                svg_at(&plot->x, pow(10, lines[i][2])), svg_at(&plot->y, pow(10, lines[i][3])));
}

static void draw_legend(FILE *out, const map_data *map, int p, double left)
{
    const svg_scale scale = colours_of(map, p);
    double ticks[SVG_TICKS];
    char colour[8];
    for (int k = 0; k < SHADES; k++) /* overlapping, so that no seams show */
        fprintf(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%d\" height=\"%.2f\" fill=\"%s\"/>\n", left,
                TOP, BAR, SIDE * (1 - (double)k / SHADES), svg_heat((k + 0.5) / SHADES, colour));
    for (int i = 0, count = svg_ticks(&scale, ticks); i < count; i++) {
        const double at = svg_at(&scale, ticks[i]);
        fprintf(out, "<path class=\"axis\" d=\"M%.1f,%.1fh5\"/>\n", left + BAR, at);
        svg_text(out, left + BAR + 8, at + 4, "small", "%g", ticks[i]);
    }
}

/* What the map is of. */
typedef struct map_subject {
    int devices, block;
    const char *type, *model;
} map_subject;

static void draw_row(FILE *out, const map_subject *r, int row, const map_data *map)
{
    const char *name = row == 0 ? "at best" : "average";
    char titles[PANELS][64];
    snprintf(titles[0], sizeof titles[0], "%s: GFLOP/s of CG, 1 device", name);
    snprintf(titles[1], sizeof titles[1], "%s: GFLOP/s of CG, %d devices", name, r->devices);
    snprintf(titles[2], sizeof titles[2], "%s: speed-up of %d devices", name, r->devices);
    fprintf(out, "<g transform=\"translate(0 %d)\">\n", row * ROW);
    for (int p = 0; p < PANELS; p++) {
        const double left = MARGIN + p * (SIDE + GAP) + (p == 2 ? LEGEND : 0);
        const svg_plot plot = plot_of(left);
        svg_text(out, left + SIDE / 2.0, 22, "title mid", "%s", titles[p]);
        svg_axes(out, &plot, "unknowns", "stored elements");
        begin_clip(out, row * PANELS + p, &plot);
        draw_cells(out, map, p, &plot);
        if (p == 2)
            draw_break_even(out, map, left);
        fprintf(out, "</g>\n");
        draw_limits(out, &plot);
        if (p > 0) /* the first two panels share one */
            draw_legend(out, map, p, left + SIDE + 12);
    }
    fprintf(out, "</g>\n");
}

static void draw(FILE *out, const map_subject *r, const map_data *maps)
{
    char below[320];
    snprintf(
        below, sizeof below,
        "%d x %d blocks, %s; %s; thick line: speed-up = 1; dashed: dense and diagonal matrices",
        r->block, r->block, r->type, r->model);
    svg_open(out, "map", WIDTH, ROWS * ROW, "CG by size of the system", below, true);
    for (int row = 0; row < ROWS; row++)
        draw_row(out, r, row, &maps[row]);
    svg_text(out, MARGIN, ROWS * ROW - 10, "small", "%s", below);
    svg_close(out);
}

static int write_map(cli_app *app, const char *path, const map_subject *subject,
                     const map_data *maps)
{
    text_output output;
    output_begin(&output);
    if (output.file)
        draw(output.file, subject, maps);
    return output_end(app, &output, path);
}

int predict_map(cli_app *app, const char *path, const tess_matrix *A, tess_device *device,
                const char *model, const tess_predict_options *options)
{
    const tess_matrix_view view = view_of(A);
    tess_predict_options several = *options;
    several.devices = options->devices > 1 ? options->devices : 2;
    const map_subject subject = {
        .devices = several.devices,
        .block = (int)lround(sqrt((double)view.block_height * view.block_width)),
        .type = type_name(view.type),
        .model = model};
    cell_table *cells = calloc(1, sizeof *cells);
    map_data *maps = calloc(ROWS, sizeof *maps);
    int exit_status = cells && maps ? EXIT_DONE : fail_memory(app);
    if (exit_status == EXIT_DONE) {
        place_matrices(cells);
        tess_status status =
            tess_predict_sizes(app->ctx, A, device, &several, CELLS * CELLS, cells->unknowns,
                               cells->stored, cells->one, cells->several);
        if (status != TESS_OK) {
            exit_status = fail_status(app, status);
        } else {
            for (int row = 0; row < ROWS; row++)
                fill(cells, row == 0, &maps[row]);
            exit_status = write_map(app, path, &subject, maps);
        }
    }
    free(cells);
    free(maps);
    return exit_status;
}
