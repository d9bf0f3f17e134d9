/* The text of loop.cu for a list of units, and its launch; no device is needed here. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cuda/kernels/support.h"
#include "cuda/space_cuda.h"

/* A list on its way to text. */
typedef struct writer {
    tess_loop_code *code;
    size_t used;
    bool fits;
    uint64_t written; /* vectors whose rows other thread blocks have not seen; by their numbers */
    uint64_t read;    /* vectors whose rows others may still be reading */
    unsigned pending; /* dot products not yet added up */
    unsigned shown;   /* vectors that products read */
} writer;

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(w->code->stages + w->used, sizeof w->code->stages - w->used, format, arguments);
    va_end(arguments);
    if (w->used + (size_t)length >= sizeof w->code->stages)
        w->fits = false;
    else
        w->used += (size_t)length;
}

static void barrier(writer *w)
{
    w->written = w->read = 0;
}

static void write_total(writer *w)
{
    if (w->pending == 0)
        return;
    put(w, "TOTAL(%u)", w->pending);
    w->pending = 0;
    barrier(w);
}

static bool is_pending(const writer *w, int slot)
{
    const tess_pass_kernel *numbers = &w->code->numbers;
    for (int k = 0; k < numbers->dots; k++)
        if ((w->pending >> k & 1) && numbers->dot_slot[k] == slot)
            return true;
    return false;
}

static void write_product(writer *w, const tess_step *step)
{
    tess_pass_kernel *numbers = &w->code->numbers;
    const int x = tess_pass_place(numbers, step->x), y = tess_pass_place(numbers, step->y);
    if (x < 0 || y < 0 || step->transpose) {
        w->fits = false;
        return;
    }
    if ((w->written >> x & 1) || (w->read >> y & 1)) {
        put(w, "SHARE()");
        barrier(w);
    }
    w->read |= (uint64_t)1 << x;
    w->shown |= 1u << x;
    w->written |= (uint64_t)1 << y;
    if (step->slot < 0) {
        put(w, "PRODUCT(%d,%d)", x, y);
        return;
    }
    const int by = tess_pass_place(numbers, step->w);
    if (by < 0 || numbers->dots == TESS_PASS_DOTS) {
        w->fits = false;
        return;
    }
    put(w, "PRODUCT_DOT(%d,%d,%d,%d)", x, y, by, numbers->dots);
    numbers->dot_slot[numbers->dots] = step->slot;
    w->pending |= 1u << numbers->dots++;
}

static void write_pass(writer *w, const tess_steps *steps, const tess_unit *unit)
{
    tess_pass_kernel *numbers = &w->code->numbers;
    const int before = numbers->dots;
    for (int64_t i = 0; i < unit->lines; i++) {
        const tess_line *line = &steps->line[unit->first_line + i];
        for (int t = 0; t < line->terms; t++)
            if (is_pending(w, line->term[t].slot))
                write_total(w);
    }
    numbers->loads = numbers->stores = 0;
    numbers->lines[0] = '\0';
    for (int64_t i = 0; i < unit->lines; i++)
        if (!tess_pass_add_line(numbers, &steps->line[unit->first_line + i]))
            w->fits = false;
    if (w->read & numbers->stores) {
        put(w, "SHARE()");
        barrier(w);
    }
    put(w, "BEGIN(%u,%u)%sEND()", numbers->loads, numbers->stores, numbers->lines);
    w->written |= numbers->stores;
    for (int k = before; k < numbers->dots; k++)
        w->pending |= 1u << k;
}

static void write_unit(writer *w, const tess_unit_list *list, const tess_unit *unit)
{
    if (unit->kind == TESS_UNIT_APPLY)
        write_product(w, unit->step);
    else if (unit->kind == TESS_UNIT_PASS)
        write_pass(w, list->steps, unit);
    else if (unit->kind == TESS_UNIT_PRECONDITION)
        w->fits = false;
    if (unit->programme < 0)
        return;
    const int *programme = list->programmes + unit->programme;
    if (programme[0] == 0 && programme[2] == 0)
        return; /* sums that nobody needs yet */
    write_total(w);
    put(w, "SCALARS(%d)", (int)unit->programme);
}

bool tess_loop_write(const tess_unit_list *list, tess_type type, int32_t block, int threads,
                     tess_loop_code *code)
{
    const tess_pc *pc = list->steps->pc;
    const int32_t diagonal = pc->elementwise ? pc->diagonal.block : 0;
    *code = (tess_loop_code){.threads = threads};
    writer w = {.code = code, .fits = block <= TESS_LOOP_BLOCK && diagonal <= TESS_LOOP_BLOCK};
    /* Twice: what the end of an iteration leaves is what the next one begins with. */
    for (int turn = 0; turn < 2 && w.fits; turn++) {
        const int vectors = code->numbers.vectors;
        code->numbers.dots = 0;
        if (turn == 1 && vectors != code->numbers.vectors)
            w.fits = false;
        w.used = 0;
        w.pending = 0;
        for (int64_t i = 0; i < list->count; i++)
            write_unit(&w, list, &list->units[i]);
    }
    if (w.pending != 0 || code->numbers.dots == 0)
        w.fits = false; /* a sum that is read in the next iteration only */
    snprintf(
        code->defines, sizeof code->defines,
        "-DREAL=%d -DBH=%d -DHELD=%d -DBLOCK=%d -DTHREADS=%d -DVECTORS=%d -DCOEFS=%d -DDOTS=%d "
        "-DPROGRAMME=%d -DSHOWN=%u -DSTAGES=%s",
        (int)tess_type_size(type), (int)block,
        diagonal > 0 ? (int)tess_type_size(pc->diagonal.type) : 8, (int)diagonal, threads,
        code->numbers.vectors, code->numbers.coefs, code->numbers.dots, (int)list->programme_count,
        w.shown, code->stages);
    return w.fits;
}

void tess_loop_launch(const tess_loop_code *code, const tess_loop_call *call, tess_cuda_launch *out)
{
    const tess_pass_kernel *numbers = &code->numbers;
    tess_cuda_launch *run =
        tess_cuda_launch_start(out, "loop", (unsigned)call->grid, (unsigned)code->threads);
    run->cooperative = true;
    run->shared = (unsigned)call->shared;
    tess_cuda_arg_pointer(run, call->slots);
    tess_cuda_arg_pointer(run, call->control);
    tess_cuda_arg_pointer(run, call->ring);
    tess_cuda_arg_integer(run, call->slot_count);
    tess_cuda_arg_integer(run, TESS_GUARD_NONE);
    tess_cuda_arg_pointer(run, call->programme);
    tess_cuda_arg_integer(run, call->ints);
    for (int i = 0; i < TESS_PASS_VECTORS; i++)
        tess_cuda_arg_pointer(run, call->vector[i]);
    for (int i = 0; i < TESS_PASS_COEFS; i++)
        tess_cuda_arg_number(run, numbers->coef[i].factor);
    for (int i = 0; i < TESS_PASS_COEFS; i++)
        tess_cuda_arg_integer(run, numbers->coef[i].slot);
    for (int i = 0; i < TESS_PASS_DOTS; i++)
        tess_cuda_arg_integer(run, numbers->dot_slot[i]);
    tess_cuda_arg_pointer(run, call->diagonal);
    tess_cuda_arg_integer(run, call->rows);
    tess_cuda_arg_pointer(run, call->offsets);
    tess_cuda_arg_pointer(run, call->columns);
    tess_cuda_arg_pointer(run, call->values);
    tess_cuda_arg_pointer(run, call->first);
    tess_cuda_arg_pointer(run, call->parts);
    tess_cuda_arg_pointer(run, call->arrived);
}

int64_t tess_loop_share(const tess_matrix *A, const tess_loop_code *code, int grid, int32_t *first)
{
    const int64_t all = A->blocks + A->block_rows, b = A->block_height;
    const int64_t real = (int64_t)tess_type_size(A->type), index = (int64_t)sizeof(int32_t);
    int64_t row = 0, most = 0;
    first[0] = 0;
    for (int g = 1; g <= grid; g++) {
        while (row < A->block_rows && A->row_offsets[row] + row < all * g / grid)
            row++;
        first[g] = (int32_t)(g == grid ? A->block_rows : row);
        const int64_t rows = first[g] - first[g - 1];
        const int64_t blocks = A->row_offsets[first[g]] - A->row_offsets[first[g - 1]];
        const int64_t bytes = blocks * (b * b * real + index) +
                              rows * (b * code->numbers.vectors * real + index) + index;
        most = bytes > most ? bytes : most;
    }
    return most;
}
