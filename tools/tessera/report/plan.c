/* The page's section about the plan: the trials of its search on a roofline, and predictions beside
 * measurements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

enum { DRAWN = 12, LISTED = 200 };

/* The trials of the search, sorted by their time; trials without a time come last. */
typedef struct rivals {
    tess_trial_info trials[LISTED];
    int count, timed;
    const char *chosen; /* the chosen one's kernel and parameters */
    const char *chosen_params;
} rivals;

static int by_time(const void *left, const void *right)
{
    const tess_trial_info *a = left, *b = right;
    const double x = a->seconds > 0 ? a->seconds : HUGE_VAL;
    const double y = b->seconds > 0 ? b->seconds : HUGE_VAL;
    return x != y ? (x > y) - (x < y)
                  : (a->predicted_seconds > b->predicted_seconds) -
                        (a->predicted_seconds < b->predicted_seconds);
}

static void find_rivals(const report_facts *facts, rivals *r)
{
    const tess_search_info search = search_of(facts->plan->plan);
    const tess_plan_info plan = plan_info(facts->plan->plan);
    r->chosen = plan.kernel;
    r->chosen_params = plan.params;
    for (int64_t i = 0; i < search.count; i++) {
        const tess_trial_info trial = trial_of(facts->plan->plan, i);
        if (r->count < LISTED && strcmp(trial.state, "refused") != 0)
            r->trials[r->count++] = trial;
    }
    qsort(r->trials, (size_t)r->count, sizeof r->trials[0], by_time);
    while (r->timed < r->count && r->trials[r->timed].seconds > 0)
        r->timed++;
}

static bool is_chosen(const rivals *r, const tess_trial_info *trial)
{
    return strcmp(trial->kernel, r->chosen) == 0 && strcmp(trial->params, r->chosen_params) == 0;
}

/* ---- The roofline: GFLOP/s over flop per byte; reading at the ceiling is a straight line ---- */

static double intensity_of(double flops, const tess_trial_info *trial)
{
    return trial->bytes > 0 ? flops / trial->bytes : 0;
}

static svg_plot roofline_scales(const report_facts *facts, const rivals *r, double flops)
{
    double low_x = HUGE_VAL, high_x = 0, low_y = HUGE_VAL, high_y = 0;
    for (int i = 0; i < r->timed; i++) {
        const double x = intensity_of(flops, &r->trials[i]);
        const double y = 1e-9 * flops / r->trials[i].seconds;
        if (x > 0) {
            low_x = fmin(low_x, x / 1.5);
            high_x = fmax(high_x, x * 1.5);
            low_y = fmin(low_y, y / 1.3);
            high_y = fmax(high_y, y * 1.3);
        }
    }
    low_y = fmin(low_y, 1e-9 * facts->plan->ceiling * low_x);
    high_y = fmax(high_y, 1e-9 * facts->plan->ceiling * high_x);
    return (svg_plot){.x = {low_x, high_x, 58, 464, true, NULL},
                      .y = {low_y, high_y, 258, 34, true, NULL}};
}

static void draw_roofline(FILE *out, const report_facts *facts, const rivals *r, double flops)
{
    const svg_plot plot = roofline_scales(facts, r, flops);
    const double roof = 1e-9 * facts->plan->ceiling;
    svg_open(out, "roofline", 480, 310, "Kernels on a roofline",
             "GFLOP/s over flop per byte; the line is what the device can read.", false);
    svg_axes(out, &plot, "flop per byte that the format moves",
             "GFLOP/s, zeros inside blocks included");
    if (roof > 0) {
        fprintf(out, "<path class=\"c4\" stroke-width=\"2\" d=\"M%.1f,%.1fL%.1f,%.1f\"/>\n",
                plot.x.from, svg_at(&plot.y, roof * plot.x.low), plot.x.to,
                svg_at(&plot.y, roof * plot.x.high));
        svg_text(out, plot.x.from + 8, plot.y.to + 14, "small", "line: reading at %.1f GB/s", roof);
    }
    for (int i = r->timed - 1; i >= 0; i--) { /* the fastest are drawn last, on top */
        const tess_trial_info *trial = &r->trials[i];
        const bool chosen = is_chosen(r, trial);
        if (trial->bytes > 0)
            fprintf(out,
                    "<circle class=\"%s\" fill-opacity=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\">"
                    "<title>%s</title></circle>\n",
                    chosen ? "f2" : "f1", chosen ? "1" : "0.6",
                    svg_at(&plot.x, intensity_of(flops, trial)),
                    svg_at(&plot.y, 1e-9 * flops / trial->seconds), chosen ? 7 : 5, trial->kernel);
    }
    svg_close(out);
}

/* ---- Measured and predicted, one line per kernel ---- */

static svg_scale time_scale(const rivals *r, int count)
{
    svg_scale scale = {HUGE_VAL, 0, 12, 462, true, text_seconds};
    for (int i = 0; i < count; i++) {
        const tess_trial_info *trial = &r->trials[i];
        scale.low = fmin(scale.low, trial->seconds);
        scale.high = fmax(scale.high, trial->seconds);
        if (trial->predicted_seconds > 0) {
            scale.low = fmin(scale.low, trial->predicted_seconds);
            scale.high = fmax(scale.high, trial->predicted_seconds);
        }
    }
    scale.low /= 1.1;
    scale.high *= 1.1;
    return scale;
}

static void draw_times(FILE *out, const rivals *r)
{
    enum { STEP = 36, HEAD = 26, FOOT = 26 };
    const int count = lesser(r->timed, DRAWN);
    const svg_scale x = time_scale(r, count);
    const double bottom = HEAD + STEP * count;
    double ticks[SVG_TICKS];
    char buffer[TEXT_MAX];
    svg_open(out, "times", 480, HEAD + STEP * count + FOOT, "Time of a product by kernel",
             "Filled: measured. Hollow: predicted by the performance model.", false);
    fprintf(out, "<circle class=\"f1\" cx=\"16\" cy=\"11\" r=\"5\"/>\n"
                 "<circle class=\"c1 none\" stroke-width=\"2\" cx=\"116\" cy=\"11\" r=\"5\"/>\n");
    svg_text(out, 26, 15, "small", "measured");
    svg_text(out, 126, 15, "small", "predicted");
    for (int i = 0, n = svg_ticks(&x, ticks); i < n; i++) {
        const double at = svg_at(&x, ticks[i]);
        fprintf(out, "<path class=\"grid\" d=\"M%.1f,%dV%.1f\"/>\n", at, HEAD, bottom);
        svg_text(out, at, bottom + 16,
                 at > 440  ? "end small"
                 : at < 30 ? "small"
                           : "mid small",
                 "%s", text_seconds(ticks[i], buffer));
    }
    for (int i = 0; i < count; i++) {
        const tess_trial_info *trial = &r->trials[i];
        const char *colour = is_chosen(r, trial) ? "2" : "1";
        const double y = HEAD + STEP * i + 27, at = svg_at(&x, trial->seconds);
        svg_text(out, 8, y - 11, "small", "%s%s%s%s", trial->kernel, *trial->params ? " " : "",
                 trial->params, is_chosen(r, trial) ? " (chosen)" : "");
        if (trial->predicted_seconds > 0) {
            const double guess = svg_at(&x, trial->predicted_seconds);
            fprintf(out,
                    "<path class=\"c%s\" stroke-width=\"2\" d=\"M%.1f,%.1fH%.1f\"/>\n"
                    "<circle class=\"c%s paper\" stroke-width=\"2\" cx=\"%.1f\" cy=\"%.1f\" "
                    "r=\"5\"/>\n",
                    colour, guess, y, at, colour, guess, y);
        }
        fprintf(out, "<circle class=\"f%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", colour, at, y);
    }
    svg_close(out);
}

/* ---- The table ---- */

static void list_rivals(FILE *out, const report_facts *facts, const rivals *r, double bytes)
{
    static const char *const heads[] = {
        "format and kernel", "measured", "predicted", "moves", "GB/s", "of read"};
    char a[TEXT_MAX];
    page_table(out, "Kernels", 6, heads);
    for (int i = 0; i < r->count; i++) {
        const tess_trial_info *t = &r->trials[i];
        page_row(out, is_chosen(r, t));
        page_kernel(out, t->format, t->kernel, t->params);
        if (t->seconds > 0)
            page_number(out, t->seconds, "%s", text_seconds(t->seconds, a));
        else
            page_short(out, "not tried");
        if (t->predicted_seconds > 0)
            page_number(out, t->predicted_seconds, "%s", text_seconds(t->predicted_seconds, a));
        else
            page_short(out, "not known");
        page_number(out, t->bytes > 0 ? t->bytes : bytes, "%s",
                    text_bytes(t->bytes > 0 ? t->bytes : bytes, a));
        if (t->seconds > 0)
            page_short(out, "%.1f", 1e-9 * bytes / t->seconds);
        else
            page_short(out, "%s", "");
        if (t->seconds > 0 && facts->plan->ceiling > 0 && t->bytes > 0)
            page_short(out, "%.0f %%", 100 * t->bytes / t->seconds / facts->plan->ceiling);
        else
            page_short(out, "%s", "");
        page_end_row(out);
    }
    page_end_table(out);
    fprintf(out,
            "<p>GB/s: matrix and vectors over time. Of read: what the format moves, of what the "
            "device can read.</p>\n");
}

void report_plan(FILE *out, const report_facts *facts)
{
    const tess_plan_info plan = plan_info(facts->plan->plan);
    const tess_search_info search = search_of(facts->plan->plan);
    char a[TEXT_MAX], b[TEXT_MAX];
    rivals *r = calloc(1, sizeof *r);
    if (r)
        find_rivals(facts, r);
    page_section(out, "The plan",
                 "Format %s, kernel %s%s%s. A product moves %s for %s, %.2f flop per byte: memory "
                 "decides its speed.",
                 plan.format, plan.kernel, *plan.params ? " " : "", plan.params,
                 text_bytes(plan.bytes, a), text_flops(plan.flops, b),
                 plan.bytes > 0 ? plan.flops / plan.bytes : 0);
    page_begin_side(out, "picture");
    if (r && r->timed > 0 && plan.flops > 0) {
        draw_roofline(out, facts, r, plan.flops);
        draw_times(out, r);
    }
    page_end_side(out);
    page_begin_side(out, "words");
    if (r && r->count > 0)
        list_rivals(out, facts, r, plan.bytes);
    if (search.spmvs > 0)
        fprintf(out, "<p>The search took %d products and %s.</p>\n", search.spmvs,
                text_seconds(search.seconds, a));
    fprintf(out, "<details><summary>What the plan says of itself</summary><pre>");
    svg_escape(out, tess_plan_explain(facts->plan->plan));
    fprintf(out, "</pre></details>\n");
    page_end_side(out);
    page_end_section(out);
    free(r);
}
