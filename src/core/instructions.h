/* The instructions that code below the CPU backend chooses. Such code cannot include src/cpu, and
 * is not a kernel that a plan could choose. */
#pragma once

/* Compiles a function several times, also for the wider vectors of newer processors; the copy is
 * chosen when the library is loaded. For plain loops over blocks, which the compiler makes vectors
 * of. A copy is named by an instruction set, since one named by a processor (arch=) would be used
 * on that processor only. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TESS_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TESS_WIDE
#endif

/* For a thread that polls a word: it leaves more of the core to the core's other thread. */
static inline void tess_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* some 10 ns; "yield" does nothing on most processors */
#endif
}
