/* The texts of loop.cu and between.cu for lists of units, and their launches. No device is needed
 * here. */
#include "cuda/kernels/support.h"
#include "cuda/solve/units/loop_code.h"

/* Limits of between.cu. AHEAD: scalars of the diagonal that a thread holds in registers. SHARED:
 * bytes of shared memory through which threads exchange rows of a block, 48 kB less slots and
 * sums. */
enum { BETWEEN_AHEAD = 20, BETWEEN_SHARED = 44 * 1024 };

/* The state of writing a list as text. */
typedef struct writer {
    tess_loop_code *code;
    size_t used;
    bool fits;
    uint64_t written; /* bits of vectors whose new rows other thread blocks may not see yet */
    uint64_t read;    /* bits of vectors whose rows others may still be reading */
    unsigned pending; /* bits of dot products not yet added up */
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

/* A programme as statements. */
static void write_scalars(writer *w, const int *programme, int at)
{
    const int *op = programme + 3;
    put(w, "SCALARS(%d)", at);
    for (int i = 0; i < programme[0]; i++, op += 4)
        put(w, "OP(%d,%d,%d,%d)", op[0], op[1], op[2], op[3]);
    if (programme[2] == 0) {
        put(w, "DONE()");
        return;
    }
    put(w, "ENDS(%d", programme[1]);
    for (int i = 0; i < programme[1]; i++, op += 3)
        put(w, ",%d,%d,%d", op[0], op[1], op[2]);
    put(w, ")DONE()KEEP()");
}

static bool is_pending(const writer *w, int slot)
{
    const tess_pass_kernel *numbers = &w->code->numbers;
    for (int k = 0; k < numbers->dots; k++)
        if ((w->pending >> k & 1) && numbers->dot_slot[k] == slot)
            return true;
    return false;
}

static void write_pass(writer *w, const tess_steps *steps, const tess_unit *unit)
{
    tess_pass_kernel *numbers = &w->code->numbers;
    const int before = numbers->dots;
    for (int64_t i = 0; i < unit->updates; i++) {
        const tess_update *update = &steps->update[unit->first_update + i];
        for (int t = 0; t < update->terms; t++)
            if (is_pending(w, update->term[t].slot)) {
                write_total(w);
                put(w, "SYNC()");
            }
    }
    numbers->loads = numbers->stores = 0;
    numbers->updates[0] = '\0';
    for (int64_t i = 0; i < unit->updates; i++)
        if (!tess_pass_add(numbers, &steps->update[unit->first_update + i]))
            w->fits = false;
    if (w->read & numbers->stores) {
        put(w, "SHARE()");
        barrier(w);
    }
    put(w, "BEGIN(%u,%u)%sEND()", numbers->loads, numbers->stores, numbers->updates);
    w->code->loads |= numbers->loads & ~w->code->stores;
    w->code->stores |= numbers->stores;
    w->written |= numbers->stores;
    for (int k = before; k < numbers->dots; k++)
        w->pending |= 1u << k;
}

/* The dot product behind a product that leaves no partial sums. */
static void write_dot(writer *w, const tess_step *step)
{
    tess_update update = {
        .kind = TESS_UPDATE_DOT, .slot = step->slot, .x = step->w, .y = step->y, .dot = step->dot};
    const tess_steps dot = {.update = &update};
    write_pass(w, &dot, &(tess_unit){.updates = 1});
}

static void write_product(writer *w, const tess_step *step)
{
    tess_pass_kernel *numbers = &w->code->numbers;
    const int x = tess_pass_place(numbers, step->x), y = tess_pass_place(numbers, step->y);
    if (x < 0 || y < 0 || step->transpose || step->plan) {
        w->fits = false;
        return;
    }
    if ((w->written >> x & 1) || (w->read >> y & 1)) {
        put(w, "SHARE()");
        barrier(w);
    }
    w->read |= (uint64_t)1 << x;
    w->written |= (uint64_t)1 << y;
    if (step->slot < 0 || numbers->imaginary > 0) {
        put(w, "PRODUCT(%d,%d)", x, y);
        if (step->slot >= 0)
            write_dot(w, step);
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

static void write_unit(writer *w, const tess_unit_list *list, const tess_unit *unit)
{
    if (unit->kind == TESS_UNIT_APPLY)
        write_product(w, unit->step);
    else if (unit->kind == TESS_UNIT_PASS)
        write_pass(w, list->steps, unit);
    else if (unit->kind == TESS_UNIT_PRECONDITION || unit->kind == TESS_UNIT_RESCALE)
        w->fits = false;
    if (unit->step->level != 0)
        w->fits = false;
    if (unit->programme < 0)
        return;
    const int *programme = list->programmes + unit->programme;
    if (programme[0] == 0 && programme[2] == 0)
        return; /* no scalars follow: the sums are not needed yet */
    write_total(w);
    write_scalars(w, programme, (int)unit->programme);
}

/* The defines that pass.cu has too. */
static void write_defines(tess_loop_code *code, tess_type type)
{
    const tess_pass_kernel *numbers = &code->numbers;
    tess_cuda_scalar_defines(type, false, code->defines, sizeof code->defines);
    tess_append(code->defines, sizeof code->defines,
                " -DHELD=%d -DBLOCK=%d -DTHREADS=%d -DVECTORS=%d -DCOEFS=%d -DDOTS=%d",
                tess_pass_held(&code->diagonal), (int)code->diagonal.block, code->threads,
                numbers->vectors > 0 ? numbers->vectors : 1, numbers->coefs,
                numbers->dots > 0 ? numbers->dots : 1);
}

/* The diagonal that the passes of these units apply. False: there are several, or its blocks are
 * too large. */
static bool find_diagonal(const tess_unit_list *list, int64_t first, int64_t count,
                          tess_loop_code *code)
{
    for (const tess_unit *unit = list->units + first; unit < list->units + first + count; unit++) {
        for (int64_t i = 0; unit->kind == TESS_UNIT_PASS && i < unit->updates; i++) {
            const tess_diagonal *diagonal = list->steps->update[unit->first_update + i].diagonal;
            if (!diagonal)
                continue;
            if (code->diagonal.block > 0 && code->diagonal.blocks != diagonal->blocks)
                return false;
            code->diagonal = *diagonal;
        }
    }
    return code->diagonal.block <= TESS_LOOP_BLOCK;
}

bool tess_loop_write(const tess_unit_list *list, tess_type type, int32_t block, int threads,
                     int team, tess_loop_code *code)
{
    *code =
        (tess_loop_code){.threads = threads, .team = team, .numbers.imaginary = list->imaginary};
    writer w = {.code = code,
                .fits = find_diagonal(list, 0, list->count, code) && block <= TESS_LOOP_BLOCK};
    /* The list is written twice, since the next iteration begins with the state (written, read) in
     * which one ends. */
    for (int turn = 0; turn < 2 && w.fits; turn++) {
        code->numbers.dots = 0;
        w.used = 0;
        w.pending = 0;
        for (int64_t i = 0; i < list->count; i++)
            write_unit(&w, list, &list->units[i]);
    }
    if (w.pending != 0 || code->numbers.dots == 0)
        w.fits = false; /* a sum that only the next iteration reads */
    write_defines(code, type);
    tess_append(code->defines, sizeof code->defines, " -DBH=%d -DTEAM=%d -DSTAGES=%s", (int)block,
                team, code->stages);
    return w.fits;
}

static bool can_be_between(const tess_unit *unit)
{
    return (unit->kind == TESS_UNIT_PASS && unit->step->level == 0) ||
           unit->kind == TESS_UNIT_FINISH;
}

bool tess_between_find(const tess_unit_list *list, int least, int64_t *at, int64_t *count)
{
    for (; *at < list->count; *at += *count + 1) {
        *count = 0;
        while (*at + *count < list->count && can_be_between(&list->units[*at + *count]))
            (*count)++;
        if (*count >= least)
            return true;
    }
    return false;
}

/* Whether a unit reads or writes the vector. */
static bool touches(const tess_unit *unit, int vector)
{
    const tess_step *step = unit->step;
    if (unit->kind == TESS_UNIT_APPLY)
        return step->x == vector || step->y == vector || (step->slot >= 0 && step->w == vector);
    if (unit->kind != TESS_UNIT_PASS)
        return unit->kind != TESS_UNIT_FINISH && (step->x == vector || step->y == vector);
    for (int i = 0; i < unit->pass->vectors; i++)
        if (unit->pass->vector[i] == vector)
            return true;
    return false;
}

/* Vectors that only these units use, and that they write before they read: they need not be
 * stored. */
static unsigned passing_vectors(const tess_unit_list *list, int64_t first, int64_t count,
                                const tess_loop_code *code)
{
    unsigned passing = code->stores & ~code->loads;
    for (int k = 0; k < code->numbers.vectors; k++) {
        bool elsewhere = code->numbers.vector[k] < TESS_V_OWN;
        for (int64_t i = 0; i < list->count; i++)
            if (i < first || i >= first + count)
                elsewhere |= touches(&list->units[i], code->numbers.vector[k]);
        if (elsewhere)
            passing &= ~(1u << k);
    }
    return passing;
}

/* Vectors that the launch before these units may write: y of a product, or all. */
static unsigned late_vectors(const tess_unit_list *list, int64_t first, const tess_loop_code *code)
{
    const tess_unit *before = first > 0 ? &list->units[first - 1] : NULL;
    if (!before || before->kind != TESS_UNIT_APPLY)
        return code->loads;
    for (int k = 0; k < code->numbers.vectors; k++)
        if (code->numbers.vector[k] == before->step->y)
            return 1u << k;
    return 0;
}

/* Rows per thread, as between.cu divides them. */
static int rows_a_thread(const tess_loop_code *code, int64_t rows, int grid, int threads)
{
    const int64_t unit = code->diagonal.block > 0 ? code->diagonal.block : 1;
    return (int)tess_ceil_div((rows / unit + grid) / grid * unit, threads / unit * unit);
}

/* Whether a multiprocessor's 65 536 registers hold the vectors' and the diagonal's rows of all
 * threads. A thread needs about 48 registers beside them. */
static bool registers_suffice(const tess_loop_code *code, int repeat)
{
    const int rows = code->diagonal.block * repeat, ahead = rows <= BETWEEN_AHEAD ? rows : 0;
    const int scalar = code->numbers.imaginary > 0 ? 4 : 2;
    return scalar * (repeat * code->numbers.vectors + ahead) + 48 <= 65536 / code->threads;
}

static bool shared_suffices(const tess_loop_code *code, int repeat, tess_type type)
{
    const int64_t rows = code->diagonal.block > 1 ? (int64_t)repeat * code->threads : 0;
    return rows * (int64_t)tess_type_size(type) <= BETWEEN_SHARED;
}

bool tess_between_write(const tess_unit_list *list, int64_t first, int64_t count, tess_type type,
                        int threads, int64_t rows, int grid, tess_loop_code *code)
{
    *code = (tess_loop_code){.threads = threads, .numbers.imaginary = list->imaginary};
    writer w = {.code = code, .fits = find_diagonal(list, first, count, code)};
    for (int64_t i = first; i < first + count && w.fits; i++) {
        const tess_unit *unit = &list->units[i];
        if (unit->kind == TESS_UNIT_FINISH && unit->pass && !unit->sums)
            write_dot(&w, unit->step);
        else if (unit->kind == TESS_UNIT_FINISH && unit->pass)
            put(&w, "PRODUCT_SUM(%d)", unit->step->slot);
        write_unit(&w, list, unit);
    }
    write_total(&w);
    write_defines(code, type);
    code->stores &= ~passing_vectors(list, first, count, code);
    const int repeat = rows_a_thread(code, rows, grid, threads);
    tess_append(code->defines, sizeof code->defines,
                " -DREPEAT=%d -DMOST_AHEAD=%d -DLOADS=%u -DSTORES=%u -DLATE=%u -DSTAGES=%s", repeat,
                BETWEEN_AHEAD, code->loads, code->stores, late_vectors(list, first, code),
                code->stages);
    return w.fits && registers_suffice(code, repeat) && shared_suffices(code, repeat, type);
}

void tess_between_launch(const tess_loop_code *code, const tess_loop_call *call,
                         tess_cuda_launch *out)
{
    tess_cuda_launch *run = tess_cuda_launch_start(out, "between", call->grid, code->threads);
    run->cooperative = run->overlaps = true;
    tess_rows_arguments(&code->numbers, &call->common, run);
    TESS_CUDA_POINTERS(run, call->product_sums);
    TESS_CUDA_INTEGERS(run, call->product_count);
    TESS_CUDA_POINTERS(run, call->partial, call->meeting);
}

void tess_loop_launch(const tess_loop_code *code, const tess_loop_call *call, tess_cuda_launch *out)
{
    tess_cuda_launch *run = tess_cuda_launch_start(out, "loop", call->grid, code->threads);
    run->cluster = true;
    run->shared = (unsigned)call->shared;
    tess_rows_arguments(&code->numbers, &call->common, run);
    TESS_CUDA_INTEGERS(run, call->span);
    TESS_CUDA_POINTERS(run, call->offsets, call->values, call->first, call->sources,
                       call->source_first, call->places);
}
