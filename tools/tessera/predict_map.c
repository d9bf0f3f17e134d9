/* tessera predict --map: paper 004's Figure 8. Unknowns across, stored elements up, both by powers
 * of ten; three panels: GFLOP/s of CG on one device, on n, and the speed-up with its line at 1.
 *
 *     stored |        dense /        A matrix lies between the two lines: at most x^2 elements,
 *            |          ////         at least x.
 *            |       ///////
 *            |     ////// diagonal
 *            +---------------- unknowns
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict.h"

enum {
    CELLS = 64,
    PANELS = 3,
    SIDE = 300,
    MARGIN = 70,
    GAP = 150,
    TOP = 60,
    BOTTOM = 60,
    BAR = 14
};
/* Powers of ten. */
static const double x_low = 2, x_high = 8.5, e_low = 3, e_high = 10;

typedef struct map_data {
    double value[PANELS][CELLS][CELLS]; /* [e][x]; NAN: no such matrix, or not known. Cells that the
                                           limits cut are whole, and the drawing cuts them. */
    double least[PANELS], most[PANELS];
} map_data;

static double power_at(double low, double high, double cell)
{
    return low + (high - low) * cell / CELLS;
}

/* One matrix a cell: what is asked of the model, and what it says. */
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

static void fill(const cell_table *cells, map_data *map)
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
            const double values[PANELS] = {1e-9 * one->flops / one->iteration,
                                           1e-9 * several->flops / several->iteration,
                                           several->speedup};
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

/* 0..1 to a colour, dark blue to yellow, brightness rising all the way. */
static void color(double t, int rgb[3])
{
    static const int stops[5][3] = {
        {48, 18, 90}, {40, 82, 139}, {33, 145, 140}, {110, 206, 88}, {253, 231, 37}};
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    int k = t >= 1 ? 3 : (int)(4 * t);
    for (int c = 0; c < 3; c++)
        rgb[c] = (int)(stops[k][c] + (4 * t - k) * (stops[k + 1][c] - stops[k][c]) + 0.5);
}

static double share(const map_data *map, int p, double value)
{
    double low = log(map->least[p]), high = log(map->most[p]);
    return high > low ? (log(value) - low) / (high - low) : 0.5;
}

static double place_x(double left, double power)
{
    return left + SIDE * (power - x_low) / (x_high - x_low);
}

static double place_y(double power)
{
    return TOP + SIDE * (1 - (power - e_low) / (e_high - e_low));
}

/* What follows is cut off at diagonal and dense matrices. */
static void begin_clip(FILE *out, int p, double left)
{
    fprintf(out,
            "<clipPath id=\"c%d\"><path d=\"M%.1f,%.1f L%.1f,%.1f L%.1f,%.1f L%.1f,%.1f L%.1f,%.1f "
            "L%.1f,%.1f Z\"/></clipPath>\n<g clip-path=\"url(#c%d)\">\n",
            p, place_x(left, x_low), place_y(e_low), place_x(left, e_low), place_y(e_low),
            place_x(left, x_high), place_y(x_high), place_x(left, x_high), place_y(e_high),
            place_x(left, e_high / 2), place_y(e_high), place_x(left, x_low), place_y(2 * x_low),
            p);
}

static void draw_cells(FILE *out, const map_data *map, int p, double left)
{
    double size = (double)SIDE / CELLS;
    for (int j = 0; j < CELLS; j++)
        for (int i = 0; i < CELLS; i++) {
            int rgb[3];
            if (isnan(map->value[p][j][i]))
                continue;
            color(share(map, p, map->value[p][j][i]), rgb);
            fprintf(out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                    "fill=\"#%02x%02x%02x\"/>\n",
                    left + i * size, TOP + SIDE - (j + 1) * size, size + 0.3, size + 0.3, rgb[0],
                    rgb[1], rgb[2]);
        }
}

/* Where the speed-up passes 1, column by column: the lowest matrix from which on it is more. */
static void draw_break_even(FILE *out, const map_data *map, double left)
{
    bool started = false;
    for (int i = 0; i < CELLS; i++) {
        for (int j = 1; j < CELLS; j++) {
            double below = map->value[2][j - 1][i], above = map->value[2][j][i];
            if (isnan(below) || isnan(above) || below >= 1 || above < 1)
                continue;
            double at = j - 0.5 + (1 - below) / (above - below);
            fprintf(out, "%s%.1f,%.1f", started ? " L" : "<path class=\"even\" d=\"M",
                    left + (i + 0.5) * SIDE / CELLS, TOP + SIDE - at * SIDE / CELLS);
            started = true;
            break;
        }
    }
    if (started)
        fprintf(out, "\"/>\n");
}

/* 0 to 10, raised. */
static const char *const exponents[] = {"&#8304;", "&#185;",  "&#178;",       "&#179;",
                                        "&#8308;", "&#8309;", "&#8310;",      "&#8311;",
                                        "&#8312;", "&#8313;", "&#185;&#8304;"};

static void draw_axes(FILE *out, double left, const char *title)
{
    fprintf(out, "<text class=\"title\" x=\"%.1f\" y=\"%d\">%s</text>\n", left + SIDE / 2.0,
            TOP - 14, title);
    fprintf(out, "<rect class=\"frame\" x=\"%.1f\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", left,
            TOP, SIDE, SIDE);
    for (int power = (int)ceil(x_low); power <= x_high; power++)
        fprintf(out,
                "<path class=\"frame\" d=\"M%.1f,%d v5\"/>\n<text x=\"%.1f\" "
                "y=\"%d\">10%s</text>\n",
                place_x(left, power), TOP + SIDE, place_x(left, power), TOP + SIDE + 20,
                exponents[power]);
    for (int power = (int)ceil(e_low); power <= e_high; power++)
        fprintf(out,
                "<path class=\"frame\" d=\"M%.1f,%.1f h-5\"/>\n<text class=\"right\" x=\"%.1f\" "
                "y=\"%.1f\">10%s</text>\n",
                left, place_y(power), left - 8, place_y(power) + 4, exponents[power]);
    fprintf(out, "<text x=\"%.1f\" y=\"%d\">unknowns</text>\n", left + SIDE / 2.0, TOP + SIDE + 42);
    fprintf(out, "<text transform=\"translate(%.1f,%.1f) rotate(-90)\">stored elements</text>\n",
            left - 46, TOP + SIDE / 2.0);
    /* Diagonal and dense matrices. */
    fprintf(out, "<path class=\"limit\" d=\"M%.1f,%.1f L%.1f,%.1f\"/>\n", place_x(left, e_low),
            place_y(e_low), place_x(left, x_high), place_y(x_high));
    fprintf(out, "<path class=\"limit\" d=\"M%.1f,%.1f L%.1f,%.1f\"/>\n", place_x(left, x_low),
            place_y(2 * x_low), place_x(left, e_high / 2), place_y(e_high));
}

static void draw_legend(FILE *out, const map_data *map, int p, double left)
{
    enum { STEPS = 24 };
    for (int k = 0; k < STEPS; k++) {
        int rgb[3];
        color((k + 0.5) / STEPS, rgb);
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" "
                "fill=\"#%02x%02x%02x\"/>\n",
                left + SIDE + 8, TOP + SIDE - (k + 1) * (double)SIDE / STEPS, BAR,
                (double)SIDE / STEPS + 0.3, rgb[0], rgb[1], rgb[2]);
    }
    /* 1, 2, 5, 10 ..., or where there are many only 1, 10, 100. */
    static const double tens[] = {1, 2, 5};
    bool many = map->most[p] > 300 * map->least[p];
    for (int power = (int)floor(log10(map->least[p])); power <= log10(map->most[p]); power++)
        for (int k = 0; k < (many ? 1 : 3); k++) {
            double value = tens[k] * pow(10, power), at = SIDE * (1 - share(map, p, value));
            if (value < map->least[p] || value > map->most[p])
                continue;
            fprintf(out,
                    "<path class=\"frame\" d=\"M%.1f,%.1f h5\"/>\n<text class=\"left\" "
                    "x=\"%.1f\" y=\"%.1f\">%g</text>\n",
                    left + SIDE + 8 + BAR, TOP + at, left + SIDE + 16 + BAR, TOP + at + 4, value);
        }
}

/* What the map is of. */
typedef struct map_subject {
    int devices, block;
    const char *type, *model;
} map_subject;

static void draw(FILE *out, const map_subject *r, const map_data *map)
{
    char titles[PANELS][64];
    snprintf(titles[0], sizeof titles[0], "GFLOP/s of CG, 1 device");
    snprintf(titles[1], sizeof titles[1], "GFLOP/s of CG, %d devices", r->devices);
    snprintf(titles[2], sizeof titles[2], "speed-up of %d devices", r->devices);
    int width = 2 * MARGIN + PANELS * SIDE + (PANELS - 1) * GAP + 50;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\">\n"
            "<style>text{font:12px sans-serif;fill:#222;text-anchor:middle}"
            ".title{font-size:14px}.left{text-anchor:start}.right{text-anchor:end}"
            ".frame{fill:none;stroke:#888}.limit{stroke:#222;stroke-dasharray:4 3;fill:none}"
            ".even{stroke:#000;stroke-width:3;fill:none}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, TOP + SIDE + BOTTOM + 20, width, TOP + SIDE + BOTTOM + 20);
    for (int p = 0; p < PANELS; p++) {
        double left = MARGIN + p * (SIDE + GAP);
        begin_clip(out, p, left);
        draw_cells(out, map, p, left);
        if (p == 2)
            draw_break_even(out, map, left);
        fprintf(out, "</g>\n");
        draw_axes(out, left, titles[p]);
        draw_legend(out, map, p, left);
    }
    fprintf(out,
            "<text class=\"left\" x=\"%d\" y=\"%d\">%d x %d blocks, %s; %s; thick line: speed-up "
            "= 1; dashed: dense and diagonal matrices; average case</text>\n</svg>\n",
            MARGIN, TOP + SIDE + BOTTOM + 8, r->block, r->block, r->type, r->model);
}

static int write_map(cli_app *app, const char *path, const map_subject *subject,
                     const map_data *map)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return fail(app, EXIT_USAGE, "%s: cannot be written: %s; name another file", path,
                    strerror(errno));
    draw(out, subject, map);
    bool failed = ferror(out) != 0;
    failed = fclose(out) != 0 || failed;
    return failed ? fail(app, EXIT_FAILED, "%s: writing failed: %s", path, strerror(errno))
                  : EXIT_DONE;
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
    map_data *map = calloc(1, sizeof *map);
    int exit_status = cells && map ? EXIT_DONE : fail_memory(app);
    if (exit_status == EXIT_DONE) {
        place_matrices(cells);
        tess_status status =
            tess_predict_sizes(app->ctx, A, device, &several, CELLS * CELLS, cells->unknowns,
                               cells->stored, cells->one, cells->several);
        if (status != TESS_OK) {
            exit_status = fail_status(app, status);
        } else {
            fill(cells, map);
            exit_status = write_map(app, path, &subject, map);
        }
    }
    free(cells);
    free(map);
    return exit_status;
}
