/* Passes as kernels: which updates become one kernel, the text that specialises pass.cu, its
 * arguments. */
#include "cuda/kernels/support.h"
#include "cuda/solve/units/pass.h"

int tess_pass_place(tess_pass_kernel *kernel, int vector)
{
    for (int i = 0; i < kernel->vectors; i++)
        if (kernel->vector[i] == vector)
            return i;
    if (kernel->vectors == TESS_PASS_VECTORS)
        return -1;
    kernel->vector[kernel->vectors] = vector;
    return kernel->vectors++;
}

/* The place of a vector that an update reads. The kernel loads it unless it has written it before.
 */
static int read_place(tess_pass_kernel *kernel, int vector)
{
    const int place = tess_pass_place(kernel, vector);
    if (place >= 0 && !(kernel->stores >> place & 1))
        kernel->loads |= 1u << place;
    return place;
}

static int write_place(tess_pass_kernel *kernel, int vector)
{
    const int place = tess_pass_place(kernel, vector);
    if (place >= 0)
        kernel->stores |= 1u << place;
    return place;
}

static int coef_of(tess_pass_kernel *kernel, const tess_term *term)
{
    for (int i = 0; i < kernel->coefs; i++)
        if (kernel->coef[i].factor == term->factor && kernel->coef[i].slot == term->slot)
            return i;
    if (kernel->coefs == TESS_PASS_COEFS)
        return -1;
    kernel->coef[kernel->coefs] = *term;
    return kernel->coefs++;
}

/* Appends coefficient and vector of each term. */
static bool add_terms(tess_pass_kernel *kernel, const tess_update *update, char *operands,
                      size_t size)
{
    for (int i = 0; i < update->terms; i++) {
        const int coef = coef_of(kernel, &update->term[i]);
        const int place = read_place(kernel, update->term[i].vector);
        if (coef < 0 || place < 0)
            return false;
        tess_append(operands, size, ",%d,%d", coef, place);
    }
    return true;
}

static bool add_combine(tess_pass_kernel *kernel, const tess_update *update, char *text,
                        size_t size)
{
    char operands[128] = "";
    if (!add_terms(kernel, update, operands, sizeof operands))
        return false;
    const int out = write_place(kernel, update->out);
    snprintf(text, size, "SUM%d(%d%s)", update->terms, out, operands);
    return out >= 0;
}

static bool add_diagonal(tess_pass_kernel *kernel, const tess_update *update, char *text,
                         size_t size)
{
    if (kernel->diagonal.block > 0 && kernel->diagonal.blocks != update->diagonal->blocks)
        return false;
    char operands[128] = "";
    const tess_term scale = {update->factor, TESS_ONE, update->x};
    const bool alone = update->terms == 0 && update->factor == 1;
    const int x = read_place(kernel, update->x);
    const int coef = alone ? 0 : coef_of(kernel, &scale);
    if (!add_terms(kernel, update, operands, sizeof operands))
        return false;
    const int out = write_place(kernel, update->out);
    kernel->diagonal = *update->diagonal;
    if (alone)
        snprintf(text, size, "DIAGONAL%s(%d,%d)", update->transpose ? "_T" : "", out, x);
    else
        snprintf(text, size, "DIAGONAL_SUM%d(%d,%d,%d,%d%s)", update->terms, out, coef, x,
                 update->transpose, operands);
    return x >= 0 && out >= 0 && coef >= 0;
}

/* Appends a dot product. Complex vectors have one sum for its real part and, behind it, one for its
 * imaginary part if it has one. */
static bool add_dot(tess_pass_kernel *kernel, const tess_update *update, char *text, size_t size)
{
    const bool imaginary = kernel->imaginary > 0 && update->dot != TESS_DOT_REAL;
    const bool reversed = update->dot == TESS_DOT_REVERSED;
    const int x = read_place(kernel, update->x), y = read_place(kernel, update->y);
    if (x < 0 || y < 0 || kernel->dots + imaginary >= tess_pass_most_sums(kernel))
        return false;
    kernel->dot_slot[kernel->dots] = update->slot;
    snprintf(text, size, "DOT(%d,%d,%d)", kernel->dots++, x, y);
    if (!imaginary)
        return true;
    kernel->dot_slot[kernel->dots] = kernel->imaginary + update->slot;
    tess_append(text, size, "DOT_IM(%d,%d,%d)", kernel->dots++, reversed ? y : x, reversed ? x : y);
    return true;
}

bool tess_pass_add(tess_pass_kernel *kernel, const tess_update *update)
{
    tess_pass_kernel before = *kernel;
    char text[160];
    const bool fits =
        update->kind == TESS_UPDATE_COMBINE    ? add_combine(kernel, update, text, sizeof text)
        : update->kind == TESS_UPDATE_DIAGONAL ? add_diagonal(kernel, update, text, sizeof text)
                                               : add_dot(kernel, update, text, sizeof text);
    const size_t used = strlen(before.updates);
    if (!fits || used + strlen(text) >= sizeof kernel->updates) {
        *kernel = before;
        return false;
    }
    memcpy(kernel->updates + used, text, strlen(text) + 1);
    return true;
}

int64_t tess_pass_take(const tess_steps *steps, const tess_step *pass, int64_t first, int imaginary,
                       tess_pass_kernel *kernel)
{
    const tess_update *updates = steps->update + pass->first_update;
    *kernel = (tess_pass_kernel){.repeat = 1, .imaginary = imaginary};
    int64_t at = first;
    while (at < pass->updates) {
        const bool alone = updates[at].kind == TESS_UPDATE_DIAGONAL &&
                           updates[at].diagonal->block > TESS_PASS_BLOCK;
        if (alone && at > first)
            break;
        if (!tess_pass_add(kernel, &updates[at]))
            break;
        at++;
        kernel->direct |= alone;
        if (alone)
            break;
    }
    /* A pass of many kernels (GMRES) is cut where the kind of update changes. Its kernels are then
     * of few kinds, each compiled once. */
    if (at < pass->updates || first > 0) {
        int64_t end = first + 1;
        while (end < at && updates[end].kind == updates[first].kind)
            end++;
        if (end < at) {
            *kernel = (tess_pass_kernel){.repeat = 1, .imaginary = imaginary};
            for (int64_t i = first; i < end; i++)
                (void)tess_pass_add(kernel, &updates[i]);
            at = end;
        }
    }
    return at - first;
}

/* Rows that a thread block takes at a time. */
static int64_t tile_of(const tess_pass_kernel *kernel)
{
    const int b = kernel->diagonal.block > 0 && !kernel->direct ? kernel->diagonal.block : 1;
    return (int64_t)(TESS_PASS_THREADS / b * b) * kernel->repeat;
}

/* A thread gets several rows where one row each would need more than `blocks` thread blocks: all
 * loads of a launch are then in flight at once. */
void tess_pass_fit(tess_pass_kernel *kernel, int64_t rows, int blocks)
{
    const int block = kernel->diagonal.block, parts = kernel->imaginary > 0 ? 2 : 1,
              registers = parts * (kernel->vectors + (block <= 8 ? block : 0));
    kernel->repeat = 1;
    while (2 * kernel->repeat * registers <= 40 && kernel->repeat < 4 &&
           rows > tile_of(kernel) * blocks)
        kernel->repeat *= 2;
}

int tess_pass_held(const tess_diagonal *diagonal)
{
    return diagonal->block > 0 ? (int)tess_type_size(tess_real_type(diagonal->type)) : 8;
}

void tess_pass_defines(const tess_pass_kernel *kernel, tess_type type, char *text, size_t size)
{
    const tess_diagonal *d = &kernel->diagonal;
    tess_cuda_scalar_defines(type, false, text, size);
    tess_append(text, size,
                " -DHELD=%d -DBLOCK=%d -DDIRECT=%d -DTHREADS=%d -DREPEAT=%d -DVECTORS=%d "
                "-DLOADS=%u -DSTORES=%u -DCOEFS=%d -DDOTS=%d -DUPDATES=%s",
                tess_pass_held(d), (int)d->block, kernel->direct, TESS_PASS_THREADS, kernel->repeat,
                kernel->vectors, kernel->loads, kernel->stores, kernel->coefs, kernel->dots,
                kernel->updates);
}

void tess_finish_arguments(const tess_finish_call *call, tess_cuda_launch *run)
{
    TESS_CUDA_POINTERS(run, call->slots, call->control, call->ring);
    TESS_CUDA_INTEGERS(run, call->slot_count, call->guard);
    TESS_CUDA_POINTERS(run, call->programme);
    TESS_CUDA_INTEGERS(run, call->ints);
}

void tess_rows_arguments(const tess_pass_kernel *kernel, const tess_rows_call *call,
                         tess_cuda_launch *run)
{
    tess_finish_arguments(&call->finish, run);
    tess_cuda_add_args(run, call->vector, TESS_PASS_VECTORS);
    for (int i = 0; i < TESS_PASS_COEFS; i++)
        TESS_CUDA_NUMBERS(run, kernel->coef[i].factor);
    for (int i = 0; i < TESS_PASS_COEFS; i++)
        TESS_CUDA_INTEGERS(run, kernel->coef[i].slot);
    for (int i = 0; i < tess_pass_most_sums(kernel); i++)
        TESS_CUDA_INTEGERS(run, kernel->dot_slot[i]);
    TESS_CUDA_POINTERS(run, call->diagonal);
    TESS_CUDA_INTEGERS(run, call->rows);
}

void tess_pass_launch(const tess_pass_kernel *kernel, const tess_pass_call *call,
                      tess_cuda_launch *out)
{
    const int64_t tiles = tess_ceil_div(call->common.rows, tile_of(kernel));
    const int64_t grid = tess_max(tess_min(call->blocks, tiles), 1);
    tess_cuda_launch *run = tess_cuda_launch_start(out, "pass", grid, TESS_PASS_THREADS);
    run->overlaps = true;
    tess_rows_arguments(kernel, &call->common, run);
    TESS_CUDA_POINTERS(run, call->partial, call->ticket, call->mail);
}
