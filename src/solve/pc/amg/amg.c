/* The preconditioner pc=amg: one multigrid cycle. */
#include "solve/pc/amg/amg.h"

const char *const tess_amg_cycle_names[TESS_CYCLES + 1] = {"auto", "v", "w", "k", NULL};
const char *const tess_amg_smoother_names[TESS_SMOOTHERS + 1] = {"auto", "chebyshev", "gs", "ilu0",
                                                                 NULL};
const char *const tess_amg_prolongator_names[TESS_PROLONGATORS + 1] = {"smoothed", "plain", NULL};

/* The largest asymmetry (tess_symmetry) of a matrix that counts as symmetric. */
static const double rounding = 1e-10;

/* Whether A is symmetric. For a method that needs a symmetric matrix the caller has said so; for
 * others the entries are compared. */
static tess_status look(tess_plan *plan, const tess_pc *pc, bool *symmetric)
{
    tess_symmetry symmetry = {.asymmetry = 0};
    if (!pc->options.positive) {
        TESS_TRY(tess_plan_host_values(plan));
        const tess_matrix A = tess_plan_present(plan);
        TESS_TRY(tess_matrix_symmetry(pc->ctx, &A, &symmetry));
    }
    *symmetric = !(symmetry.asymmetry >= rounding); /* with NaNs too: the method reports those */
    return TESS_OK;
}

/* Chooses what the options leave to `auto`. Where A is not symmetric, or prolongators are plain,
 * the coarse correction has the wrong size. A K-cycle finds the right size, where the method allows
 * a preconditioner that changes. Elsewhere a W-cycle is the next best. */
static tess_status choose(tess_plan *plan, const tess_pc *pc, tess_amg *amg)
{
    const tess_amg_options *options = &pc->options.amg;
    TESS_TRY(look(plan, pc, &amg->symmetric));
    amg->plain = options->prolongator == TESS_PROLONGATOR_PLAIN;
    amg->cycle = options->cycle != TESS_CYCLE_AUTO ? options->cycle
                 : amg->symmetric && !amg->plain   ? TESS_CYCLE_V
                 : pc->options.flexible            ? TESS_CYCLE_K
                                                   : TESS_CYCLE_W;
    amg->smoother = options->smoother != TESS_SMOOTHER_AUTO ? options->smoother
                    : amg->symmetric                        ? TESS_SMOOTHER_CHEBYSHEV
                                                            : TESS_SMOOTHER_ILU0;
    /* One degree more saves a third of the iterations and adds two products to three. With scalars
     * it does not pay: vectors weigh as much as the matrix. */
    const bool chebyshev = amg->smoother == TESS_SMOOTHER_CHEBYSHEV;
    amg->degree = options->degree > 0                           ? options->degree
                  : chebyshev && plan->matrix->block_height > 1 ? 2
                                                                : 1;
    amg->sweep = amg->smoother == TESS_SMOOTHER_ILU0 ? tess_pc_ilu0 : tess_pc_ssor;
    amg->sweep.replaces_pivots = true; /* empty rows and singular coarse matrices have zeros */
    if (pc->options.transpose && (!amg->symmetric || amg->cycle == TESS_CYCLE_K))
        return tess_fail(pc->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=amg has no transpose %s: try gmres or bicgstab",
                         amg->symmetric ? "with cycle=k" : "of a matrix that is not symmetric");
    return TESS_OK;
}

void tess_amg_start_clock(tess_amg *amg)
{
    memset(amg->seconds, 0, sizeof amg->seconds);
    amg->since = tess_seconds();
}

void tess_amg_count_time(tess_amg *amg, int phase)
{
    const double now = tess_seconds();
    amg->seconds[phase] += now - amg->since;
    amg->since = now;
}

/* Writes the times of a set-up's phases of half a millisecond or more. */
static void write_times(tess_amg *amg)
{
    static const char *const names[AMG_PHASES] = {
        "modes",  "plans of A", "diagonal",  "eigenvalue", "strength",
        "groups", "QR",         "patterns",  "placing",    "P",
        "R A P",  "bottom",     "smoothers", "plans of P", "plans of R"};
    double all = 0;
    for (int i = 0; i < AMG_PHASES; i++)
        all += amg->seconds[i];
    tess_append(amg->text, sizeof amg->text, "set-up %.0f ms", 1e3 * all);
    for (int i = 0, some = 0; i < AMG_PHASES; i++)
        if (amg->seconds[i] >= 0.5e-3)
            tess_append(amg->text, sizeof amg->text, "%s %s %.0f", some++ ? "," : ":", names[i],
                        1e3 * amg->seconds[i]);
    tess_append(amg->text, sizeof amg->text, "\n");
}

/* Writes the description: two lines about all levels, one per level and one about the times. */
static void write_text(tess_amg *amg)
{
    static const char *const cycles[TESS_CYCLES] = {"", "V", "W", "K"};
    snprintf(amg->text, sizeof amg->text,
             "%d levels, %d modes, operator complexity %.3f\n%s-cycle, %s %lld + %lld, %s "
             "prolongators\n",
             amg->levels, (int)amg->modes, tess_amg_complexity(amg), cycles[amg->cycle],
             tess_amg_smoother_names[amg->smoother], (long long)amg->degree, (long long)amg->degree,
             tess_amg_prolongator_names[amg->plain]);
    for (int i = 0; i < amg->levels; i++) {
        const tess_amg_level *level = &amg->level[i];
        const tess_matrix *A = level->A;
        tess_append(amg->text, sizeof amg->text, "level %d: %lld unknowns, %lld blocks of %d x %d",
                    i, (long long)A->rows, (long long)A->blocks, (int)A->block_height,
                    (int)A->block_width);
        if (i + 1 == amg->levels && amg->bottom)
            tess_append(amg->text, sizeof amg->text, ", inverted densely\n");
        else
            tess_append(amg->text, sizeof amg->text, ", largest eigenvalue %.3f, plan %s%s%s%s%s\n",
                        level->largest, level->plan->kernel,
                        !level->P_plan                ? ""
                        : level->plain && !amg->plain ? ", P not smoothed "
                                                      : ", P ",
                        level->P_plan ? level->P_plan->kernel : "", level->R_plan ? ", R " : "",
                        level->R_plan ? level->R_plan->kernel : "");
    }
    write_times(amg);
}

/* Of a part: replaces *plan by the plan of its own block, from which all levels are made. The
 * products of that plan must take vectors where the solver has them. */
static tess_status take_block(tess_plan **plan)
{
    tess_plan *block = (*plan)->block;
    if (!block)
        return TESS_OK;
    if (!(*plan)->local && block->device->threads < 1)
        return tess_fail(
            block->ctx, TESS_ERR_UNSUPPORTED,
            "pc=amg: the solver's vectors are in host memory and the part's blocks on a "
            "GPU: take product form halo, and GPUs for all parts");
    *plan = block;
    return tess_plan_host_values(block);
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    tess_amg *amg;
    TESS_TRY(take_block(&plan));
    TESS_TRY(TESS_CALLOC(pc->ctx, 1, &amg));
    amg->ctx = pc->ctx;
    pc->state = amg;
    TESS_TRY(choose(plan, pc, amg));
    TESS_TRY(tess_amg_build(plan, pc, amg));
    pc->varies = amg->cycle == TESS_CYCLE_K;
    tess_amg_own(amg, pc);
    write_text(amg);
    return TESS_OK;
}

static tess_status update(tess_plan *plan, tess_pc *pc)
{
    TESS_TRY(take_block(&plan));
    TESS_TRY(tess_amg_update(plan, pc, pc->state));
    write_text(pc->state);
    return TESS_OK;
}

static const char *describe(const tess_pc *pc)
{
    return ((const tess_amg *)pc->state)->text;
}

static double bytes(const tess_pc *pc)
{
    const tess_amg *amg = pc->state;
    double sum = 0;
    for (int i = 0; i < amg->levels; i++)
        sum += (double)tess_matrix_stored(amg->level[i].A) * (double)tess_type_size(pc->type);
    return 4 * sum;
}

static void destroy(tess_pc *pc)
{
    tess_amg_clear(pc->state);
    tess_free(pc->ctx, pc->state);
}

const tess_pc_ops tess_pc_amg = {
    .name = "amg",
    .summary = "multigrid by aggregation, one cycle",
    .keys = "schedule,domains,strength,degree,cycle,smoother,prolongator,bottom",
    .symmetric = true,
    .costly = true,
    .takes_modes = true,
    .replaces_pivots = true,
    .asks_for_values = true,
    .square_blocks = true,
    .largest_block = TESS_AMG_MODES,
    .set_up = set_up,
    .update = update,
    .append = tess_amg_append,
    .describe = describe,
    .bytes = bytes,
    .free = destroy,
};
