/* New values of FBCSR, in the order in which it stores them.
 *
 *     chunk      0 ......... | 1 ......... |      of some rows: its entries stay in a cache
 *     split 0    e e . e e e | e e e e ...        where each scalar comes from, counted from the
 *     split 1    e e e       | e e                chunk's first entry; . padding
 *     rest       e e         | e
 *
 * A thread does chunk after chunk, and in it split after split. It reads the chunk's entries in any
 * order, from a cache, and writes long pieces of every array, so that no cache line has to be read
 * before it is written.
 */
#include "cpu/update/nontemporal.h"
#include "cpu/update/update.h"

enum { CHUNK = 256 /* rows, at most */, PADDING = -1 };

typedef tess_fbcsr_sources sources;

/* Scalars of a split, or of the rest. */
static int64_t scalars_of(const tess_fbcsr *F, int s)
{
    return s < F->splits ? F->split[s].blocks * tess_shape_cells(&F->split[s].shape)
                         : F->rest->blocks;
}

/* The first scalar of split s in chunk c: that of the first block which begins in the chunk. */
static int64_t first_scalar(const tess_fbcsr *F, const sources *from, int s, int64_t c)
{
    const int64_t row = c < from->chunks ? F->rows * c / from->chunks : F->rows;
    if (s == F->splits)
        return F->rest->row_offsets[row];
    const tess_fbcsr_split *split = &F->split[s];
    return tess_lower_bound(split->rows, 0, split->blocks, row) * tess_shape_cells(&split->shape);
}

static void clear_entries(void *arg, tess_range range)
{
    int64_t **entry_of = arg;
    for (int64_t i = range.first; i < range.last; i++)
        (*entry_of)[i] = PADDING;
}

static void note_entry(void *entry_of, const void *map, int64_t e)
{
    ((int64_t *)entry_of)[((const int64_t *)map)[e]] = e;
}

/* Makes entry_of: entry_of[i] is the entry in scalar i, counted through all arrays one after the
 * other. */
static tess_status invert_map(const tess_fbcsr *F, int64_t scalars, int64_t **entry_of)
{
    TESS_TRY(TESS_ALLOC(F->ctx, scalars, entry_of));
    tess_for(F->ctx, scalars, clear_entries, entry_of);
    tess_for_each(F->ctx, F->nonzeros, 0, note_entry, *entry_of, F->map);
    return TESS_OK;
}

/* Sets the entries of a chunk, counted from its first one. Returns 0, or how far the last is from
 * the first if that does not fit 31 bits. */
static int64_t place_chunk(const tess_fbcsr *F, sources *from, const int64_t *entry_of, int64_t c)
{
    int64_t first = INT64_MAX, last = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int s = 0; s <= F->splits; s++) {
            const int64_t *ends = from->first_scalar + s * (from->chunks + 1) + c;
            for (int64_t i = from->bases[s] + ends[0]; i < from->bases[s] + ends[1]; i++) {
                const int64_t e = entry_of[i];
                if (turn > 0) {
                    from->entries[i] = e == PADDING ? PADDING : (int32_t)(e - first);
                } else if (e != PADDING) {
                    first = tess_min(e, first);
                    last = tess_max(e, last);
                }
            }
        }
        if (last > first && last - first > INT32_MAX)
            return last - first;
        from->first_entry[c] = last >= first ? first : 0;
    }
    return 0;
}

struct place_chunks {
    sources *from;
    const tess_fbcsr *F;
    const int64_t *entry_of;
};

static int64_t place_chunks(const void *arg, tess_range range)
{
    const struct place_chunks *job = arg;
    int64_t widest = 0;
    for (int64_t c = range.first; c < range.last; c++)
        widest = tess_max(place_chunk(job->F, job->from, job->entry_of, c), widest);
    return widest;
}

static tess_status place(const tess_fbcsr *F, sources *from)
{
    int64_t *entry_of;
    for (int s = 0; s <= F->splits; s++) {
        from->bases[s + 1] = from->bases[s] + scalars_of(F, s);
        for (int64_t c = 0; c <= from->chunks; c++)
            from->first_scalar[s * (from->chunks + 1) + c] = first_scalar(F, from, s, c);
    }
    TESS_TRY(TESS_ALLOC(F->ctx, from->bases[F->splits + 1], &from->entries));
    TESS_TRY(invert_map(F, from->bases[F->splits + 1], &entry_of));
    const int64_t widest = tess_reduce(F->ctx, from->chunks, TESS_LARGEST, place_chunks,
                                       &(struct place_chunks){from, F, entry_of});
    tess_free(F->ctx, entry_of);
    if (widest > 0)
        return tess_fail(F->ctx, TESS_ERR_OVERFLOW,
                         "fbcsr: %lld entries of %d rows do not fit 31 bits", (long long)widest,
                         (int)CHUNK);
    return TESS_OK;
}

tess_status tess_fbcsr_sources_create(const tess_fbcsr *F, tess_fbcsr_sources **out)
{
    sources *from;
    tess_status status;
    TESS_TRY(TESS_CALLOC(F->ctx, 1, &from));
    /* The same number of chunks for each thread. */
    const int64_t threads = F->ctx->threads;
    *from = (sources){.ctx = F->ctx, .chunks = tess_ceil_div(F->rows, CHUNK * threads) * threads};
    TESS_TRY_CLEAN(TESS_ALLOC(F->ctx, from->chunks, &from->first_entry));
    TESS_TRY_CLEAN(TESS_ALLOC(F->ctx, (F->splits + 1) * (from->chunks + 1), &from->first_scalar));
    TESS_TRY_CLEAN(place(F, from));
    from->nontemporal =
        tess_cpu_exceeds_caches(from->bases[F->splits + 1] * (int64_t)tess_type_size(F->type));
cleanup:
    return TESS_DELIVER(status, from, tess_fbcsr_sources_destroy, out);
}

void tess_fbcsr_sources_destroy(tess_fbcsr_sources *from)
{
    if (from)
        TESS_FREE(from->ctx, from->first_entry, from->first_scalar, from->entries, from);
}

/* ---- New values ---- */

#define SUFFIX f64
#include "cpu/update/fbcsr.inc.c"
#undef SUFFIX
#define SUFFIX f32
#include "cpu/update/fbcsr.inc.c"
#undef SUFFIX

struct update {
    const sources *from;
    const void *csr_values;
};

static void update_chunk(void *fbcsr, const void *update, int64_t c)
{
    tess_fbcsr *F = fbcsr;
    const sources *from = ((const struct update *)update)->from;
    const void *csr_values = ((const struct update *)update)->csr_values;
    for (int s = 0; s <= F->splits; s++) {
        const int64_t *ends = from->first_scalar + s * (from->chunks + 1) + c;
        const int64_t count = ends[1] - ends[0], first = from->first_entry[c];
        const int32_t *entries = from->entries + from->bases[s] + ends[0];
        void *to = s < F->splits ? F->split[s].values : F->rest->values;
        const bool full = s == F->splits || F->split[s].nonzeros == scalars_of(F, s);
        if (count == 0)
            continue;
        if (F->type == TESS_F64)
            move_f64((tess_word_f64 *)to + ends[0], (const tess_word_f64 *)csr_values + first,
                     entries, count, full, from->nontemporal);
        else
            move_f32((tess_word_f32 *)to + ends[0], (const tess_word_f32 *)csr_values + first,
                     entries, count, full, from->nontemporal);
    }
    tess_store_fence(from->nontemporal);
}

void tess_cpu_update_fbcsr(tess_fbcsr *F, const tess_fbcsr_sources *from, const void *csr_values)
{
    tess_for_each(F->ctx, from->chunks, 0, update_chunk, F, &(struct update){from, csr_values});
}
