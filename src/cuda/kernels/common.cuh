/* What all device sources share: the scalar type, loads with cache hints, entry points.
 *
 * Device sources are CUDA C in the subset that is also C11: no templates, overloads or references.
 * With TESS_EMULATE defined the tests compile them for the CPU and replace what is below the #else.
 * REAL is the number of bytes of a real (8 or 4); scalars consist of reals (scalar.cuh). A kernel
 * explains its other macros at its top.
 */
#ifndef TESS_COMMON_CUH
#define TESS_COMMON_CUH

#if REAL == 8
typedef double real;
#else
typedef float real;
#endif

/* HELD: bytes of a real of stored factors, where they differ from the vectors'. */
#ifndef HELD
#define HELD REAL
#endif
#if HELD == 8
typedef double held;
#else
typedef float held;
#endif

/* HINT of the loads that stream the matrix. 0: plain. 1: not kept in L1. 2: as 1, and first to
 * leave L2, x the last. 3: as 1, and 256 bytes at a time are fetched into L2. Before sm_80 2 and 3
 * are 1. */
#if !defined(HINT) || (!defined(TESS_EMULATE) && __CUDA_ARCH__ < 800 && HINT > 1)
#undef HINT
#define HINT 1
#endif

/* The architecture that is compiled for, such as 90: newer ones have more instructions. */
#ifndef ARCH
#define ARCH 80
#endif

/* Launches that may start early (tess_cuda_launch.overlaps). The next launch may start when all
 * thread blocks have said so. WAIT_FOR_LAST returns when the one before has ended: only then touch
 * its data. */
#if !defined(TESS_EMULATE) && __CUDA_ARCH__ >= 900
#define LET_NEXT_START() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define WAIT_FOR_LAST() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define LET_NEXT_START() ((void)0)
#define WAIT_FOR_LAST() ((void)0)
#endif

#ifdef TESS_EMULATE
#include "emulate.h"
#else

/* KERNEL(name, args_struct, threads per block, least blocks per SM) { ... uses `a` ... } */
#define KERNEL(name, args, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const args a)

#define DEVICE static __device__ __forceinline__

#define ALIGNED(bytes) __align__(bytes)

/* Shared memory of a thread block: one array, or the launch's dynamic bytes (16-byte aligned). */
#define SHARED(type, name, count) __shared__ type name[count]
#define DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]

#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
#define NO_UNROLL _Pragma("unroll 1")
#define HIDE(number) asm volatile("" : "+r"(number)) /* hides an int's value from the compiler */

/* Streaming loads. The policy is made once per thread and costs nothing when unused. */
typedef unsigned long long policy;

DEVICE policy stream_policy(void)
{
#if HINT == 2
    policy p;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p));
    return p;
#else
    return 0;
#endif
}

#if HINT == 2
#define STREAM_LOAD(kind) "ld.global.nc.L1::no_allocate.L2::cache_hint." kind
#define STREAM_POLICY(address, p) "l"(address), "l"(p)
#define STREAM_TAIL(address, policy) ", [" address "], " policy ";"
#else
#if HINT == 3
#define STREAM_LOAD(kind) "ld.global.nc.L1::no_allocate.L2::256B." kind
#elif HINT == 1
#define STREAM_LOAD(kind) "ld.global.nc.L1::no_allocate." kind
#else
#define STREAM_LOAD(kind) "ld.global.nc." kind
#endif
#define STREAM_POLICY(address, p) "l"(address)
#define STREAM_TAIL(address, policy) ", [" address "];"
#endif

#if HELD == 8
DEVICE void stream_held1(const held *from, held *to, policy p)
{
    asm(STREAM_LOAD("f64") " %0" STREAM_TAIL("%1", "%2") : "=d"(to[0]) : STREAM_POLICY(from, p));
}

DEVICE void stream_held2(const held *from, held *to, policy p)
{
    asm(STREAM_LOAD("v2.f64") " {%0, %1}" STREAM_TAIL("%2", "%3")
        : "=d"(to[0]), "=d"(to[1])
        : STREAM_POLICY(from, p));
}
#else
DEVICE void stream_held1(const held *from, held *to, policy p)
{
    asm(STREAM_LOAD("f32") " %0" STREAM_TAIL("%1", "%2") : "=f"(to[0]) : STREAM_POLICY(from, p));
}

DEVICE void stream_held2(const held *from, held *to, policy p)
{
    asm(STREAM_LOAD("v2.f32") " {%0, %1}" STREAM_TAIL("%2", "%3")
        : "=f"(to[0]), "=f"(to[1])
        : STREAM_POLICY(from, p));
}
#endif

#if REAL == 8
#define SCALAR_KIND "f64"
#define SCALAR_OUT(lvalue) "=d"(lvalue)
#else
#define SCALAR_KIND "f32"
#define SCALAR_OUT(lvalue) "=f"(lvalue)
#endif

/* 1, 2 or 4 scalars that lie together, aligned to their size. */
DEVICE void stream_load1(const real *from, real *to, policy p)
{
    asm(STREAM_LOAD(SCALAR_KIND) " %0" STREAM_TAIL("%1", "%2")
        : SCALAR_OUT(to[0])
        : STREAM_POLICY(from, p));
}

DEVICE void stream_load2(const real *from, real *to, policy p)
{
    asm(STREAM_LOAD("v2." SCALAR_KIND) " {%0, %1}" STREAM_TAIL("%2", "%3")
        : SCALAR_OUT(to[0]), SCALAR_OUT(to[1])
        : STREAM_POLICY(from, p));
}

#if REAL == 4
DEVICE void stream_load4(const real *from, real *to, policy p)
{
    asm(STREAM_LOAD("v4." SCALAR_KIND) " {%0, %1, %2, %3}" STREAM_TAIL("%4", "%5")
        : SCALAR_OUT(to[0]), SCALAR_OUT(to[1]), SCALAR_OUT(to[2]), SCALAR_OUT(to[3])
        : STREAM_POLICY(from, p));
}
#endif

/* 16 bytes of data that is worth keeping in L1. */
#if REAL == 8
DEVICE void cached_load16(const real *from, real *to)
{
    asm("ld.global.nc.v2.f64 {%0, %1}, [%2];" : "=d"(to[0]), "=d"(to[1]) : "l"(from));
}
#else
DEVICE void cached_load16(const real *from, real *to)
{
    asm("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
        : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
        : "l"(from));
}
#endif

/* Block columns: 1, 2 or 4 that lie together. */
DEVICE void stream_index1(const int *from, int *to, policy p)
{
    asm(STREAM_LOAD("s32") " %0" STREAM_TAIL("%1", "%2") : "=r"(to[0]) : STREAM_POLICY(from, p));
}

DEVICE void stream_index2(const int *from, int *to, policy p)
{
    asm(STREAM_LOAD("v2.s32") " {%0, %1}" STREAM_TAIL("%2", "%3")
        : "=r"(to[0]), "=r"(to[1])
        : STREAM_POLICY(from, p));
}

DEVICE void stream_index4(const int *from, int *to, policy p)
{
    asm(STREAM_LOAD("v4.s32") " {%0, %1, %2, %3}" STREAM_TAIL("%4", "%5")
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
        : STREAM_POLICY(from, p));
}

/* x: the last to leave L2 where the matrix is the first. */
DEVICE policy keep_policy(void)
{
#if HINT == 2
    policy p;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p));
    return p;
#else
    return 0;
#endif
}

#if HINT == 2
#define KEEP_LOAD(kind) "ld.global.nc.L2::cache_hint." kind
#define KEEP_POLICY(address, p) "l"(address), "l"(p)
#define KEEP_TAIL(address, policy) ", [" address "], " policy ";"
#else
#define KEEP_LOAD(kind) "ld.global.nc." kind
#define KEEP_POLICY(address, p) "l"(address)
#define KEEP_TAIL(address, policy) ", [" address "];"
#endif

DEVICE real keep_load(const real *from, policy p)
{
    real value;
    asm(KEEP_LOAD(SCALAR_KIND) " %0" KEEP_TAIL("%1", "%2")
        : SCALAR_OUT(value)
        : KEEP_POLICY(from, p));
    return value;
}

/* 1, 2 or 4 scalars of x that lie together, aligned to their size. */
DEVICE void keep_load1(const real *from, real *to, policy p)
{
    to[0] = keep_load(from, p);
}

DEVICE void keep_load2(const real *from, real *to, policy p)
{
    asm(KEEP_LOAD("v2." SCALAR_KIND) " {%0, %1}" KEEP_TAIL("%2", "%3")
        : SCALAR_OUT(to[0]), SCALAR_OUT(to[1])
        : KEEP_POLICY(from, p));
}

#if REAL == 4
DEVICE void keep_load4(const real *from, real *to, policy p)
{
    asm(KEEP_LOAD("v4." SCALAR_KIND) " {%0, %1, %2, %3}" KEEP_TAIL("%4", "%5")
        : SCALAR_OUT(to[0]), SCALAR_OUT(to[1]), SCALAR_OUT(to[2]), SCALAR_OUT(to[3])
        : KEEP_POLICY(from, p));
}
#endif

/* ---- Asynchronous copies into shared memory ---- */

DEVICE unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

#if ARCH >= 90
/* Bulk copies (one thread asks, the copy engine works) complete on an mbarrier. `arrivals` threads
 * arrive there, one of which announces the bytes to come; the phase ends when all have arrived. */
typedef unsigned long long mbarrier;

DEVICE void barrier_init(mbarrier *barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

/* After barrier_init, before the copy engine may use the barrier. */
DEVICE void barrier_fence(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

DEVICE void barrier_expect(mbarrier *barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Waits until the phase of that parity is over. */
DEVICE void barrier_wait(mbarrier *barrier, unsigned phase)
{
    unsigned done;
    do {
        asm volatile("{ .reg .pred over;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, over; }"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(phase)
                     : "memory");
    } while (!done);
}

/* Addresses and bytes are multiples of 16. */
DEVICE void bulk_copy(void *to, const void *from, unsigned bytes, mbarrier *barrier, policy p)
{
#if HINT == 2
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(p)
                 : "memory");
#else
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
#endif
}

/* Stands between ordinary accesses of a buffer and its next bulk copy. */
#define bulk_fence() barrier_fence()
#endif

/* Copies 16 bytes, by the thread itself; its groups of copies complete in order. With fewer `bytes`
 * the rest of the 16 becomes 0 and is not read. */
DEVICE void cp_async(void *to, const void *from, unsigned bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
}

DEVICE void cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most `groups`, a compile-time constant, of the thread's groups are under way. */
#define cp_async_wait(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")

/* ---- Values that thread blocks of one launch hand each other ----
 *
 * All bits of a value that has not arrived are set. The value is its own message, so that no fence
 * is needed. A NaN with all bits set is handed on as another NaN. */
#if REAL == 8
DEVICE real arriving_load(const real *from)
{
    real value;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(value) : "l"(from));
    return value;
}

DEVICE int is_absent(real value)
{
    return __double_as_longlong(value) == -1ll;
}

DEVICE void hand_on(real *to, real value)
{
    value = is_absent(value) ? __longlong_as_double(0x7ff8000000000000ll) : value;
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(to), "d"(value));
}
#else
DEVICE real arriving_load(const real *from)
{
    real value;
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(value) : "l"(from));
    return value;
}

DEVICE int is_absent(real value)
{
    return __float_as_int(value) == -1;
}

DEVICE void hand_on(real *to, real value)
{
    value = is_absent(value) ? __int_as_float(0x7fc00000) : value;
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(to), "f"(value));
}
#endif

/* Between two looks at a value that has not arrived. */
#ifdef NAP
#define LOOK_AGAIN() __nanosleep(NAP)
#else
#define LOOK_AGAIN() ((void)0)
#endif

/* Prefetches the cache line of an address that is read later. */
DEVICE void fetch_line(const void *address)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/* Read-only data that is worth keeping in L1: x, row offsets. */
#define READ_ONLY(pointer) __ldg(pointer)

#endif

#include "scalar.cuh"

/* A function's name that ends with a compile-time number: of VEC scalars, of GROUP columns. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#endif
