/* Every SpMV kernel against a plain sum, without cmocka and without the library: the isa/
 * files and this one make a static program that an emulator can run.
 *
 *     plain_spmv [TABLES]   exit status 0, or 1 and a line for each wrong kernel; TABLES "03": only
 *                           the ISAs 0 and 3 of tess_cpu_isa; "03-": without forbidden pages
 *
 * Rows of 0 to 9 blocks in random places; the values, x and y end at a forbidden page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/kernel.h"

enum { ROWS = 23, COLS = 11, MOST = 10 };

static bool pages_forbidden = true;
static int64_t row_offsets[ROWS + 1];
static int32_t columns[ROWS * MOST];

static uint32_t draw(void)
{
    static uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}

static void *guarded(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped = (bytes / page + 2) * page;
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        exit(2);
    if (pages_forbidden && mprotect(base + mapped - page, page, PROT_NONE) != 0)
        exit(2);
    return base + mapped - page - bytes;
}

static double get(const void *array, int scalar_bytes, int64_t i)
{
    return scalar_bytes == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static void *random_array(int64_t count, int scalar_bytes)
{
    void *array = guarded((size_t)count * (size_t)scalar_bytes);
    for (int64_t i = 0; i < count; i++) {
        double value = draw() / 2147483648.0 - 1;
        if (scalar_bytes == 8)
            ((double *)array)[i] = value;
        else
            ((float *)array)[i] = (float)value;
    }
    return array;
}

/* The largest error over the error that rounding explains. */
static double compare(const tess_cpu_kernel *kernel, const tess_cpu_spmv_args *args, const void *y0)
{
    const int bytes = kernel->scalar_bytes;
    const int64_t r = args->block_height, c = args->block_width;
    double worst = 0;
    for (int64_t i = 0; i < ROWS * r; i++) {
        double sum = 0, scale = 1e-30;
        for (int64_t k = row_offsets[i / r]; k < row_offsets[i / r + 1]; k++)
            for (int64_t j = 0; j < c; j++) {
                double term = get(args->values, bytes, (k * c + j) * r + i % r) *
                              get(args->x, bytes, columns[k] * c + j);
                sum += term;
                scale += fabs(term);
            }
        double old = args->beta == 0 ? 0 : args->beta * get(y0, bytes, i);
        double error = fabs(get(args->y, bytes, i) - (args->alpha * sum + old));
        scale = fabs(args->alpha) * scale + fabs(old);
        double units = error / (scale * (bytes == 8 ? 0x1p-52 : 0x1p-23));
        worst = units > worst || isnan(units) ? units : worst;
        if (isnan(worst))
            break;
    }
    return worst;
}

static int check(const tess_cpu_kernel *kernel, double alpha, double beta, bool short_rows)
{
    const int32_t r = kernel->block_height ? kernel->block_height : 1 + (int32_t)(draw() % 70);
    const int32_t c = kernel->block_width ? kernel->block_width : 1 + (int32_t)(draw() % 40);
    const int64_t y_count = (int64_t)ROWS * r, bounds[] = {0, 5, 11, 18, ROWS};
    void *y = random_array(y_count, kernel->scalar_bytes);
    void *y0 = random_array(y_count, kernel->scalar_bytes);
    for (int64_t i = 0; i < y_count; i++) { /* beta = 0: y is not to be read */
        if (kernel->scalar_bytes == 8)
            ((double *)y)[i] = beta == 0 ? NAN : ((double *)y0)[i];
        else
            ((float *)y)[i] = beta == 0 ? NAN : ((float *)y0)[i];
    }
    const tess_cpu_spmv_args args = {
        .row_offsets = row_offsets,
        .columns = columns,
        .values = random_array(row_offsets[ROWS] * r * c, kernel->scalar_bytes),
        .x = random_array((int64_t)COLS * c, kernel->scalar_bytes),
        .y = y,
        .alpha = alpha,
        .beta = beta,
        .block_height = r,
        .block_width = c,
        .short_rows = short_rows,
    };
    int64_t some[TESS_CPU_STREAMS + 1];
    for (int s = 0; s <= kernel->streams; s++)
        some[s] = s == kernel->streams ? ROWS : bounds[s];
    kernel->spmv(&args, some);
    double units = compare(kernel, &args, y0);
    if (units <= 9.0 * c + 8)
        return 0;
    printf("%s%s: %dx%d alpha %g beta %g: off by %g units of rounding\n", kernel->name,
           short_rows ? " (short rows)" : "", (int)r, (int)c, alpha, beta, units);
    return 1;
}

int main(int argc, char **argv)
{
    pages_forbidden = argc < 2 || !strchr(argv[1], '-');
    for (int64_t row = 0; row < ROWS; row++) {
        row_offsets[row + 1] = row_offsets[row] + draw() % MOST;
        for (int64_t k = row_offsets[row]; k < row_offsets[row + 1]; k++)
            columns[k] = (int32_t)(draw() % COLS);
    }
    columns[0] = COLS - 1; /* the end of x is read */
    const tess_cpu_kernel_table *tables[] = {&tess_cpu_scalar, &tess_cpu_neon, &tess_cpu_sve,
                                             &tess_cpu_avx2, &tess_cpu_avx512};
    int wrong = 0, run = 0;
    for (int t = 0; t < 5; t++) {
        if (argc > 1 && !strchr(argv[1], '0' + t))
            continue;
        for (size_t i = 0; i < tables[t]->count; i++) {
            const tess_cpu_kernel *kernel = &tables[t]->kernels[i];
            if (kernel->family != TESS_CPU_BSR_SPMV || kernel->complex)
                continue;
            wrong += check(kernel, 1, 0, false) + check(kernel, -0.5, 2, false);
            if (kernel->block_height == 1 && kernel->block_width == 1)
                wrong += check(kernel, 1, 0, true) + check(kernel, -0.5, 2, true);
            run++;
        }
    }
    printf("%d kernels, %d wrong\n", run, wrong);
    return wrong > 0 || run == 0;
}
