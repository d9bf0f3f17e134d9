/* Groups of block rows, the same as the host's (solve/pc/amg/aggregate.c).
 *
 *   THREADS  threads per thread block, a multiple of 32
 *
 * The host goes through a domain row by row. A row begins a group where no earlier row has taken it
 * or one of its strong neighbours. Here many rows are decided at once, but no row before the rows
 * that it depends on. The first row that may still take row j into a group has the claim on j. A
 * row that has the claims on itself and on all its strong neighbours begins a group. Rows that
 * wanted one of its members pass: they begin no group, and their claims go to the next rows.
 *
 *     couple     rows that couple to none
 *     turn       strengths of the blocks at mirrored places, where couplings are not symmetric
 *     admit      rows that may begin a group, and the number of claims that each needs
 *     claim      the first claims
 *     cover      members of the groups begun in the last round, and who passes   \ as many rounds
 *     release    the claims of the rows that passed                              / as are needed
 *     join       round 2 of the host: rows left over join a group
 *     rest       round 3: rows still left over begin groups, in as many rounds as are needed
 *     settle     for each row the row that began its group, and which rows began groups
 *     number     the groups' numbers, from the sums of what settle counted
 *     list       the groups of the rows that have one
 *
 * A warp works on a row; in cover a thread block does. The groups do not depend on the order of the
 * threads: queues may differ in order, but not in the rows of a round.
 */
#define REAL 8
#include "common.cuh"

enum { WARP = 32, WARPS = THREADS / WARP, FREE = -2, ALONE = -1, NOBODY = 0x7fffffff };
enum { NEVER, MAYBE, BEGUN, PASSED }; /* whether a row begins a group */

/* Places in `counts` (groups.h). */
enum {
    AT_BEGUN,
    AT_PASSED,
    BEGUN_DONE, /* of even and odd rounds */
    PASSED_DONE = BEGUN_DONE + 2,
    AT_REST = PASSED_DONE + 2,
    REST_DONE,
    UNLIKE,
    MISSING
};

typedef struct groups_args {
    const long long *offsets;
    const int *columns;
    const float *strength;   /* > 0: row i takes column j with it */
    float *mirrored;         /* the same of the block at (j, i) */
    const long long *bounds; /* first rows of the domains, and the number of rows */
    int *of;                 /* the row that began a row's group; in the end the group */
    int *state;
    int *claim;          /* the row with the claim on each row; after join its group's first row */
    int *wanting;        /* claims that a row still needs */
    int *begun, *passed; /* queues */
    unsigned long long *counts;
    long long *sums;    /* 2 * rows: 1 where round 1 begins a group, then the same of round 3 */
    long long *lengths; /* 1 where a row has a group; then the offsets after it */
    int *list;          /* the groups of rows that have one */
    long long rows, domains, round;
} groups_args;

DEVICE int lane_of(void)
{
    return (int)threadIdx.x % WARP;
}

DEVICE long long warp_of(void)
{
    return (long long)blockIdx.x * WARPS + threadIdx.x / WARP;
}

#define FOR_ROWS(row) \
    for (long long row = warp_of(); row < a.rows; row += (long long)gridDim.x * WARPS)

DEVICE int least(int x)
{
    for (int by = WARP / 2; by > 0; by /= 2) {
        const int other = __shfl_xor_sync(0xffffffffu, x, by, WARP);
        x = other < x ? other : x;
    }
    return x;
}

DEVICE long long domain_of(const groups_args *a, long long row)
{
    long long domain = (long long)((double)row * ((double)a->domains / (double)a->rows));
    while (domain > 0 && row < a->bounds[domain])
        domain--;
    while (domain + 1 < a->domains && row >= a->bounds[domain + 1])
        domain++;
    return domain;
}

DEVICE void push(const groups_args *a, int *queue, int count, int row)
{
    queue[atomicAdd(a->counts + count, 1ull)] = row;
}

/* ---- What may begin a group ---- */

DEVICE unsigned long long mix(long long row, long long column)
{
    unsigned long long x = (unsigned long long)row << 32 | (unsigned long long)column;
    x *= 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

/* Where couplings are symmetric the sum of all mix(i, j) - mix(j, i) is 0. */
KERNEL(couple, groups_args, THREADS, 1)
{
    unsigned long long unlike = 0;
    FOR_ROWS(row) {
        int coupled = 0;
        for (long long k = a.offsets[row] + lane_of(); k < a.offsets[row + 1]; k += WARP) {
            const float strength = a.strength[k];
            const long long j = a.columns[k];
            coupled |= strength != 0;
            if (strength > 0)
                unlike += mix(row, j) - mix(j, row);
        }
        coupled = __any_sync(0xffffffffu, coupled);
        if (lane_of() == 0)
            a.of[row] = coupled ? FREE : ALONE;
    }
    for (int by = WARP / 2; by > 0; by /= 2)
        unlike += __shfl_xor_sync(0xffffffffu, unlike, by, WARP);
    if (lane_of() == 0 && unlike != 0)
        (void)atomicAdd(a.counts + UNLIKE, unlike);
}

/* The place of a column in a row, -1 where it is missing. */
DEVICE long long find(const groups_args *a, long long row, int column)
{
    long long low = a->offsets[row], high = a->offsets[row + 1];
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        if (a->columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->offsets[row + 1] && a->columns[low] == column ? low : -1;
}

KERNEL(turn, groups_args, THREADS, 1)
{
    FOR_ROWS(row) {
        for (long long k = a.offsets[row] + lane_of(); k < a.offsets[row + 1]; k += WARP) {
            const long long at = find(&a, a.columns[k], (int)row);
            a.mirrored[k] = at < 0 ? 0 : a.strength[at];
            if (at < 0 && a.strength[k] > 0)
                (void)atomicAdd(a.counts + MISSING, 1ull);
        }
    }
}

KERNEL(admit, groups_args, THREADS, 1)
{
    FOR_ROWS(row) {
        const long long domain = domain_of(&a, row);
        const long long first = a.bounds[domain], last = a.bounds[domain + 1];
        int strong = 0, never = 0;
        for (long long k = a.offsets[row] + lane_of(); k < a.offsets[row + 1]; k += WARP) {
            const int j = a.columns[k];
            if (!(a.strength[k] > 0))
                continue;
            strong++;
            never |= j < first || j >= last || a.of[j] == ALONE;
        }
        for (int by = WARP / 2; by > 0; by /= 2)
            strong += __shfl_xor_sync(0xffffffffu, strong, by, WARP);
        never = __any_sync(0xffffffffu, never);
        if (lane_of() == 0) {
            a.state[row] = strong > 0 && !never ? MAYBE : NEVER;
            a.wanting[row] = strong + 1;
        }
    }
}

/* ---- Rounds ---- */

/* The claim on row j goes to the first row that may still take it. */
DEVICE void claim_next(const groups_args *a, int j)
{
    int first = a->state[j] == MAYBE ? j : NOBODY;
    for (long long k = a->offsets[j] + lane_of(); k < a->offsets[j + 1]; k += WARP) {
        const int row = a->columns[k];
        if (a->mirrored[k] > 0 && row < first && a->state[row] == MAYBE)
            first = row;
    }
    first = least(first);
    if (lane_of() != 0)
        return;
    a->claim[j] = first;
    if (first != NOBODY && atomicAdd(a->wanting + first, -1) == 1)
        push(a, a->begun, AT_BEGUN, first);
}

KERNEL(claim, groups_args, THREADS, 1)
{
    FOR_ROWS(row)
        claim_next(&a, (int)row);
}

DEVICE void pass(const groups_args *a, int row)
{
    if (a->state[row] == MAYBE && atomicCAS(a->state + row, MAYBE, PASSED) == MAYBE)
        push(a, a->passed, AT_PASSED, row);
}

/* All rows but `by` that may still take row j pass. */
DEVICE void pass_others(const groups_args *a, int j, int by)
{
    if (lane_of() == 0 && j != by)
        pass(a, j);
    for (long long k = a->offsets[j] + lane_of(); k < a->offsets[j + 1]; k += WARP)
        if (a->mirrored[k] > 0 && a->columns[k] != by)
            pass(a, a->columns[k]);
}

/* Tells the next round where to go on. Nobody reads that count in this round. */
DEVICE void count_done(const groups_args *a, int done, unsigned long long last)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        a->counts[done + (a->round + 1) % 2] = last;
}

KERNEL(cover, groups_args, THREADS, 1)
{
    const unsigned long long last = a.counts[AT_BEGUN];
    for (unsigned long long i = a.counts[BEGUN_DONE + a.round % 2] + blockIdx.x; i < last;
         i += gridDim.x) {
        const int row = a.begun[i];
        const long long first = a.offsets[row];
        for (long long k = first - 1 + threadIdx.x / WARP; k < a.offsets[row + 1]; k += WARPS) {
            if (k >= first && !(a.strength[k] > 0))
                continue;
            const int j = k < first ? row : a.columns[k];
            if (lane_of() == 0)
                a.of[j] = row;
            pass_others(&a, j, row);
        }
        if (threadIdx.x == 0)
            a.state[row] = BEGUN;
    }
    count_done(&a, BEGUN_DONE, last);
}

/* The row that began a group keeps the claims on its members, so no row that passed has one. */
KERNEL(release, groups_args, THREADS, 1)
{
    const unsigned long long last = a.counts[AT_PASSED];
    for (unsigned long long i = a.counts[PASSED_DONE + a.round % 2] + (unsigned long long)warp_of();
         i < last; i += (unsigned long long)gridDim.x * WARPS) {
        const int row = a.passed[i];
        const long long first = a.offsets[row], end = a.offsets[row + 1];
        for (long long base = first - 1; base < end; base += WARP) {
            const long long k = base + lane_of();
            int j = k < first                      ? row
                    : k < end && a.strength[k] > 0 ? a.columns[k]
                                                   : -1;
            const int mine = j >= 0 && a.claim[j] == row;
            for (unsigned left = __ballot_sync(0xffffffffu, mine); left; left &= left - 1)
                claim_next(&a, __shfl_sync(0xffffffffu, j, __ffs(left) - 1, WARP));
        }
    }
    count_done(&a, PASSED_DONE, last);
}

/* ---- Rows left over ---- */

/* The group of the strongest neighbour that has one, the first of equals; FREE: none has. */
DEVICE int strongest(const groups_args *a, long long row)
{
    long long best = -1;
    float most = 0;
    for (long long k = a->offsets[row] + lane_of(); k < a->offsets[row + 1]; k += WARP) {
        const float strength = a->strength[k] < 0 ? -a->strength[k] : a->strength[k];
        if (strength > most && a->of[a->columns[k]] >= 0) {
            most = strength;
            best = k;
        }
    }
    for (int by = WARP / 2; by > 0; by /= 2) {
        const float other_most = __shfl_xor_sync(0xffffffffu, most, by, WARP);
        const long long other = __shfl_xor_sync(0xffffffffu, best, by, WARP);
        if (other_most > most || (other_most == most && other < best)) {
            most = other_most;
            best = other;
        }
    }
    return best < 0 ? FREE : a->of[a->columns[best]];
}

KERNEL(join, groups_args, THREADS, 1)
{
    FOR_ROWS(row) {
        const int before = a.of[row];
        const int group = before == FREE ? strongest(&a, row) : before;
        if (lane_of() != 0)
            continue;
        a.claim[row] = group;
        a.state[row] = group == FREE ? MAYBE : NEVER;
        if (group == FREE)
            push(&a, a.passed, AT_REST, (int)row);
    }
}

/* A row begins a group where no earlier row of the domain takes it, once all of these are
 * decided. */
KERNEL(rest, groups_args, THREADS, 1)
{
    for (unsigned long long i = (unsigned long long)warp_of(); i < a.counts[AT_REST];
         i += (unsigned long long)gridDim.x * WARPS) {
        const int row = a.passed[i];
        const long long first = a.bounds[domain_of(&a, row)];
        int taken = 0, waits = 0;
        if (*(volatile int *)(a.state + row) != MAYBE)
            continue;
        for (long long k = a.offsets[row] + lane_of(); k < a.offsets[row + 1]; k += WARP) {
            const int j = a.columns[k];
            if (!(a.mirrored[k] > 0) || j >= row || j < first)
                continue;
            const int state = *(volatile int *)(a.state + j);
            taken |= state == BEGUN;
            waits |= state == MAYBE;
        }
        taken = __any_sync(0xffffffffu, taken);
        waits = __any_sync(0xffffffffu, waits);
        if (lane_of() != 0 || (waits && !taken))
            continue;
        *(volatile int *)(a.state + row) = taken ? PASSED : BEGUN;
        (void)atomicAdd(a.counts + REST_DONE, 1ull);
    }
}

/* ---- Numbers ---- */

/* The row that begins the group of a row left over by round 2. */
DEVICE int first_taker(const groups_args *a, long long row)
{
    const long long first = a->bounds[domain_of(a, row)];
    int taker = a->state[row] == BEGUN ? (int)row : NOBODY;
    for (long long k = a->offsets[row] + lane_of(); k < a->offsets[row + 1]; k += WARP) {
        const int j = a->columns[k];
        if (a->mirrored[k] > 0 && j < taker && j < row && j >= first && a->state[j] == BEGUN)
            taker = j;
    }
    return least(taker);
}

/* Groups of round 3 are numbered behind all others. */
KERNEL(settle, groups_args, THREADS, 1)
{
    FOR_ROWS(row) {
        const int group = a.claim[row];
        const int taker = group == FREE ? first_taker(&a, row) : -1;
        if (lane_of() != 0)
            continue;
        a.sums[row] = a.of[row] == row;
        a.sums[a.rows + row] = taker == row;
        a.of[row] = taker >= 0 ? (int)a.rows + taker : group;
    }
}

KERNEL(number, groups_args, THREADS, 1)
{
    for (long long row = (long long)blockIdx.x * THREADS + threadIdx.x; row < a.rows;
         row += (long long)gridDim.x * THREADS) {
        const int by = a.of[row];
        a.lengths[row] = by >= 0;
        a.of[row] = by >= 0 ? (int)(a.sums[by] - 1) : ALONE;
    }
}

KERNEL(list, groups_args, THREADS, 1)
{
    for (long long row = (long long)blockIdx.x * THREADS + threadIdx.x; row < a.rows;
         row += (long long)gridDim.x * THREADS)
        if (a.of[row] >= 0)
            a.list[a.lengths[row] - 1] = a.of[row];
}
