/* Both lists rise, so that one walk over them sees every pair that can overlap:
 *
 *     a   ---- a0 ----          ---- a1 ----
 *     b                -- b0 --              -- b1 --
 *
 * Lists whose first and last addresses lie apart need no walk. Addresses beyond the last one, of a
 * large ld, count as that one: nothing else lies there.
 */
#include "plan/ranges.h"

/* Returns base + at * ld * size + length * size, or the last address. */
static uintptr_t address(const tess_ranges *r, int64_t at, int64_t length)
{
    const uintptr_t base = (uintptr_t)r->base, room = (UINTPTR_MAX - base) / r->size;
    const uintptr_t step = (uintptr_t)r->ld, most = at > 0 ? (room / (uintptr_t)at) : UINTPTR_MAX;
    if (at > 0 && step > most)
        return UINTPTR_MAX;
    const uintptr_t first = at > 0 ? (uintptr_t)at * step : 0;
    return (uintptr_t)length > room - first ? UINTPTR_MAX
                                            : base + (first + (uintptr_t)length) * r->size;
}

bool tess_ranges_overlap(tess_ranges a, tess_ranges b)
{
    if (a.count <= 0 || b.count <= 0 || a.length <= 0 || b.length <= 0)
        return false;
    if (address(&a, a.count - 1, a.length) <= (uintptr_t)b.base ||
        address(&b, b.count - 1, b.length) <= (uintptr_t)a.base)
        return false;
    for (int64_t i = 0, j = 0; i < a.count && j < b.count;)
        if (address(&a, i, a.length) <= address(&b, j, 0))
            i++;
        else if (address(&b, j, b.length) <= address(&a, i, 0))
            j++;
        else
            return true;
    return false;
}
