/* The few instructions that are chosen outside the CPU backend: the code here cannot know src/cpu,
 * which stands above it, and is too small for kernels and a list of them. */
#pragma once

/* Copies of a function for the wider vectors of newer processors, chosen when the library is
 * loaded. For plain loops over blocks, which the compiler turns into vectors by itself. A copy is
 * named by its instructions: one named by a processor (arch=) is taken on that processor alone. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TESS_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TESS_WIDE
#endif

/* For a thread that looks at a word again and again: leaves the core's other thread its share, and
 * memory its peace. C has no word for it. */
static inline void tess_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* some 10 ns; "yield" is nothing on most processors */
#endif
}
