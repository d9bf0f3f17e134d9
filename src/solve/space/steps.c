/* Building a list of steps: statements go into the pass under construction as long as they may, and
 * the traffic of each pass is counted. */
#include <string.h>

#include "solve/space/space.h"

void tess_steps_free(tess_steps *steps)
{
    tess_free(steps->ctx, steps->step);
    tess_free(steps->ctx, steps->line);
    steps->step = NULL;
    steps->line = NULL;
    steps->count = steps->capacity = steps->line_count = steps->line_capacity = 0;
}

/* Room for one more in a growing array; false after a failure, which is kept. */
static bool grow(tess_steps *steps, void **items, size_t size, int64_t count, int64_t *capacity)
{
    if (steps->status != TESS_OK)
        return false;
    if (count < *capacity)
        return true;
    void *more;
    int64_t larger = *capacity ? 2 * *capacity : 16;
    steps->status = tess_alloc_bytes(steps->ctx, larger, size, &more);
    if (steps->status != TESS_OK)
        return false;
    if (count > 0)
        memcpy(more, *items, (size_t)count * size);
    tess_free(steps->ctx, *items);
    *items = more;
    *capacity = larger;
    return true;
}

static void add_step(tess_steps *steps, const tess_step *step)
{
    if (grow(steps, (void **)&steps->step, sizeof *step, steps->count, &steps->capacity))
        steps->step[steps->count++] = *step;
}

/* Whether a pass has computed this slot, so that its lines cannot use it yet. */
static bool pending(const tess_steps *steps, const tess_step *pass, int slot)
{
    for (int64_t i = pass->first_line; i < pass->first_line + pass->lines; i++)
        if (steps->line[i].kind == TESS_LINE_DOT && steps->line[i].slot == slot)
            return true;
    return false;
}

static bool fits(const tess_steps *steps, const tess_line *line)
{
    if (steps->count == 0 || steps->step[steps->count - 1].kind != TESS_STEP_PASS)
        return false;
    const tess_step *pass = &steps->step[steps->count - 1];
    for (int i = 0; i < line->terms; i++)
        if (pending(steps, pass, line->term[i].slot))
            return false;
    return true;
}

static void add_line(tess_steps *steps, const tess_line *line)
{
    if (!fits(steps, line))
        add_step(steps, &(tess_step){.kind = TESS_STEP_PASS, .first_line = steps->line_count});
    if (!grow(steps, (void **)&steps->line, sizeof *line, steps->line_count, &steps->line_capacity))
        return;
    steps->line[steps->line_count++] = *line;
    steps->step[steps->count - 1].lines++;
}

void tess_step_apply(tess_steps *steps, int x, int y)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_APPLY, .x = x, .y = y, .slot = -1});
}

void tess_step_apply_transpose(tess_steps *steps, int x, int y)
{
    add_step(steps,
             &(tess_step){.kind = TESS_STEP_APPLY, .x = x, .y = y, .slot = -1, .transpose = true});
}

void tess_step_apply_dot(tess_steps *steps, int x, int y, int w, int slot)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_APPLY, .x = x, .y = y, .w = w, .slot = slot});
}

static int precondition(tess_steps *steps, int r, int z, bool transpose)
{
    if (steps->pc->options.kind == TESS_PC_NONE)
        return r;
    if (steps->pc->elementwise)
        add_line(steps, &(tess_line){
                            .kind = TESS_LINE_DIAGONAL, .out = z, .x = r, .transpose = transpose});
    else
        add_step(
            steps,
            &(tess_step){.kind = TESS_STEP_PRECONDITION, .x = r, .y = z, .transpose = transpose});
    return z;
}

int tess_step_precondition(tess_steps *steps, int r, int z)
{
    return precondition(steps, r, z, false);
}

int tess_step_precondition_transpose(tess_steps *steps, int r, int z)
{
    return precondition(steps, r, z, true);
}

void tess_step_combine(tess_steps *steps, int out, int terms, const tess_term *term)
{
    tess_line line = {.kind = TESS_LINE_COMBINE, .out = out, .terms = terms};
    for (int i = 0; i < terms; i++)
        line.term[i] = term[i];
    add_line(steps, &line);
}

void tess_step_dot(tess_steps *steps, int slot, int x, int y)
{
    add_line(steps, &(tess_line){.kind = TESS_LINE_DOT, .slot = slot, .x = x, .y = y});
}

void tess_step_scalar(tess_steps *steps, tess_scalar_op op, int out, int a, int b)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_SCALAR, .op = op, .out = out, .a = a, .b = b});
}

/* Vectors that lines first..last-1 of a pass read or write, each counted once as long as the pass
 * lasts: 1 when `vector` is among them. */
static bool touched(const tess_steps *steps, int64_t first, int64_t last, int vector, bool written)
{
    for (int64_t i = first; i < last; i++) {
        const tess_line *line = &steps->line[i];
        if (line->kind != TESS_LINE_DOT && line->out == vector)
            return true;
        if (written)
            continue;
        if (line->kind == TESS_LINE_COMBINE) {
            for (int t = 0; t < line->terms; t++)
                if (line->term[t].vector == vector)
                    return true;
        } else if (line->x == vector || (line->kind == TESS_LINE_DOT && line->y == vector)) {
            return true;
        }
    }
    return false;
}

/* Lengths of a vector moved by one line that earlier lines have not moved already. */
static double new_traffic(const tess_steps *steps, int64_t first, int64_t at)
{
    const tess_line *line = &steps->line[at];
    double moved = 0;
    int in[TESS_TERMS_MAX], count = 0;
    if (line->kind == TESS_LINE_COMBINE) {
        for (int t = 0; t < line->terms; t++)
            in[count++] = line->term[t].vector;
    } else {
        in[count++] = line->x;
        if (line->kind == TESS_LINE_DOT && line->y != line->x)
            in[count++] = line->y;
    }
    for (int i = 0; i < count; i++)
        moved += !touched(steps, first, at, in[i], false);
    if (line->kind != TESS_LINE_DOT)
        moved += !touched(steps, first, at, line->out, true);
    return moved;
}

tess_status tess_steps_finish(tess_steps *steps)
{
    TESS_TRY(steps->status);
    double diagonal = steps->pc->elementwise ? (double)steps->pc->diagonal.block : 0;
    for (int64_t s = 0; s < steps->count; s++) {
        tess_step *pass = &steps->step[s];
        if (pass->kind != TESS_STEP_PASS)
            continue;
        double moved[TESS_LINE_DOT + 1] = {0};
        for (int64_t i = pass->first_line; i < pass->first_line + pass->lines; i++) {
            tess_line_kind kind = steps->line[i].kind;
            moved[kind] += new_traffic(steps, pass->first_line, i) +
                           (kind == TESS_LINE_DIAGONAL ? diagonal : 0);
        }
        pass->vectors = moved[TESS_LINE_COMBINE] + moved[TESS_LINE_DIAGONAL] + moved[TESS_LINE_DOT];
        pass->pc_share = pass->vectors > 0 ? moved[TESS_LINE_DIAGONAL] / pass->vectors : 0;
        pass->dot_share = pass->vectors > 0 ? moved[TESS_LINE_DOT] / pass->vectors : 0;
    }
    return TESS_OK;
}
