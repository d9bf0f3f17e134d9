/* Decides which rows are cut, the order of the rows in the slices, and where slices begin; slices.h
 * has the picture. */
#include "format/fbcsr/runs.h"
#include "format/sliced.h"

enum { WARP = TESS_FBCSR_WARP, SEGMENT_PLACES = WARP / TESS_FBCSR_SEGMENT_LANES };
enum { WINDOW = 4096 /* rows sorted */, SAMPLED = 4 /* windows */ };

typedef tess_fbcsr_builder builder;

/* ---- Rows that are cut ---- */

static int64_t segment_length(const builder *B, int list)
{
    return TESS_FBCSR_SEGMENT / B->S->width[list];
}

static int64_t segments_of_row(const builder *B, int64_t row)
{
    int64_t segments = 0;
    for (int c = 0; c < B->S->classes && tess_fbcsr_is_cut(B, row); c++)
        segments += tess_ceil_div(tess_fbcsr_runs_in(B, c, row), segment_length(B, c));
    return segments;
}

static void cut_row(builder *B, int64_t row)
{
    for (int c = 0; c < B->S->classes; c++) {
        int64_t end = B->lists[c].offsets[row + 1], runs = tess_fbcsr_runs_in(B, c, row);
        int64_t segments = tess_ceil_div(runs, segment_length(B, c));
        int64_t length = segments > 0 ? tess_ceil_div(runs, segments) : 0;
        for (int64_t first = B->lists[c].offsets[row]; first < end; first += length)
            B->segment[B->segments++] =
                (tess_fbcsr_segment){c, row, first, tess_min(end - first, length)};
    }
}

static tess_status cut_rows(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    int64_t total = 0;
    for (int64_t row = 0; row < B->A->rows; row++) {
        int64_t segments = segments_of_row(B, row);
        total += segments;
        S->cut_rows += segments > 0;
        S->cut_long += segments > TESS_SLICED_LONG;
    }
    S->segments = tess_ceil_div(total, SEGMENT_PLACES);
    TESS_TRY(TESS_ALLOC(B->ctx, total + 1, &B->segment));
    TESS_TRY(TESS_ALLOC(B->ctx, S->cut_rows + 1, &S->cut_row));
    TESS_TRY(TESS_ALLOC(B->ctx, S->cut_rows + 1, &S->cut_slots));
    int64_t cut = 0;
    for (int many = 1; many >= 0 && S->cut_rows > 0; many--) {
        for (int64_t row = 0; row < B->A->rows; row++) {
            int64_t segments = segments_of_row(B, row);
            if (segments == 0 || (segments > TESS_SLICED_LONG) != many)
                continue;
            S->cut_row[cut] = (int32_t)row;
            S->cut_slots[cut++] = (int32_t)B->segments;
            cut_row(B, row);
        }
    }
    S->cut_slots[S->cut_rows] = (int32_t)B->segments;
    return TESS_OK;
}

/* ---- Lone entries ---- */

/* Counts the entries of a slice that are in no diagonal, and makes them pieces if they are few
 * enough. */
static void find_lone(void *counts, const void *from, int64_t slice)
{
    tess_fbcsr_diagonal_count *diagonals = (tess_fbcsr_diagonal_count *)counts + slice;
    const builder *B = from;
    int64_t last = tess_min((slice + 1) * WARP, B->A->rows), lone = 0;
    for (int64_t row = slice * WARP; row < last && lone <= TESS_FBCSR_LONE; row++)
        for (int64_t e = B->A->row_offsets[row]; e < B->A->row_offsets[row + 1]; e++)
            lone += !tess_fbcsr_is_cut(B, row) && !tess_fbcsr_in_diagonal(B, e);
    if (lone > TESS_FBCSR_LONE)
        return;
    diagonals->lone = (int32_t)lone;
    diagonals->pieces += diagonals->lone;
    diagonals->values += diagonals->lone;
}

/* ---- Turns ---- */

/* The number of turns in which a cache reads x for all lanes. In a turn it reads one word of each
 * of its banks; lanes with the same column share a read. */
static int turns_of(const int64_t *columns, int count, int banks)
{
    int64_t held[TESS_FBCSR_CACHE_LINE / 4][WARP];
    int used[TESS_FBCSR_CACHE_LINE / 4] = {0}, most = 0;
    for (int i = 0; i < count; i++) {
        const int bank = (int)(columns[i] % banks);
        int k = 0;
        while (k < used[bank] && held[bank][k] != columns[i])
            k++;
        if (k < used[bank])
            continue;
        held[bank][used[bank]++] = columns[i];
        most = tess_max(used[bank], most);
    }
    return most;
}

/* The turns of all loads of x in one step of a class; 0: the class has no such step. */
static int64_t turns_of_step(const builder *B, int64_t slice, int c, int64_t step)
{
    const int lanes = tess_fbcsr_lanes_of(B->S, slice), width = B->S->width[c];
    const int share = tess_fbcsr_share(width, lanes), per = lanes / share;
    const int banks = TESS_FBCSR_CACHE_LINE / (int)tess_type_size(B->S->type);
    int64_t turns = 0, columns[WARP];
    for (int i = 0; i < width / share; i++) {
        int count = 0;
        for (int row = 0; row < WARP / lanes; row++) {
            const tess_fbcsr_some_runs mine =
                tess_fbcsr_runs_of(B, tess_fbcsr_first_place(B->S, slice) + row, c);
            for (int64_t k = step * per; k < (step + 1) * per && k < mine.count; k++)
                for (int lane = 0; lane < share; lane++)
                    columns[count++] =
                        B->lists[c].runs[mine.first + k].column + (int64_t)i * share + lane;
        }
        turns += turns_of(columns, count, banks);
    }
    return turns;
}

static int64_t turns_of_slice(const builder *B, int64_t slice)
{
    int64_t turns = 0, one;
    for (int c = 0; c < B->S->classes; c++)
        for (int64_t step = 0; (one = turns_of_step(B, slice, c, step)) > 0; step++)
            turns += one;
    return turns;
}

/* Reading memory and turns overlap in time: the result is the larger of the two times, and a little
 * of the smaller. */
double tess_fbcsr_bytes_and_turns(double bytes, double turns)
{
    return pow(pow(bytes, 4) + pow(TESS_FBCSR_TURN_BYTES * turns, 4), 0.25);
}

/* ---- The order of the rows, without diagonals ---- */

/* The rows of a window are sorted by their numbers of runs, so that a slice has little padding. But
 * neighbouring rows read the same x, and sorting may separate them. In a matrix of 16 x 16 blocks,
 * rows of equal length are 16 apart: 32 lanes then read x at the same place of 32 cache lines,
 * which are bank conflicts. So pairs of neighbours stay together, sorted by the longer row's runs,
 * where that saves more turns than it costs bytes. */

/* A row's numbers of runs of each class in one word, the widest class in the highest bits. */
static uint32_t word_of(const builder *B, int64_t row)
{
    uint32_t word = 0;
    if (row >= B->A->rows || tess_fbcsr_is_cut(B, row))
        return 0;
    for (int c = 0; c < B->S->classes; c++)
        word |= (uint32_t)tess_fbcsr_runs_in(B, c, row) << (32 - 32 / B->S->classes * (c + 1));
    return word;
}

typedef struct sized_row {
    uint32_t word; /* of the row's group */
    int32_t row;
} sized_row;

/* The number of runs of class c in a word. */
static uint32_t runs_of_word(const tess_fbcsr_slices *S, uint32_t word, int c)
{
    const int bits = 32 / S->classes;
    return word << bits * c >> (32 - bits);
}

/* The larger number of each class. */
static uint32_t longer(const tess_fbcsr_slices *S, uint32_t a, uint32_t b)
{
    uint32_t word = 0;
    for (int c = 0; c < S->classes; c++) {
        uint32_t x = runs_of_word(S, a, c), y = runs_of_word(S, b, c);
        word |= (x > y ? x : y) << (32 - 32 / S->classes * (c + 1));
    }
    return word;
}

/* The bytes of the slices of these rows, in this order. */
static int64_t room_of(const tess_fbcsr_slices *S, const sized_row *rows, int64_t count)
{
    const int places = WARP / S->lanes, value = (int)tess_type_size(S->type);
    int64_t room = 0;
    for (int64_t first = 0; first < count; first += places) {
        uint32_t most = 0;
        for (int64_t i = first; i < first + places && i < count; i++)
            most = longer(S, most, rows[i].word);
        for (int c = 0; c < S->classes; c++)
            room += (int64_t)runs_of_word(S, most, c) * (S->width[c] * value + 4) * places;
    }
    return room;
}

static int by_word(const void *a, const void *b)
{
    const sized_row *x = a, *y = b;
    if (x->word != y->word)
        return x->word > y->word ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

/* Sorts the rows of the window from `first` on, if that saves a twentieth of its bytes. Groups of
 * `group` neighbours stay together. Returns the window's bytes. */
static int64_t sort_window(const builder *B, sized_row *rows, int64_t first, int64_t end, int group)
{
    tess_fbcsr_slices *S = B->S;
    const int64_t count = end - first;
    for (int64_t i = 0; i < count; i++)
        rows[i] = (sized_row){word_of(B, first + i), (int32_t)(first + i)};
    const int64_t before = room_of(S, rows, count);
    for (int64_t i = 0; group == 2 && i + 1 < count; i += 2)
        rows[i].word = rows[i + 1].word = longer(S, rows[i].word, rows[i + 1].word);
    qsort(rows, (size_t)count, sizeof *rows, by_word);
    const int64_t after = room_of(S, rows, count);
    const bool pays = after < before - before / 20;
    for (int64_t i = 0; i < count; i++)
        S->targets[first + i] = pays ? rows[i].row : (int32_t)(first + i);
    return pays ? after : before;
}

struct slices {
    const builder *B;
    int64_t first;
};

static int64_t count_turns(const void *from, tess_range range)
{
    const struct slices *some = from;
    int64_t turns = 0;
    for (int64_t i = range.first; i < range.last; i++)
        turns += turns_of_slice(some->B, some->first + i);
    return turns;
}

int64_t tess_fbcsr_turns(const builder *B, int64_t first, int64_t count)
{
    return tess_reduce(B->ctx, count, TESS_SUM, count_turns, &(struct slices){B, first});
}

/* The price of some windows, with groups of `group` neighbours kept together. *turns_count: whether
 * turns take a noticeable part of the time. */
static double price_group(const builder *B, sized_row *rows, int64_t count, int group,
                          bool *turns_count)
{
    const tess_fbcsr_slices *S = B->S;
    const int64_t windows = tess_ceil_div(count, WINDOW), places = WARP / S->lanes;
    const int64_t sampled = tess_min(windows, SAMPLED);
    int64_t bytes = 0, turns = 0;
    for (int64_t s = 0; s < sampled; s++) {
        const int64_t first = windows * s / sampled * WINDOW;
        const int64_t end = tess_min(first + WINDOW, count);
        bytes += sort_window(B, rows, first, end, group);
        turns +=
            tess_fbcsr_turns(B, S->segments + first / places, tess_ceil_div(end - first, places));
    }
    *turns_count = 2 * TESS_FBCSR_TURN_BYTES * turns > bytes;
    return tess_fbcsr_bytes_and_turns((double)bytes, (double)turns);
}

/* Returns 2 if pairs of neighbours stay together, 1 if not. Without shapes 1, as in CSR. */
static int choose_group(const builder *B, sized_row *rows, int64_t count)
{
    bool turns_count = false;
    if (B->S->classes == 1)
        return 1;
    const double alone = price_group(B, rows, count, 1, &turns_count);
    return turns_count && price_group(B, rows, count, 2, &turns_count) < alone ? 2 : 1;
}

struct sort_windows {
    builder *B;
    sized_row *rows; /* one window per share */
    int64_t count;
    int group;
};

static void sort_windows(void *arg, tess_range range)
{
    const struct sort_windows *job = arg;
    sized_row *mine = job->rows + range.share * (int64_t)WINDOW;
    for (int64_t window = range.first; window < range.last; window++)
        sort_window(job->B, mine, window * WINDOW, tess_min((window + 1) * WINDOW, job->count),
                    job->group);
}

/* Fills S->targets, unless there are diagonals. */
static tess_status sort_rows(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    const int64_t count = S->places - tess_fbcsr_first_place(S, S->segments);
    const int threads = B->ctx->threads;
    sized_row *rows;
    if (B->part_offsets || count == 0)
        return TESS_OK;
    TESS_TRY(TESS_ALLOC(B->ctx, count, &S->targets));
    TESS_TRY(TESS_ALLOC(B->ctx, threads * (int64_t)WINDOW, &rows));
    const int group = choose_group(B, rows, count);
    tess_for_shares(B->ctx, threads, tess_ceil_div(count, WINDOW), sort_windows,
                    &(struct sort_windows){B, rows, count, group});
    tess_free(B->ctx, rows);
    return TESS_OK;
}

/* ---- Heads ---- */

/* Sets a slice's steps of each class, and the words of its places. */
static void measure_slice(void *to, const void *from, int64_t slice)
{
    const builder *B = from;
    tess_fbcsr_slices *S = to;
    const int lanes = tess_fbcsr_lanes_of(S, slice), bits = 32 / S->classes;
    int32_t *head = S->heads + slice * S->head;
    for (int row = 0; row < WARP / lanes; row++) {
        int64_t place = tess_fbcsr_first_place(S, slice) + row;
        uint32_t word = 0;
        for (int c = 0; c < S->classes; c++) {
            int64_t runs = tess_fbcsr_runs_of(B, place, c).count;
            int64_t steps = tess_ceil_div(runs, lanes / tess_fbcsr_share(B->lists[c].width, lanes));
            int32_t *longest = &head[TESS_FBCSR_HEAD_STEPS + c];
            *longest = (int32_t)tess_max(steps, *longest);
            word |= (uint32_t)runs << (32 - bits * (c + 1));
        }
        S->lengths[place] = word;
    }
    if (B->diagonal_counts && slice >= S->segments)
        head[TESS_FBCSR_HEAD_PIECES] = B->diagonal_counts[slice - S->segments].pieces;
}

/* Sets where every slice begins. */
static void place_slices(const builder *B)
{
    tess_fbcsr_slices *S = B->S;
    int64_t values = 0, columns = 0, pieces = 0;
    for (int64_t slice = 0; slice < S->slices; slice++) {
        int32_t *head = S->heads + slice * S->head;
        int lanes = tess_fbcsr_lanes_of(S, slice);
        head[TESS_FBCSR_HEAD_VALUES] = (int32_t)values;
        head[TESS_FBCSR_HEAD_COLUMNS] = (int32_t)(columns / 4);
        head[TESS_FBCSR_HEAD_PIECE] = (int32_t)pieces;
        if (head[TESS_FBCSR_HEAD_PIECES] > TESS_FBCSR_BESIDE)
            pieces += head[TESS_FBCSR_HEAD_PIECES] - TESS_FBCSR_BESIDE;
        values += tess_fbcsr_diagonal_groups(B, slice);
        for (int c = 0; c < S->classes; c++) {
            int share = tess_fbcsr_share(S->width[c], lanes);
            values += (int64_t)head[TESS_FBCSR_HEAD_STEPS + c] * (S->width[c] / share);
            columns += (int64_t)head[TESS_FBCSR_HEAD_STEPS + c] * (WARP / share);
        }
    }
    S->piece_count = pieces;
    S->column_count = columns;
    S->value_count = values * WARP;
}

static tess_status make_heads(const builder *B)
{
    tess_fbcsr_slices *S = B->S;
    TESS_TRY(TESS_CALLOC(S->ctx, S->slices * S->head, &S->heads));
    TESS_TRY(TESS_ALLOC(S->ctx, S->places, &S->lengths));
    tess_for_each(S->ctx, S->slices, 0, measure_slice, S, B);
    place_slices(B);
    if (S->value_count / WARP > INT32_MAX || S->column_count / 4 > INT32_MAX ||
        S->piece_count > INT32_MAX)
        return tess_fail(S->ctx, TESS_ERR_OVERFLOW, "fbcsr: %lld values are too many for slices",
                         (long long)S->value_count);
    return TESS_OK;
}

tess_status tess_fbcsr_place_rows(builder *B, bool diagonals)
{
    tess_fbcsr_slices *S = B->S;
    TESS_TRY(tess_fbcsr_cover_rows(B));
    TESS_TRY(cut_rows(B));
    S->slices = S->segments + tess_ceil_div(B->A->rows, WARP / S->lanes);
    S->places = tess_fbcsr_first_place(S, S->slices);
    if (diagonals) {
        TESS_TRY(tess_fbcsr_list_diagonals(B));
        tess_for_each(S->ctx, S->slices - S->segments, 0, find_lone, B->diagonal_counts, B);
    }
    TESS_TRY(sort_rows(B));
    return make_heads(B);
}
