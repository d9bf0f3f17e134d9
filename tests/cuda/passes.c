#include "passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solve/solve.h"

typedef struct collection {
    test_pass *passes;
    int capacity, count;
} collection;

static void add_kernel(collection *all, const test_pass *pass)
{
    for (int i = 0; i < all->count && i < all->capacity; i++)
        if (strcmp(all->passes[i].defines, pass->defines) == 0)
            return;
    if (all->count < all->capacity) {
        all->passes[all->count] = *pass;
        snprintf(all->passes[all->count].name, sizeof pass->name, "pass_%d", all->count);
    }
    all->count++;
}

/* Of the solver that is open: a preconditioner's shape without numbers. */
static tess_diagonal diagonal;

/* The kernels of all passes of a list. */
static void add_list(collection *all, const tess_steps *steps, tess_type type, const char *what)
{
    for (int64_t s = 0; s < steps->count; s++) {
        const tess_step *step = &steps->step[s];
        if (step->kind != TESS_STEP_PASS)
            continue;
        for (int64_t first = 0; first < step->updates;) {
            test_pass pass = {.type = type, .diagonal = diagonal};
            pass.updates = tess_pass_take(steps, step, first,
                                          tess_is_complex(type) ? TEST_SLOTS : 0, &pass.kernel);
            if (pass.updates < 1 || pass.updates > TEST_PASS_UPDATES)
                abort();
            memcpy(pass.update, steps->update + step->first_update + first,
                   (size_t)pass.updates * sizeof *pass.update);
            snprintf(pass.what, sizeof pass.what, "%s", what);
            const int most = tess_is_complex(type) ? 2 : 4; /* registers suffice for */
            pass.kernel.repeat = all->count % 3 == 0 ? 2 : all->count % 7 == 0 ? most : 1;
            tess_pass_defines(&pass.kernel, type, pass.defines, sizeof pass.defines);
            add_kernel(all, &pass);
            first += pass.updates;
        }
    }
}

/* A solver with its lists, and a preconditioner that has a shape but no numbers. */
static void open_solver(tess_solver *solver, tess_ctx *ctx, const tess_method *method,
                        const tess_pc_ops *pc, int32_t block, tess_type type, tess_type held)
{
    static tess_matrix none;
    static const tess_backend backend = {.space = &tess_cuda_space_ops};
    static tess_device device = {.backend = &backend};
    static tess_plan plan = {.matrix = &none, .device = &device};
    none.type = type;
    *solver = (tess_solver){.ctx = ctx,
                            .plan = &plan,
                            .options = {.method = method, .restart = 14, .deflate = 4},
                            .cycle = 1};
    int vectors, slots;
    if (method->size)
        method->size(&solver->options, &vectors, &slots, &solver->cycle);
    diagonal =
        (tess_diagonal){.type = held, .block = pc->square_blocks || pc->identity ? block : 1};
    solver->options.pc.ops = pc;
    solver->pc = (tess_pc){.ops = pc, .state = &diagonal};
    const tess_steps empty = {.ctx = ctx, .real_dots = method->symmetric};
    if (TESS_CALLOC(ctx, solver->cycle, &solver->loop) != TESS_OK)
        abort();
    for (int64_t i = 0; i < solver->cycle; i++)
        solver->loop[i] = empty;
    solver->start = solver->rhs = empty;
    method->build(solver);
    if (method->open && method->open(solver) != TESS_OK)
        abort();
}

static void close_solver(tess_solver *solver)
{
    tess_steps_free(&solver->start);
    tess_steps_free(&solver->rhs);
    for (int64_t i = 0; i < solver->cycle; i++)
        tess_steps_free(&solver->loop[i]);
    if (solver->options.method->close)
        solver->options.method->close(solver);
    tess_free(solver->ctx, solver->loop);
}

static void add_method(collection *all, tess_ctx *ctx, const tess_method *method,
                       const tess_pc_ops *pc, int32_t block, tess_type type, tess_type held)
{
    char what[128];
    tess_solver solver;
    open_solver(&solver, ctx, method, pc, block, type, held);
    snprintf(what, sizeof what, "%s, %s of %d, %s stored in %s", method->name, pc->name, (int)block,
             tess_type_name(type), tess_type_name(held));
    add_list(all, &solver.start, type, what);
    for (int64_t i = 0; i < solver.cycle; i++)
        add_list(all, &solver.loop[i], type, what);
    close_solver(&solver);
}

static void add_complex(collection *all, tess_ctx *ctx, const tess_method *method, int32_t block,
                        int number)
{
    if (!method->size) { /* those with cycles have many passes */
        add_method(all, ctx, method, &tess_pc_none, 1, TESS_C64, TESS_C64);
        add_method(all, ctx, method, &tess_pc_jacobi, 1, TESS_C32, TESS_C32);
    }
    add_method(all, ctx, method, &tess_pc_bjacobi, block, TESS_C64,
               number % 3 == 1 ? TESS_C32 : TESS_C64);
}

/* Passes of smoothers: D x times a factor, with zero to three other vectors. A product ends a pass.
 */
static void add_sums(collection *all, tess_ctx *ctx, int32_t block, tess_type type, tess_type held)
{
    enum { X = TESS_V_OWN, R, D, FROM };
    const tess_term terms[] = {{0.5, 3, D}, {1, TESS_ONE, X}, {-0.25, TESS_ONE, R}};
    char what[128];
    tess_steps s = {.ctx = ctx};
    diagonal = (tess_diagonal){.type = held, .block = block};
    snprintf(what, sizeof what, "smoother, blocks of %d, %s stored in %s", (int)block,
             tess_type_name(type), tess_type_name(held));
    tess_step_copy(&s, R, FROM);
    tess_step_diagonal_sum(&s, &diagonal, 0.7, R, D, false, 0, NULL);
    tess_step_apply(&s, D, R);
    tess_step_copy(&s, X, D);
    tess_step_diagonal_sum(&s, &diagonal, 1.25, R, D, false, 1, terms);
    tess_step_sum(&s, X, 1, TESS_ONE, X, 1, TESS_ONE, D);
    tess_step_apply(&s, D, R);
    tess_step_diagonal_sum(&s, &diagonal, 0.9, R, X, block % 2 == 0, 2, terms);
    tess_step_dot(&s, 2, FROM, X);
    tess_step_apply(&s, D, R);
    tess_step_diagonal_sum(&s, &diagonal, -0.3, FROM, D, block % 2 == 1, 3, terms);
    if (tess_steps_finish(&s) != TESS_OK)
        abort();
    add_list(all, &s, type, what);
    tess_steps_free(&s);
}

static void add_betweens(test_loop *loop, const tess_unit_list *list)
{
    for (int64_t at = 0, count; tess_between_find(list, 1, &at, &count); at += count) {
        tess_between *b = &loop->between[loop->betweens++];
        *b = (tess_between){.first = at, .count = count};
        if (loop->betweens > TEST_BETWEENS ||
            !tess_between_write(list, at, count, loop->type, 32, TEST_LOOP_ROWS * loop->block,
                                TEST_LOOP_GRID, &b->code))
            abort();
    }
}

static tess_type type_of(bool complex, bool single)
{
    return complex ? (single ? TESS_C32 : TESS_C64) : single ? TESS_F32 : TESS_F64;
}

int test_loops(test_loop *loops, int capacity)
{
    static const int32_t blocks[] = {3, 1, 2, 4, 5, 7, 16};
    int count = 0;
    tess_ctx *ctx;
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        abort();
    for (int k = 0; k < 12; k++) { /* the last five of complex systems */
        const int b = k % 7;
        const bool complex = k >= 7;
        int m = -1;
        for (size_t i = 0; tess_methods[i]; i++) {
            const tess_method *method = tess_methods[i];
            if (method->pc) /* never with these preconditioners */
                continue;
            if (method->size || method->transpose) /* not for loop.cu */
                continue;
            m++;
            test_loop loop = {.method = method->name,
                              .pc = (b + m) % 3 == 0 ? &tess_pc_bjacobi
                                    : b % 3 == 1     ? &tess_pc_jacobi
                                                     : &tess_pc_none,
                              .block = blocks[b],
                              .type = type_of(complex, b == 4),
                              .held = type_of(complex, b == 4 || b == 2),
                              .fused = !complex && (b + m) % 2 == 0};
            tess_solver solver;
            open_solver(&solver, ctx, method, loop.pc, loop.block, loop.type, loop.held);
            tess_unit_list list = {.steps = solver.loop, .imaginary = complex ? method->slots : 0};
            if (tess_units_build(&list, loop.fused, true, method->stops, method->stop_count) !=
                TESS_OK)
                abort();
            /* A long list does not fit a loop, and a device then replays a graph. */
            if (!tess_loop_write(&list, loop.type, loop.block, 128, TESS_LOOP_TEAM, &loop.code) ||
                list.programme_count > TEST_PROGRAMME) {
                if (method == &tess_method_cg || method == &tess_method_cg_single ||
                    method == &tess_method_bicgstab)
                    abort();
                tess_units_free(&list);
                close_solver(&solver);
                continue;
            }
            loop.programme_count = (int)list.programme_count;
            memcpy(loop.programme, list.programmes, (size_t)loop.programme_count * sizeof(int));
            snprintf(loop.name, sizeof loop.name, "loop_%d", count);
            add_betweens(&loop, &list);
            if (count < capacity)
                loops[count] = loop;
            count++;
            tess_units_free(&list);
            close_solver(&solver);
        }
    }
    tess_ctx_destroy(ctx);
    return count;
}

int test_passes(test_pass *passes, int capacity)
{
    static const int32_t blocks[] = {3, 1, 2, 4, 5, 7, 16, 33, 100};
    collection all = {.passes = passes, .capacity = capacity};
    tess_ctx *ctx;
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        abort();
    for (int m = 0; tess_methods[m]; m++) {
        add_method(&all, ctx, tess_methods[m], &tess_pc_none, 1, TESS_F64, TESS_F64);
        add_method(&all, ctx, tess_methods[m], &tess_pc_jacobi, 1, TESS_F64, TESS_F64);
        for (int b = 0; b < (m < 3 ? 9 : 1); b++)
            add_method(&all, ctx, tess_methods[m], &tess_pc_bjacobi, blocks[b], TESS_F64,
                       b % 3 == 1 ? TESS_F32 : TESS_F64);
    }
    for (int b = 0; b < 9; b += 2)
        add_method(&all, ctx, tess_methods[b % 4], &tess_pc_bjacobi, blocks[b], TESS_F32, TESS_F32);
    for (int32_t b = 1; b <= 8; b++)
        add_sums(&all, ctx, b, b == 7 ? TESS_F32 : TESS_F64, b % 3 == 1 ? TESS_F32 : TESS_F64);
    add_sums(&all, ctx, 16, TESS_F64, TESS_F64);
    add_sums(&all, ctx, TESS_PASS_BLOCK + 3, TESS_F64, TESS_F64);
    for (int32_t b = 3; b <= 6; b += 3)
        add_sums(&all, ctx, b, TESS_F32, TESS_F32);
    for (int b = 0; b < 9; b += 2)
        add_sums(&all, ctx, blocks[b], TESS_C64, b % 4 == 0 ? TESS_C64 : TESS_C32);
    for (int b = 1; b < 9; b += 4)
        add_sums(&all, ctx, blocks[b], TESS_C32, TESS_C32);
    for (int m = 0; tess_methods[m]; m++)
        if (tess_methods[m]->complex)
            add_complex(&all, ctx, tess_methods[m], blocks[m % 9], m);
    tess_ctx_destroy(ctx);
    return all.count;
}
