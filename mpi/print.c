/* What tessera-mpi prints: words, or one JSON object. */
#include <math.h>
#include <stdio.h>

#include "command.h"

/* A value of all ranks: the largest, which for times is the slowest rank's, and the mean. */
typedef struct spread {
    double slowest, mean;
} spread;

static spread spread_of(double mine, int size)
{
    spread s = {0, 0};
    MPI_Reduce(&mine, &s.slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &s.mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    s.mean /= size;
    return s;
}

static void print_head(const run_state *r, const spread *halo_rows)
{
    printf("matrix    %lld rows of %s in blocks of %d x %d\n", (long long)r->info.all_rows,
           r->info.type == TESS_F64 ? "f64" : "f32", r->info.block, r->info.block);
    printf("ranks     %d, each on %s\n", r->size, tess_device_description(r->device));
    printf("halo      %.0f rows of x per rank in the mean, %.0f at most\n", halo_rows->mean,
           halo_rows->slowest);
}

static void print_times(const spread *product, const spread *halo, const spread *sums)
{
    printf("of it     by the slowest rank: products %.3g s, halo %.3g s, sums %.3g s; in the mean "
           "%.3g, %.3g, %.3g\n",
           product->slowest, halo->slowest, sums->slowest, product->mean, halo->mean, sums->mean);
}

static void print_json_times(const spread *product, const spread *halo, const spread *sums)
{
    printf(
        "\"product_seconds\":[%.9g,%.9g],\"halo_seconds\":[%.9g,%.9g],\"sum_seconds\":[%.9g,%.9g]",
        product->slowest, product->mean, halo->slowest, halo->mean, sums->slowest, sums->mean);
}

/* A string between quotation marks. */
static void print_json_text(const char *text)
{
    putchar('"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        else
            putchar(*text);
    putchar('"');
}

/* A member "name":value; null where the value is NaN or infinite, which JSON has not. */
static void print_json_number(const char *name, int digits, double value)
{
    if (isfinite(value))
        printf("\"%s\":%.*g,", name, digits, value);
    else
        printf("\"%s\":null,", name);
}

int report_solve(run_state *r, const char *spec, const char *rhs, const tess_result *result,
                 double setup)
{
    tess_part_times t = {0};
    tess_plan_get_part_times(r->plan, sizeof t, &t);
    const spread product = spread_of(t.product, r->size), halo = spread_of(t.halo, r->size);
    const spread sums = spread_of(t.sums, r->size), times = spread_of(result->seconds, r->size);
    const spread halo_rows = spread_of((double)r->info.halo_rows, r->size);
    const int solved =
        result->reason == TESS_REASON_CONVERGED || result->reason == TESS_REASON_ZERO_RHS;
    if (r->rank != 0)
        return solved ? EXIT_DONE : EXIT_NOT_SOLVED;
    if (r->args.json) {
        printf("{\"input\":");
        print_json_text(r->args.input);
        printf(",\"ranks\":%d,\"rows\":%lld,\"block\":%d,\"solver\":", r->size,
               (long long)r->info.all_rows, r->info.block);
        print_json_text(spec);
        printf(",\"reason\":\"%s\",\"iterations\":%lld,", tess_reason_name(result->reason),
               (long long)result->iterations);
        print_json_number("true_residual", 17, result->true_residual);
        print_json_number("seconds", 9, times.slowest);
        print_json_number("setup_seconds", 9, setup);
        print_json_times(&product, &halo, &sums);
        printf("}\n");
    } else {
        print_head(r, &halo_rows);
        printf("solver    %s, b is %s\n", spec, rhs);
        printf("result    %s: %s\n", tess_reason_name(result->reason), result->text);
        printf("residual  %.3g by the recurrence, %.3g recomputed\n", result->residual,
               result->true_residual);
        printf("time      %.4g s, and %.4g s to set up\n", times.slowest, setup);
        print_times(&product, &halo, &sums);
    }
    if (!solved)
        fprintf(stderr, "tessera-mpi: not solved: %s; try --solver gmres:pc=ilu0,restart=100\n",
                result->text);
    return solved ? EXIT_DONE : EXIT_NOT_SOLVED;
}

void report_products(run_state *r, double median)
{
    tess_part_times t = {0};
    tess_plan_get_part_times(r->plan, sizeof t, &t);
    const spread product = spread_of(t.product, r->size), halo = spread_of(t.halo, r->size);
    const spread sums = spread_of(t.sums, r->size);
    const spread halo_rows = spread_of((double)r->info.halo_rows, r->size);
    if (r->rank == 0 && r->args.json) {
        printf("{\"input\":");
        print_json_text(r->args.input);
        printf(",\"ranks\":%d,\"rows\":%lld,\"block\":%d,\"median_seconds\":%.9g,", r->size,
               (long long)r->info.all_rows, r->info.block, median);
        print_json_times(&product, &halo, &sums);
        printf("}\n");
    } else if (r->rank == 0) {
        print_head(r, &halo_rows);
        printf("product   %.4g s, the median of %d\n", median, r->args.reps);
        print_times(&product, &halo, &sums);
    }
}
