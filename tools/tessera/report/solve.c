/* The page's sections about the solve: its residuals, what was tried, and where the time went. */
#include "page.h"

static void list_result(FILE *out, const solve_run *run)
{
    const solve_report *report = &run->report;
    const tess_result *r = &report->result;
    char a[TEXT_MAX];
    page_table(out, "Outcome", 0, NULL);
    page_fact(out, "solver", "%s", report->spec);
    page_fact(out, "right-hand side", "%s", report->rhs);
    page_fact(out, "tolerance", "%.3g", solve_tolerance(run));
    page_fact(out, "result", "%s: %s", tess_reason_name(r->reason), r->text);
    fprintf(out, "<tr><th scope=\"row\">iterations</th>");
    page_number(out, (double)r->iterations, "%s", text_count(r->iterations, a));
    fprintf(out, "</tr>\n<tr><th scope=\"row\">|r|/|b|, recomputed</th>");
    page_number(out, r->true_residual, "%.3g", r->true_residual);
    fprintf(out, "</tr>\n");
    if (r->reason == TESS_REASON_LEAST_SQUARES) {
        fprintf(out, "<tr><th scope=\"row\">|A\xe1\xb5\x80r|/(|A||r|)</th>");
        page_number(out, r->normal_residual, "%.3g", r->normal_residual);
        fprintf(out, "</tr>\n");
    }
    if (r->iterations > 0 && r->seconds > 0) {
        page_fact(out, "per iteration", "%s", text_seconds(r->seconds / (double)r->iterations, a));
        page_fact(out, "memory", "%.1f GB/s", 1e-9 * r->bytes / r->seconds);
    }
    page_end_table(out);
}

/* Lists what auto has tried, if it was more than one solver. */
static void list_attempts(FILE *out, const tess_solver *solver)
{
    if (!tess_solver_attempt(solver, 0) || !tess_solver_attempt(solver, 1))
        return;
    page_table(out, "Tried in this order", 0, NULL);
    for (int i = 0; tess_solver_attempt(solver, i); i++) {
        page_row(out, false);
        page_cell(out, "%d", i + 1);
        page_cell(out, "%s", tess_solver_attempt(solver, i));
        page_end_row(out);
    }
    page_end_table(out);
}

void report_solve(FILE *out, const report_facts *facts)
{
    const solve_run *run = facts->solve;
    if (!run) {
        page_section(out, "The solve", "%s", facts->unsolved);
        page_end_section(out);
        return;
    }
    const tess_result *r = &run->report.result;
    page_section(out, "The solve", "%s: %s.", tess_reason_name(r->reason), r->text);
    page_begin_side(out, "picture");
    if (r->history_count > 1)
        solve_draw(out, run, false);
    page_end_side(out);
    page_begin_side(out, "words");
    list_result(out, run);
    list_attempts(out, run->report.solver);
    page_end_side(out);
    page_end_section(out);
}

enum { TIMES = 10 };

typedef struct part {
    const char *name, *what;
    double seconds;
} part;

static int find_parts(const report_facts *facts, part *parts)
{
    int count = 0;
    parts[count++] = (part){"read", "the matrix read or generated", facts->read_seconds};
    parts[count++] = (part){"analyse", "rows, symmetry, block sizes", facts->info_seconds};
    parts[count++] = (part){"plan", "blocks, search, conversion", facts->plan_seconds};
    if (!facts->solve)
        return count;
    const tess_result *r = &facts->solve->report.result;
    const double known = r->seconds_spmv + r->seconds_pc + r->seconds_dots + r->seconds_vectors;
    parts[count++] = (part){"set-up", "the preconditioner", facts->solve->report.setup_seconds};
    parts[count++] = (part){"products", "A times a vector, in the solve", r->seconds_spmv};
    parts[count++] = (part){"precondition", "in the solve", r->seconds_pc};
    parts[count++] = (part){"reductions", "dot products and norms, in the solve", r->seconds_dots};
    parts[count++] = (part){"vectors", "sums of vectors, in the solve", r->seconds_vectors};
    parts[count++] = (part){"other", "of the solve: solvers made by auto, scaling, checks",
                            r->seconds > known ? r->seconds - known : 0};
    return count;
}

void report_times(FILE *out, const report_facts *facts)
{
    static const char *const heads[] = {"part", "seconds", "share", "what"};
    part parts[TIMES];
    page_bar bars[TIMES];
    char a[TEXT_MAX];
    double all = 0;
    const int count = find_parts(facts, parts);
    for (int i = 0; i < count; i++) {
        all += parts[i].seconds;
        bars[i] = (page_bar){.parts = {parts[i].seconds}};
        snprintf(bars[i].label, sizeof bars[i].label, "%s", parts[i].name);
        text_seconds(parts[i].seconds, bars[i].text);
    }
    page_section(out, "Where the time went", "%s from the input to the solution.",
                 text_seconds(all, a));
    page_begin_side(out, "picture");
    page_bars(out, "where", "Where the time went", count, bars, NULL);
    page_end_side(out);
    page_begin_side(out, "words");
    page_table(out, "Time by part", 4, heads);
    for (int i = 0; i < count; i++) {
        page_row(out, false);
        page_short(out, "%s", parts[i].name);
        page_number(out, parts[i].seconds, "%s", text_seconds(parts[i].seconds, a));
        page_short(out, "%.0f %%", all > 0 ? 100 * parts[i].seconds / all : 0);
        page_cell(out, "%s", parts[i].what);
        page_end_row(out);
    }
    page_end_table(out);
    page_end_side(out);
    page_end_section(out);
}
