/* Which ISA, which kernel; the device's state. */
#pragma once

#include "cpu/kernel.h"
#include "backend/backend.h"

typedef struct tess_cpu_device {
    tess_cpu_id id;
    tess_cpu_isa isa;
    struct tess_cpu_reading *reading; /* ceiling.c, of read_bytes; NULL before the first */
    double read_bytes;
} tess_cpu_device;

const char *tess_cpu_isa_name(tess_cpu_isa isa);
/* Whether this processor can run it (and this build has it). */
bool tess_cpu_isa_available(const tess_cpu_id *id, tess_cpu_isa isa);
/* The best available ISA, at most TESSERA_ISA. */
tess_status tess_cpu_isa_choose(tess_ctx *ctx, const tess_cpu_id *id, tess_cpu_isa *out);
/* All kernels of one ISA. */
const tess_cpu_kernel_table *tess_cpu_table(tess_cpu_isa isa);

/* The table with a family's kernels for the device: that of its ISA, or of the best ISA before it
 * that has such kernels. */
const tess_cpu_kernel_table *tess_cpu_family_table(const tess_device *device,
                                                   tess_cpu_family family);

/* The name of the format that a family works on. */
const char *tess_cpu_family_format(tess_cpu_family family);
/* The kernel's predicate: is it of that family, and does it apply to A? */
bool tess_cpu_kernel_applies(const tess_cpu_kernel *kernel, tess_cpu_family family,
                             const tess_matrix *A);
/* Returns whether the rows have so few blocks on average that their ends cost as much as their
 * blocks. */
static inline bool tess_cpu_short_rows(const tess_matrix *A)
{
    return A->blocks < 16 * A->block_rows;
}

/* Returns whether a kernel with lanes is worth trying on A: most of what it would read is blocks,
 * not zeros, and rows are long, so that entering and leaving the ring costs little beside them. */
bool tess_cpu_lanes_pay(const tess_device *device, const tess_cpu_kernel *kernel,
                        const tess_matrix *A);

/* The best of a family for A. */
const tess_cpu_kernel *tess_cpu_best(const tess_device *device, tess_cpu_family family,
                                     const tess_matrix *A);
/* The kernel called `name`, of any family on the format; NULL: there is none. */
const tess_cpu_kernel *tess_cpu_find(const tess_device *device, const char *format,
                                     const tess_matrix *A, const char *name);
/* The same, or an error that names the kernels there are. */
tess_status tess_cpu_named(const tess_device *device, const char *format, const tess_matrix *A,
                           const char *name, const tess_cpu_kernel **out);
