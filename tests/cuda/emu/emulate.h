/* Device sources on the CPU: what common.cuh provides on a GPU, for one variant of one kernel.
 *
 * A variant is a device source compiled as C with its -D macros, TESS_EMULATE, and EMU_VARIANT (a
 * string that names it). Its entry points register themselves; emulator.h launches them.
 *
 * The threads of a block are fibers, run in random order and switched at barriers, warp operations
 * and waits. Shared memory is heap memory of exactly the declared size, filled with NaN.
 */
#ifndef EMU_EMULATE_H
#define EMU_EMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run.h"

/* What device sources use of the C library. Its headers are longer than most of them, and are left
 * out because thousands of variants are compiled. */
double fabs(double), sqrt(double), fmax(double, double);
void *memcpy(void *, const void *, size_t);
int memcmp(const void *, const void *, size_t);

typedef struct emu_dim {
    unsigned x, y, z;
} emu_dim;

/* The running thread, as its own source sees it. */
typedef struct emu_place {
    emu_dim thread, block, grid_dim;
} emu_place;
extern const emu_place *emu_place_now;

#define threadIdx (emu_place_now->thread)
#define blockIdx (emu_place_now->block)
#define gridDim (emu_place_now->grid_dim)

#define KERNEL(name, args, threads, blocks)                                  \
    static void name##_body(const args a);                                   \
    static void name##_run(const void *bytes)                                \
    {                                                                        \
        args copy;                                                           \
        memcpy(&copy, bytes, sizeof copy);                                   \
        name##_body(copy);                                                   \
    }                                                                        \
    __attribute__((constructor)) static void name##_register(void)           \
    {                                                                        \
        emu_register(EMU_VARIANT, #name, name##_run, sizeof(args), threads); \
        _Static_assert((blocks) >= 0, "least blocks an SM");                 \
    }                                                                        \
    static void name##_body(const args a)

#define DEVICE __attribute__((unused)) static inline
#define UNROLL
#define UNROLL_4
#define NO_UNROLL
#define HIDE(number) ((void)(number))

/* Ends the launch with a message; does not return. */
void emu_fault(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- Shared memory ---- */

#define ALIGNED(bytes) __attribute__((aligned(bytes)))

void *emu_shared(int site, size_t bytes);
void *emu_dynamic_shared(void);
#define SHARED(type, name, count) type *const name = emu_shared(__LINE__, sizeof(type) * (count))
#define DYNAMIC_SHARED(name) unsigned char *const name = emu_dynamic_shared()

/* ---- Barriers and warp operations ---- */

typedef enum emu_warp_op {
    EMU_SYNCWARP,
    EMU_SHFL,
    EMU_SHFL_DOWN,
    EMU_SHFL_XOR,
    EMU_BALLOT
} emu_warp_op;

void emu_syncthreads(int line);
void emu_grid_sync(int line);
/* The operation's result for the running thread, which brings `value`. */
uint64_t emu_warp(emu_warp_op op, int line, unsigned mask, uint64_t value, int argument, int width);

#define EMU_SHUFFLE(op, mask, value, argument, width)                                \
    ({                                                                               \
        __typeof__(value) emu_value_ = (value);                                      \
        uint64_t emu_bits_ = 0;                                                      \
        memcpy(&emu_bits_, &emu_value_, sizeof emu_value_);                          \
        emu_bits_ = emu_warp(op, __LINE__, mask, emu_bits_, (int)(argument), width); \
        memcpy(&emu_value_, &emu_bits_, sizeof emu_value_);                          \
        emu_value_;                                                                  \
    })
#define emu_ballot(mask, predicate) \
    ((unsigned)emu_warp(EMU_BALLOT, __LINE__, mask, (predicate) != 0, 0, 32))

#define __syncthreads() emu_syncthreads(__LINE__)
#define grid_sync() emu_grid_sync(__LINE__)
#define __syncwarp(mask) ((void)emu_warp(EMU_SYNCWARP, __LINE__, mask, 0, 0, 32))
#define __ballot_sync(mask, predicate) emu_ballot(mask, predicate)
#define __any_sync(mask, predicate) (emu_ballot(mask, predicate) != 0)
#define __shfl_sync(mask, value, lane, width) EMU_SHUFFLE(EMU_SHFL, mask, value, lane, width)
#define __shfl_down_sync(mask, value, by, width) EMU_SHUFFLE(EMU_SHFL_DOWN, mask, value, by, width)
#define __shfl_xor_sync(mask, value, by, width) EMU_SHUFFLE(EMU_SHFL_XOR, mask, value, by, width)

/* The launch's grid is one cluster: shared memory of its thread block `rank`. */
void *emu_remote(const void *pointer, unsigned rank, int line);
#define cluster_sync() grid_sync()
#define remote_load(pointer, rank) \
    (*(const __typeof__(*(pointer)) *)emu_remote(pointer, rank, __LINE__))
#define remote_store(pointer, rank, value) \
    ((void)(*(__typeof__(pointer))emu_remote(pointer, rank, __LINE__) = (value)))

/* One thread runs at a time, so a read-modify-write is atomic as it stands. */
#define atomicAdd(address, value)                     \
    ({                                                \
        __typeof__(*(address)) emu_old_ = *(address); \
        *(address) = emu_old_ + (value);              \
        emu_old_;                                     \
    })

#define atomicCAS(address, compare, value)            \
    ({                                                \
        __typeof__(*(address)) emu_old_ = *(address); \
        if (emu_old_ == (compare))                    \
            *(address) = (value);                     \
        emu_old_;                                     \
    })

#define __ffs(x) __builtin_ffs((int)(x))
#define __umul64hi(x, y) ((unsigned long long)((unsigned __int128)(x) * (y) >> 64))
#define __threadfence() ((void)0)
#define __dmul_rn(a, b) ((a) * (b))
#define __dadd_rn(a, b) ((a) + (b))

/* ---- Loads ---- */

typedef unsigned long long policy;

static inline policy stream_policy(void)
{
    return 0;
}

static inline policy keep_policy(void)
{
    return 0;
}

#define keep_load(pointer, policy) (*(pointer))

/* A vector load faults on a GPU when its address is not a multiple of its size. */
static inline void emu_load(const void *from, void *to, size_t bytes)
{
    if ((uintptr_t)from % bytes != 0)
        emu_fault("a load of %zu bytes from an address that is not a multiple of it", bytes);
    memcpy(to, from, bytes);
}

#define EMU_LOAD(name, type, count)                        \
    DEVICE void name(const type *from, type *to, policy p) \
    {                                                      \
        (void)p;                                           \
        emu_load(from, to, (count) * sizeof(type));        \
    }
EMU_LOAD(stream_load1, real, 1)
EMU_LOAD(stream_load2, real, 2)
EMU_LOAD(stream_load4, real, 4)
EMU_LOAD(keep_load1, real, 1)
EMU_LOAD(keep_load2, real, 2)
EMU_LOAD(keep_load4, real, 4)
EMU_LOAD(stream_held1, held, 1)
EMU_LOAD(stream_held2, held, 2)
EMU_LOAD(stream_index1, int, 1)
EMU_LOAD(stream_index2, int, 2)
EMU_LOAD(stream_index4, int, 4)

DEVICE void cached_load16(const real *from, real *to)
{
    emu_load(from, to, 16);
}

typedef struct uint4 {
    unsigned x, y, z, w;
} uint4;
#define make_uint4(x, y, z, w) ((uint4){x, y, z, w})
#define __ldcs(pointer) (*(pointer))
#define __ldg(pointer) (*(pointer))

#define READ_ONLY(pointer) (*(pointer))
#define fetch_line(address) ((void)*(volatile const char *)(address))

/* ---- Values that thread blocks hand each other ---- */

/* Lets the other threads run. A thread that waits for a value without end fails the launch. */
void emu_look_again(int line);
#define LOOK_AGAIN() emu_look_again(__LINE__)

#define arriving_load(pointer) (*(const volatile real *)(pointer))

DEVICE int is_absent(real value)
{
    static const unsigned char ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    return memcmp(&value, ones, sizeof value) == 0;
}

DEVICE void hand_on(real *to, real value)
{
    *(volatile real *)to = is_absent(value) ? (real)__builtin_nan("") : value;
}

/* A clock that advances by one second at each reading. A launch ends before the host goes on, so
 * that a kernel that waits for the host waits only for this clock. */
DEVICE unsigned long long nanoseconds(void)
{
    static unsigned long long now;
    return now += 1000000000;
}

/* ---- Asynchronous copies into shared memory ---- */

typedef unsigned long long mbarrier;

void barrier_init(mbarrier *barrier, unsigned arrivals);
void barrier_expect(mbarrier *barrier, unsigned bytes);
void barrier_wait(mbarrier *barrier, unsigned phase);
void bulk_copy(void *to, const void *from, unsigned bytes, mbarrier *barrier, policy p);

void cp_async(void *to, const void *from, unsigned bytes);
void cp_async_commit(void);
void cp_async_wait(int groups);

static inline void barrier_fence(void)
{
}

static inline void bulk_fence(void)
{
}

#endif
