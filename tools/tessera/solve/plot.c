/* The residuals of a solve as a picture. */
#include <math.h>
#include <string.h>

#include "run.h"
#include "../svg.h"

enum { WIDTH = 480, HEIGHT = 320, POINTS = 600, COLUMNS = 80 };

static bool is_shown(double residual)
{
    return residual > 0 && isfinite(residual);
}

/* The scales on which all residuals and the tolerance lie. */
static svg_plot scales_of(const tess_result *result, double tolerance)
{
    double least = is_shown(tolerance) ? tolerance : 1, most = least;
    for (int64_t i = 0; i < result->history_count; i++)
        if (is_shown(result->history[i])) {
            least = fmin(least, result->history[i]);
            most = fmax(most, result->history[i]);
        }
    svg_plot plot = {.x = {0, result->history_count > 1 ? (double)(result->history_count - 1) : 1,
                           58, WIDTH - 16, false, NULL},
                     .y = {least, most, HEIGHT - 62, 52, true, NULL}};
    svg_widen(&plot.y);
    return plot;
}

static void draw_point(FILE *out, const svg_plot *plot, const tess_result *result, int64_t i,
                       bool *started)
{
    if (i < 0 || !is_shown(result->history[i]))
        return;
    fprintf(out, "%s%.1f,%.1f",
            *started ? " " : "<polyline class=\"c1 none\" stroke-width=\"2\" points=\"",
            svg_at(&plot->x, (double)i), svg_at(&plot->y, result->history[i]));
    *started = true;
}

/* Draws the residuals. Where several iterations share a place, draws the smallest and the largest
 * residual of them. */
static void draw_history(FILE *out, const svg_plot *plot, const tess_result *result)
{
    const int64_t stride = result->history_count / POINTS + 1;
    bool started = false;
    for (int64_t from = 0; from < result->history_count; from += stride) {
        const int64_t to = lesser(from + stride, result->history_count);
        int64_t low = -1, high = -1;
        for (int64_t i = from; i < to; i++) {
            if (!is_shown(result->history[i]))
                continue;
            low = low < 0 || result->history[i] < result->history[low] ? i : low;
            high = high < 0 || result->history[i] > result->history[high] ? i : high;
        }
        draw_point(out, plot, result, lesser(low, high), &started);
        if (low != high)
            draw_point(out, plot, result, greater(high, low), &started);
    }
    if (started)
        fprintf(out, "\"/>\n");
}

void solve_draw(FILE *out, const solve_run *r, bool alone)
{
    const tess_result *result = &r->report.result;
    const double tolerance = solve_tolerance(r);
    const svg_plot plot = scales_of(result, tolerance);
    char description[512];
    snprintf(description, sizeof description, "|r|/|b| after each iteration; %s: %s",
             tess_reason_name(result->reason), result->text);
    char outcome[320]; /* drawn where the picture is alone: a page shows it elsewhere */
    snprintf(outcome, sizeof outcome, "%s: %s", tess_reason_name(result->reason), result->text);
    const int lines = alone ? svg_paragraph(NULL, 0, 0, "", COLUMNS, outcome) : 0;
    svg_open(out, "residuals", WIDTH, HEIGHT + 15 * lines, r->report.spec, description, alone);
    svg_text(out, 8, 20, strlen(r->report.spec) < 56 ? "title" : "small", "%s", r->report.spec);
    svg_axes(out, &plot, "iteration", "|r|/|b|");
    if (is_shown(tolerance)) {
        const double at = svg_at(&plot.y, tolerance);
        fprintf(out, "<path class=\"c4 dash\" stroke-width=\"1.5\" d=\"M%.1f,%.1fH%.1f\"/>\n",
                plot.x.from, at, plot.x.to);
        svg_text(out, plot.x.from + 6, at - 6, "small", "tolerance %.3g", tolerance);
    }
    draw_history(out, &plot, result);
    if (result->history_count > 0 && is_shown(result->history[result->history_count - 1]))
        fprintf(out, "<circle class=\"f1\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
                svg_at(&plot.x, (double)(result->history_count - 1)),
                svg_at(&plot.y, result->history[result->history_count - 1]));
    if (alone)
        svg_paragraph(out, 8, HEIGHT + 4, "small", COLUMNS, outcome);
    svg_close(out);
}

int solve_write_plot(cli_app *app, const solve_run *r, const char *path)
{
    text_output output;
    output_begin(&output);
    if (output.file)
        solve_draw(output.file, r, true);
    return output_end(app, &output, path);
}
