/* Shared by the kernel tests: arrays that end where a page without access begins, so that a read or
 * a write beyond them is a crash and not a wrong number, and the walk over the kernels. */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include "support/support.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/plan.h"

typedef struct guarded {
    void *data; /* `bytes` bytes up to the forbidden page */
    void *mapping;
    size_t mapped;
} guarded;

static inline guarded guarded_copy(const void *source, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t mapped = (bytes + page - 1) / page * page + page;
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(base != MAP_FAILED);
    assert_int_equal(mprotect(base + mapped - page, page, PROT_NONE), 0);
    guarded array = {base + mapped - page - bytes, base, mapped};
    if (bytes > 0)
        memcpy(array.data, source, bytes);
    return array;
}

static inline void guarded_free(guarded array)
{
    munmap(array.mapping, array.mapped);
}

/* Checks one kernel; `number` counts them. */
typedef void (*kernel_check)(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                             size_t number);

/* Returns whether a family's kernels of an ISA are run: this machine can run them, and TESSERA_ISA
 * does not hide them from the device. Prints which kernels are hidden, as the run proves nothing of
 * them. */
static inline bool test_isa_runs(const tess_device *device, tess_cpu_family family,
                                 tess_cpu_isa isa)
{
    const tess_cpu_device *cpu = device->state;
    const tess_cpu_kernel_table *table = tess_cpu_table(isa);
    int hidden = 0;
    if (!tess_cpu_isa_available(&cpu->id, isa))
        return false;
    if (isa <= cpu->isa)
        return true;
    const char *cap = getenv("TESSERA_ISA");
    if (!cap || !*cap)
        fail_msg("%s is not offered, though TESSERA_ISA is not set", tess_cpu_isa_name(isa));
    for (size_t k = 0; k < table->count; k++)
        hidden += table->kernels[k].family == family;
    printf("TESSERA_ISA hides %d kernels of %s, format %s\n", hidden, tess_cpu_isa_name(isa),
           tess_cpu_family_format(family));
    return false;
}

/* Calls `check` for every kernel of a family of every ISA that is run; returns how many. */
static inline size_t test_every_kernel(tess_ctx *ctx, tess_device *device, tess_cpu_family family,
                                       kernel_check check)
{
    size_t run = 0;
    for (int isa = 0; isa < TESS_CPU_ISAS; isa++) {
        if (!test_isa_runs(device, family, (tess_cpu_isa)isa))
            continue;
        const tess_cpu_kernel_table *table = tess_cpu_table((tess_cpu_isa)isa);
        for (size_t k = 0; k < table->count; k++) {
            if (table->kernels[k].family != family)
                continue;
            check(ctx, device, &table->kernels[k], k);
            run++;
        }
    }
    return run;
}

static inline tess_type kernel_type(const tess_cpu_kernel *kernel)
{
    if (kernel->complex)
        return kernel->scalar_bytes == 16 ? TESS_C64 : TESS_C32;
    return kernel->scalar_bytes == 8 ? TESS_F64 : TESS_F32;
}

#endif
