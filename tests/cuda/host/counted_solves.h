/* What solves on several parts ask of the fake driver. */
#ifndef FAKE_COUNTED_SOLVES_H
#define FAKE_COUNTED_SOLVES_H

#include "session.h"

typedef struct counted_solve {
    int64_t put, waits, answers, graphs, iterations;
    double residual;
} counted_solve;

static inline counted_solve solve_counted(void **state, tess_plan *plan, const char *spec,
                                          const double *b)
{
    const size_t bytes = (size_t)plan->matrix->rows * sizeof *b;
    double *x = malloc(bytes);
    tess_solver *solver;
    tess_result result;
    fake_cuda before = *fake;
    ok(state, tess_solver_create(plan, spec, &solver));
    for (int i = 0; i < 2; i++) { /* the first also times iterations, and captures */
        memset(x, 0, bytes);
        before = *fake;
        ok(state, tess_solver_solve(solver, b, x, &result));
    }
    tess_solver_destroy(solver);
    free(x);
    return (counted_solve){
        fake->put - before.put,       fake->waits - before.waits, fake->answers - before.answers,
        fake->graphs - before.graphs, result.iterations,          result.true_residual};
}

/* Checks that further iterations are only further graphs, at least a given number, which one part
 * launches. Between them the host makes no launch, no copy and no wait. Each part queries the
 * devices' progress once per graph, and reads the answer. */
static inline void check_iterations_are_graphs(void **state, tess_plan *plan, const char *method,
                                               const double *b, int64_t parts, int64_t least)
{
    counted_solve of[2];
    for (int i = 0; i < 2; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "%s%ctol=%g", method, strchr(method, ':') ? ',' : ':',
                 i ? 1e-9 : 1e-2);
        of[i] = solve_counted(state, plan, spec, b);
    }
    const int64_t graphs = of[1].graphs - of[0].graphs;
    assert_true(of[1].residual <= 1e-8);
    assert_true(graphs >= least);
    assert_true(of[1].iterations - of[0].iterations > graphs);
    assert_int_equal(of[1].put - of[0].put, parts * graphs);
    assert_int_equal(of[1].answers - of[0].answers, parts * graphs);
    assert_int_equal(of[1].waits, of[0].waits);
}

#endif
