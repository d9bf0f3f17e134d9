/* Preconditioners by name, and what all of them share. */
#include "solve/pc/pc.h"

const tess_pc_ops *const tess_pcs[] = {
#define PC(name, file) &tess_pc_##name,
#include "solve/pc/pcs.def"
    NULL,
};

const char *const tess_pc_names[] = {
#define PC(name, file) #name,
#include "solve/pc/pcs.def"
    NULL,
};

const char *const tess_pc_schedule_names[TESS_PC_SCHEDULES + 1] = {"auto", "domains", "levels",
                                                                   "colours", NULL};

/* Fails where the preconditioner cannot be made of the plan's blocks on its device. */
static tess_status check_traits(const tess_plan *plan, const tess_pc_options *options)
{
    const tess_pc_ops *ops = options->ops;
    const int height = (int)plan->matrix->block_height, width = (int)plan->matrix->block_width;
    if (ops->square_blocks && height != width)
        return tess_fail(
            plan->ctx, TESS_ERR_UNSUPPORTED,
            "pc=%s needs square blocks, but these are %d x %d: try pc=jacobi, or store "
            "square ones",
            ops->name, height, width);
    /* Complex blocks are factored as real ones of twice the size. */
    const int largest = (int)ops->largest_block / (tess_is_complex(plan->matrix->type) ? 2 : 1);
    if (largest > 0 && height > largest)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s takes blocks of at most %d x %d, not %d x %d: store smaller ones",
                         ops->name, largest, largest, height, width);
    if (ops->triangular && options->schedule == TESS_PC_DOMAINS && plan->device->threads < 1)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s: schedule=domains is for processors; a GPU takes levels or colours",
                         ops->name);
    if (ops->ordered && (options->schedule == TESS_PC_COLOURS || options->domains > 1))
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s keeps the order of the rows: schedule=levels, or domains=1",
                         ops->name);
    return TESS_OK;
}

const char *tess_pc_without_pivots(const tess_pc *pc)
{
    return tess_is_complex(pc->vector_type) ? "pc=none"
           : pc->options.positive           ? "gmres with pc=ilut,pivot=0.1" /* not symmetric */
           : pc->part                       ? "pc=ilut"
                                            : "pc=ilut,pivot=0.1";
}

tess_matrix tess_plan_present(const tess_plan *plan)
{
    tess_matrix A = *plan->matrix;
    A.values = (void *)(uintptr_t)plan->values;
    return A;
}

struct reals {
    const void *array;
    tess_type type;
    double largest;
};

static void raise_largest(void *arg, tess_range range)
{
    struct reals *reals = arg;
    double largest = 0;
    for (int64_t i = range.first; i < range.last; i++) {
        const double size = fabs(tess_get(reals->array, reals->type, i));
        largest = size <= largest ? largest : isfinite(size) ? size : HUGE_VAL;
    }
    tess_raise_double(&reals->largest, largest);
}

/* Returns the largest |entry|; HUGE_VAL where one is not finite. */
static double find_largest(tess_ctx *ctx, const void *array, tess_type type, int64_t count)
{
    struct reals reals = {array, type, 0};
    tess_for(ctx, count, raise_largest, &reals);
    return reals.largest;
}

/* Finds how stable triangular factors are (pc->growth), by one solve with them. */
static tess_status watch(tess_plan *plan, tess_pc *pc)
{
    const tess_matrix A = tess_plan_present(plan);
    const int64_t count = A.block_rows * A.block_height;
    void *ones;
    TESS_TRY(tess_alloc_bytes(pc->ctx, 2 * count, tess_type_size(A.type), &ones));
    char *z = (char *)ones + (size_t)count * tess_type_size(A.type);
    for (int64_t i = 0; i < count; i++)
        tess_put_complex(ones, A.type, i, (tess_complex){i < A.rows, 0});
    pc->ops->apply(pc, false, ones, z);
    /* Of complex numbers the larger part is taken: it is their size but for a factor of 1.4. */
    const tess_type part = tess_real_type(A.type);
    pc->growth = find_largest(pc->ctx, z, part, tess_reals(A.type, A.rows)) *
                 find_largest(pc->ctx, A.values, part, tess_reals(A.type, tess_matrix_stored(&A)));
    tess_free(pc->ctx, ones);
    if (!(pc->growth <= TESS_PC_UNSTABLE))
        tess_log(pc->ctx, "pc=%s: the factors are unstable, |M^-1 e| |A| = %.3g", pc->ops->name,
                 pc->growth);
    return TESS_OK;
}

/* Calls `compute`, which is set_up or update, with values on the host; NULL: an identity. */
static tess_status with_host_values(tess_plan *plan, tess_pc *pc,
                                    tess_status (*compute)(tess_plan *, tess_pc *))
{
    if (!compute)
        return TESS_OK;
    if (!pc->ops->asks_for_values)
        TESS_TRY(tess_plan_host_values(plan));
    TESS_TRY(compute(plan, pc));
    return pc->ops->triangular && plan->device->threads > 0 ? watch(plan, pc) : TESS_OK;
}

tess_status tess_pc_set_up(tess_plan *plan, const tess_pc_options *options, tess_pc *pc)
{
    const tess_matrix *A = plan->matrix;
    const bool host = plan->device->threads > 0;
    TESS_TRY(check_traits(plan, options));
    *pc = (tess_pc){
        .ctx = plan->ctx,
        .ops = options->ops,
        .options = *options,
        .vector_type = A->type,
        .part = plan->device->backend->sum != NULL,
        .type = !options->single           ? A->type
                : tess_is_complex(A->type) ? TESS_C32
                                           : TESS_F32,
        .threads = host ? plan->device->threads : plan->ctx->threads,
    };
    if (options->schedule == TESS_PC_AUTO)
        pc->options.schedule = host               ? TESS_PC_DOMAINS
                               : pc->ops->ordered ? TESS_PC_LEVELS
                                                  : TESS_PC_COLOURS;
    if (pc->ops->ordered)
        pc->options.domains = 1;
    const tess_status status = with_host_values(plan, pc, pc->ops->set_up);
    if (status != TESS_OK)
        tess_pc_tear_down(pc);
    return status;
}

tess_status tess_pc_update_values(tess_plan *plan, tess_pc *pc)
{
    return with_host_values(plan, pc, pc->ops->update);
}

void tess_pc_tear_down(tess_pc *pc)
{
    if (pc->state)
        pc->ops->free(pc);
    pc->state = NULL;
}

static int append(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose)
{
    if (pc->ops->identity)
        return r;
    pc->ops->append(pc, steps, r, z, transpose);
    return z;
}

void tess_pc_place(tess_pc *pc, int *vectors, int *slots)
{
    pc->own.first_vector = *vectors;
    pc->own.first_slot = *slots;
    *vectors += pc->own.vectors;
    *slots += pc->own.slots;
}

int tess_pc_append(const tess_pc *pc, tess_steps *steps, int r, int z)
{
    return append(pc, steps, r, z, false);
}

int tess_pc_append_transpose(const tess_pc *pc, tess_steps *steps, int r, int z)
{
    return append(pc, steps, r, z, true);
}

void tess_pc_append_step(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose)
{
    tess_step_precondition(steps, pc, r, z, transpose);
}
