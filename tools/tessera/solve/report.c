/* Progress, report and history of `tessera solve`. */
#include <math.h>
#include <string.h>

#include "report.h"

/* Shows the iteration, how fast |r| falls and the time to go: five times per second, after the
 * first second. */
int solve_show_progress(void *user, int64_t iteration, double residual)
{
    solve_progress *p = user;
    const double now = seconds_now();
    if (terminal_interrupted())
        return 1;
    if (!p->app->live || now - p->started < 1 || now - p->shown < 0.2)
        return 0;
    char speed[40] = "", left[40] = "";
    const double steps = (double)(iteration - p->shown_iteration);
    if (p->shown > 0 && steps > 0 && residual > 0 && p->shown_residual > 0) {
        const double rate = pow(residual / p->shown_residual, 1 / steps);
        snprintf(speed, sizeof speed, "   rate %.3f", rate);
        if (rate < 1 && p->tol > 0 && residual > p->tol)
            snprintf(left, sizeof left, "   %.0f s to go",
                     log(p->tol / residual) / log(rate) * (now - p->shown) / steps);
    }
    terminal_show_progress(p->app, "iteration %lld   |r|/|b| %.2e%s%s", (long long)iteration,
                           residual, speed, left);
    p->shown = now;
    p->shown_iteration = iteration;
    p->shown_residual = residual;
    return 0;
}

bool solve_is_solved(const tess_result *result)
{
    return result->reason == TESS_REASON_CONVERGED || result->reason == TESS_REASON_ZERO_RHS;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Prints every line of a preconditioner's description. */
static void print_levels(const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        printf("pc        %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

int solve_print(cli_app *app, const tess_matrix *A, const tess_device *device,
                const solve_report *report)
{
    const tess_result *r = &report->result;
    const tess_plan_info *plan = &report->plan;
    char a[TEXT_MAX], b[TEXT_MAX], name[NAME_MAX_LENGTH];
    printf("matrix    ");
    print_matrix_line(A);
    printf("\ndevice    %s\n", tess_device_description(device));
    printf("kernel    %s\n", text_kernel(plan->format, plan->kernel, plan->params, name));
    if (*plan->regrouping)
        printf("regroup   %s\n", plan->regrouping);
    for (int i = 0; tess_solver_attempt(report->solver, i + 1); i++)
        printf("tried     %s\n", tess_solver_attempt(report->solver, i));
    printf("solver    %s, b is %s\n", report->spec, report->rhs);
    printf("result    %s%s%s: %s\n", solve_is_solved(r) ? green(app) : red(app),
           tess_reason_name(r->reason), plain(app), r->text);
    if (app->verbose)
        print_levels(tess_solver_describe(report->solver));
    printf("residual  %.3g by the recurrence, %s%.3g recomputed%s\n", r->residual, bold(app),
           r->true_residual, plain(app));
    if (r->reason == TESS_REASON_LEAST_SQUARES)
        printf("normal    |A'r| = %.3g |A||r|, recomputed\n", r->normal_residual);
    printf("time      %s%s%s, and %s to set up", bold(app), text_seconds(r->seconds, a), plain(app),
           text_seconds(report->setup_seconds, b));
    if (r->iterations > 0) {
        printf(": %s per iteration\n", text_seconds(r->seconds / (double)r->iterations, a));
        printf("          %.0f %% SpMV, %.0f %% preconditioner, %.0f %% dots, %.0f %% vectors\n",
               percent(r->seconds_spmv, r->seconds), percent(r->seconds_pc, r->seconds),
               percent(r->seconds_dots, r->seconds), percent(r->seconds_vectors, r->seconds));
        printf("memory    %s moved, %.1f GB/s", text_bytes(r->bytes, a),
               1e-9 * r->bytes / r->seconds);
        if (report->ceiling > 0)
            printf(": %.0f %% of what the device can read",
                   percent(r->bytes / r->seconds, report->ceiling));
    }
    printf("\n");
    return EXIT_DONE;
}

json_t *solve_json(const tess_matrix *matrix, const tess_device *device, const solve_report *report)
{
    const tess_matrix_view view = view_of(matrix), *A = &view;
    const tess_result *r = &report->result;
    json_t *document = json_make(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:I, s:s, s:s, s:b, s:I}", "device",
        device_info(device).backend, "format", report->plan.format, "kernel", report->plan.kernel,
        "params", report->plan.params, "solver", report->spec, "rhs", report->rhs, "type",
        type_name(A->type), "rows", (json_int_t)A->rows, "block", A->block_height, "blocks",
        (json_int_t)A->blocks, "reason", tess_reason_name(r->reason), "text", r->text, "solved",
        solve_is_solved(r), "iterations", (json_int_t)r->iterations);
    if (!document)
        return NULL;
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"residual", r->residual},
        {"true_residual", r->true_residual},
        {"normal_residual", r->normal_residual},
        {"setup_seconds", report->setup_seconds},
        {"seconds", r->seconds},
        {"seconds_spmv", r->seconds_spmv},
        {"seconds_pc", r->seconds_pc},
        {"seconds_dots", r->seconds_dots},
        {"seconds_vectors", r->seconds_vectors},
        {"bytes", r->bytes},
        {"gb_per_s", r->seconds > 0 ? 1e-9 * r->bytes / r->seconds : 0},
        {"read_gb_per_s", 1e-9 * report->ceiling},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (json_object_set_new(document, numbers[i].name, json_number(numbers[i].value)) != 0) {
            json_decref(document);
            return NULL;
        }
    }
    if (tess_solver_describe(report->solver)[0])
        json_object_set_new(document, "preconditioner",
                            json_text(tess_solver_describe(report->solver)));
    json_t *tried = json_array();
    for (int i = 0; tess_solver_attempt(report->solver, i); i++)
        json_array_append_new(tried, json_text(tess_solver_attempt(report->solver, i)));
    if (json_array_size(tried) > 1)
        json_object_set(document, "tried", tried);
    json_decref(tried);
    return document;
}

int solve_write_history(cli_app *app, const tess_result *result, const char *path)
{
    text_output output;
    output_begin(&output);
    if (output.file) {
        fprintf(output.file, "iteration,residual\n");
        for (int64_t i = 0; i < result->history_count; i++)
            fprintf(output.file, "%lld,%.10g\n", (long long)i, result->history[i]);
    }
    return output_end(app, &output, path);
}
