/* Which ISA, which kernel. */
#include "cpu/select.h"
#include "format/symmetric_lanes.h"

static const struct {
    const char *name;
    const tess_cpu_kernel_table *table;
} isas[TESS_CPU_ISAS] = {
    [TESS_CPU_SCALAR] = {"scalar", &tess_cpu_scalar}, [TESS_CPU_NEON] = {"neon", &tess_cpu_neon},
    [TESS_CPU_SVE] = {"sve", &tess_cpu_sve},          [TESS_CPU_AVX2] = {"avx2", &tess_cpu_avx2},
    [TESS_CPU_AVX512] = {"avx512", &tess_cpu_avx512},
};

const char *tess_cpu_isa_name(tess_cpu_isa isa)
{
    return isas[isa].name;
}

const tess_cpu_kernel_table *tess_cpu_table(tess_cpu_isa isa)
{
    return isas[isa].table;
}

static bool on_x86(const tess_device *device)
{
    const tess_cpu_isa isa = ((const tess_cpu_device *)device->state)->isa;
    return isa == TESS_CPU_AVX2 || isa == TESS_CPU_AVX512;
}

bool tess_cpu_isa_available(const tess_cpu_id *id, tess_cpu_isa isa)
{
    const bool has[TESS_CPU_ISAS] = {
        [TESS_CPU_SCALAR] = true,
        [TESS_CPU_NEON] = id->neon,
        [TESS_CPU_SVE] = id->sve_bytes == 32,
        [TESS_CPU_AVX2] = id->avx2,
        [TESS_CPU_AVX512] = id->avx512,
    };
    return has[isa] && isas[isa].table->count > 0;
}

tess_status tess_cpu_isa_choose(tess_ctx *ctx, const tess_cpu_id *id, tess_cpu_isa *out)
{
    const char *cap = getenv("TESSERA_ISA");
    int last = TESS_CPU_ISAS - 1;
    if (cap && *cap) {
        last = -1;
        for (int isa = 0; isa < TESS_CPU_ISAS; isa++)
            if (strcmp(cap, isas[isa].name) == 0)
                last = isa;
        if (last < 0)
            return tess_fail(ctx, TESS_ERR_OPTION,
                             "TESSERA_ISA=%s is not one of scalar, neon, sve, avx2, avx512", cap);
    }
    int best = TESS_CPU_SCALAR;
    for (int isa = 0; isa <= last; isa++)
        if (tess_cpu_isa_available(id, (tess_cpu_isa)isa))
            best = isa;
    *out = (tess_cpu_isa)best;
    return TESS_OK;
}

/* The number of streams that reads fastest, as measured. One stream from memory stops at the limit
 * of a core's prefetcher. The first line that applies:
 *
 *     Neoverse-V1   1 x 1, short rows               2
 *                   1 x 1, long rows                4 from memory, 3 in cache
 *                   odd size in cache, not 7 x 7    1 (7 x 7: one 95 GB/s, two 105)
 *                   4 to 9 scalars, long rows       3: long rows have few ends
 *                   8 x 8                           3
 *                   others                          2
 *     x86-64        more than a kilobyte of f64     1: each block is a stream for long enough
 *     (16 cores)    4 scalars                       4
 *                   others                          3
 */
static int best_streams(const tess_device *device, const tess_matrix *A)
{
    int64_t size = (int64_t)A->block_height * A->block_width;
    if (on_x86(device))
        return size > 128 ? 1 : size == 4 ? 4 : 3;
    const bool in_cache = tess_matrix_spmv_bytes(A) < device->cache_bytes;
    if (size == 1)
        return tess_cpu_short_rows(A) ? 2 : in_cache ? 3 : 4;
    if (in_cache && size % 2 == 1 && size != 49)
        return 1;
    return size == 64 || (size >= 4 && size <= 9 && !tess_cpu_short_rows(A)) ? 3 : 2;
}

/* The number of streams for half storage: at most two, since each stream of values brings several
 * streams of x and y with it. */
static int best_symmetric_streams(const tess_device *device, const tess_matrix *A)
{
    bool in_cache = tess_matrix_spmv_bytes(A) < device->cache_bytes;
    return !in_cache && (on_x86(device) || A->block_height >= 5) ? 2 : 1;
}

/* What a family is for. */
static const struct {
    const char *format;
    bool symmetric; /* square matrices of square blocks */
    bool scalars;   /* matrices of 1 x 1 blocks: the kernel's block is a split's */
    /* The number of streams that reads fastest; NULL: its kernels have one. */
    int (*streams)(const tess_device *device, const tess_matrix *A);
} families[TESS_CPU_FAMILIES] = {
    [TESS_CPU_BSR_SPMV] = {.format = "bsr", .streams = best_streams},
    [TESS_CPU_BSR_SPMM] = {.format = "bsr"},
    [TESS_CPU_SYMMETRIC_SPMV] = {.format = "symmetric",
                                 .symmetric = true,
                                 .streams = best_symmetric_streams},
    [TESS_CPU_SYMMETRIC_SPMM] = {.format = "symmetric", .symmetric = true},
    [TESS_CPU_FBCSR_SPMV] = {.format = "fbcsr", .scalars = true},
};

const char *tess_cpu_family_format(tess_cpu_family family)
{
    return families[family].format;
}

bool tess_cpu_kernel_applies(const tess_cpu_kernel *kernel, tess_cpu_family family,
                             const tess_matrix *A)
{
    if (kernel->family != family || kernel->complex != tess_is_complex(A->type) ||
        kernel->scalar_bytes != (int)tess_type_size(A->type))
        return false;
    if (families[family].symmetric && (A->rows != A->cols || A->block_height != A->block_width))
        return false;
    if (families[family].scalars)
        return A->block_height == 1 && A->block_width == 1;
    return kernel->block_height == 0 ||
           (kernel->block_height == A->block_height && kernel->block_width == A->block_width);
}

const tess_cpu_kernel_table *tess_cpu_family_table(const tess_device *device,
                                                   tess_cpu_family family)
{
    const tess_cpu_device *cpu = device->state;
    for (int isa = (int)cpu->isa; isa > TESS_CPU_SCALAR; isa--) {
        const tess_cpu_kernel_table *table = isas[isa].table;
        for (size_t i = 0; tess_cpu_isa_available(&cpu->id, (tess_cpu_isa)isa) && i < table->count;
             i++)
            if (table->kernels[i].family == family)
                return table;
    }
    return isas[TESS_CPU_SCALAR].table;
}

/* Returns whether blocks would wait for their parts of x: columns are scattered, and x does not
 * stay in the cache that the values stream through. On x86-64 kernels were as fast without
 * prefetching (Emerald Rapids, 16 cores). */
static bool prefetch_pays(const tess_device *device, const tess_matrix *A)
{
    const tess_cpu_device *cpu = device->state;
    double x_bytes = (double)A->cols * (double)tess_type_size(A->type);
    double cache = cpu->id.l2_bytes > 0 ? (double)cpu->id.l2_bytes : 1024 * 1024;
    return !on_x86(device) && x_bytes > cache / 2 && tess_matrix_scattered(A) > 0.25;
}

bool tess_cpu_lanes_pay(const tess_device *device, const tess_cpu_kernel *kernel,
                        const tess_matrix *A)
{
    /* AVX2 has only 16 registers, and a row of a 4 x 4 block fills half a vector or a whole one:
     * row by row is faster (Emerald Rapids, 27 points: 1.40 times in f64, 1.15 in f32). */
    const int most = on_x86(device) ? 3 : 4;
    return A->block_height <= most && !tess_cpu_short_rows(A) &&
           tess_symmetric_lanes_fill(A, kernel->lanes) > 0.7;
}

/* Returns how well a kernel suits. A kernel for any block size is the last resort. Otherwise more
 * streams are better, up to `streams`. A kernel that prefetches, or has rows in lanes, is the best
 * where that pays, and is not taken elsewhere.
 *
 * Rows in lanes save operations. x86-64 cores can do more operations than their share of the memory
 * bandwidth needs, so there the ring only costs time (Emerald Rapids, 3 x 3: 3.9 ms in lanes, 3.3
 * ms row by row). */
static int suitability(const tess_device *device, const tess_cpu_kernel *kernel,
                       const tess_matrix *A, int streams)
{
    const int score = kernel->block_height > 0 ? 16 : 0;
    if (kernel->lanes > 0)
        return !on_x86(device) && kernel->lanes > 1 && tess_cpu_lanes_pay(device, kernel, A)
                   ? score + 8
                   : -1;
    if (kernel->prefetch)
        return prefetch_pays(device, A) ? score + 8 : -1;
    return score + (kernel->streams <= streams ? kernel->streams : 0);
}

const tess_cpu_kernel *tess_cpu_best(const tess_device *device, tess_cpu_family family,
                                     const tess_matrix *A)
{
    const tess_cpu_kernel_table *table = tess_cpu_family_table(device, family);
    const tess_cpu_kernel *best = NULL;
    const int streams = families[family].streams ? families[family].streams(device, A) : 1;
    int most = 0;
    for (size_t i = 0; i < table->count; i++) {
        const tess_cpu_kernel *kernel = &table->kernels[i];
        if (!tess_cpu_kernel_applies(kernel, family, A))
            continue;
        const int score = suitability(device, kernel, A, streams);
        if (!best || score > most) {
            best = kernel;
            most = score;
        }
    }
    return best;
}

static bool offered(const tess_cpu_kernel *kernel, const char *format, const tess_matrix *A)
{
    return strcmp(tess_cpu_family_format(kernel->family), format) == 0 &&
           tess_cpu_kernel_applies(kernel, kernel->family, A);
}

static tess_status unknown_kernel(const tess_device *device, const char *format,
                                  const tess_matrix *A, const char *name)
{
    const char *names[16];
    size_t count = 0;
    for (int family = 0; family < TESS_CPU_FAMILIES; family++) {
        const tess_cpu_kernel_table *table = tess_cpu_family_table(device, (tess_cpu_family)family);
        for (size_t i = 0; i < table->count && count < sizeof names / sizeof names[0]; i++)
            if ((int)table->kernels[i].family == family && offered(&table->kernels[i], format, A))
                names[count++] = table->kernels[i].name;
    }
    return tess_fail(device->ctx, TESS_ERR_ARGUMENT,
                     "no kernel '%s' for %dx%d blocks of %s in format %s (%s)", name,
                     (int)A->block_height, (int)A->block_width, tess_type_name(A->type), format,
                     tess_suggest(&(tess_suggestion){""}, name, names, count));
}

/* Kernels that were called "_0x0_", "_ahead" and "_lock2" are "_any_", "_prefetch" and "_streams2"
 * now. Options and wisdom may still have the old names. */
static void canonical_name(const char *name, char *to, size_t size)
{
    snprintf(to, size, "%s", name);
    tess_replace(to, size, "_0x0_", "_any_");
    tess_replace(to, size, "_ahead", "_prefetch");
    tess_replace(to, size, "_lock", "_streams");
}

const tess_cpu_kernel *tess_cpu_find(const tess_device *device, const char *format,
                                     const tess_matrix *A, const char *name)
{
    const tess_cpu_device *cpu = device->state;
    char current[80];
    canonical_name(name, current, sizeof current);
    for (int isa = 0; isa <= (int)cpu->isa; isa++) {
        if (!tess_cpu_isa_available(&cpu->id, (tess_cpu_isa)isa))
            continue;
        for (size_t i = 0; i < isas[isa].table->count; i++) {
            const tess_cpu_kernel *kernel = &isas[isa].table->kernels[i];
            if (strcmp(kernel->name, current) == 0 && offered(kernel, format, A))
                return kernel;
        }
    }
    return NULL;
}

tess_status tess_cpu_named(const tess_device *device, const char *format, const tess_matrix *A,
                           const char *name, const tess_cpu_kernel **out)
{
    const tess_cpu_kernel *kernel = tess_cpu_find(device, format, A, name);
    if (!kernel)
        return unknown_kernel(device, format, A, name);
    *out = kernel;
    return TESS_OK;
}
