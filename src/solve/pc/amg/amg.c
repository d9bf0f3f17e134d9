/* The preconditioner pc=amg: one multigrid cycle. */
#include "solve/pc/amg/amg.h"

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

/* What the time of a set-up went for: phases of half a millisecond or more. */
static void write_times(tess_amg *amg)
{
    static const char *const names[AMG_PHASES] = {"modes",    "plans",  "diagonal", "eigenvalue",
                                                  "strength", "groups", "QR",       "patterns",
                                                  "P",        "R A P",  "bottom"};
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

/* A line for the whole, one a level and one for the times. */
static void write_text(tess_amg *amg)
{
    snprintf(amg->text, sizeof amg->text, "%d levels, %d modes, operator complexity %.3f\n",
             amg->levels, (int)amg->modes, tess_amg_complexity(amg));
    for (int i = 0; i < amg->levels; i++) {
        const tess_amg_level *level = &amg->level[i];
        const tess_matrix *A = level->A;
        tess_append(amg->text, sizeof amg->text, "level %d: %lld unknowns, %lld blocks of %d x %d",
                    i, (long long)A->rows, (long long)A->blocks, (int)A->block_height,
                    (int)A->block_width);
        if (i + 1 == amg->levels && amg->bottom)
            tess_append(amg->text, sizeof amg->text, ", inverted densely\n");
        else
            tess_append(amg->text, sizeof amg->text, ", largest eigenvalue %.3f, plan %s\n",
                        level->largest, level->plan->kernel);
    }
    write_times(amg);
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    tess_amg *amg;
    TESS_TRY(TESS_CALLOC(pc->ctx, 1, &amg));
    amg->ctx = pc->ctx;
    pc->state = amg;
    TESS_TRY(tess_amg_build(plan, pc, amg));
    tess_amg_own(amg, pc);
    write_text(amg);
    return TESS_OK;
}

static tess_status update(tess_plan *plan, tess_pc *pc)
{
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
    .summary = "smoothed aggregation multigrid, one cycle",
    .symmetric = true,
    .takes_modes = true,
    .replaces_pivots = true,
    .square_blocks = true,
    .largest_block = TESS_AMG_MODES,
    .set_up = set_up,
    .update = update,
    .append = tess_amg_append,
    .describe = describe,
    .bytes = bytes,
    .free = destroy,
};
