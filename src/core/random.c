/* Counter-based random numbers and a 64-bit hash. */
#include "core/core.h"

/* SplitMix64's finaliser over a seed-dependent Weyl sequence. */
uint64_t tess_random_u64(uint64_t seed, uint64_t i)
{
    uint64_t z = (seed ^ 0x6a09e667f3bcc909u) * 0x9e3779b97f4a7c15u + i * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double tess_random_unit(uint64_t seed, uint64_t i)
{
    /* 53 random bits, shifted by half a unit so that the result is never 0. */
    double u = ((double)(tess_random_u64(seed, i) >> 11) + 0.5) * 0x1p-53;
    return 2.0 * u - 1.0;
}

int64_t tess_random_below(uint64_t seed, uint64_t i, int64_t bound)
{
    unsigned __int128 wide = (unsigned __int128)tess_random_u64(seed, i) * (uint64_t)bound;
    return (int64_t)(wide >> 64);
}

#define P1 0x9e3779b185ebca87u
#define P2 0xc2b2ae3d27d4eb4fu
#define P3 0x165667b19e3779f9u
#define P4 0x85ebca77c2b2ae63u
#define P5 0x27d4eb2f165667c5u

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t read64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static uint64_t mix(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * P2, 31) * P1;
}

uint64_t tess_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    const unsigned char *p = bytes, *end = p + size;
    uint64_t h = seed + P5;
    if (size >= 32) {
        uint64_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
        for (; end - p >= 32; p += 32) {
            a = mix(a, read64(p));
            b = mix(b, read64(p + 8));
            c = mix(c, read64(p + 16));
            d = mix(d, read64(p + 24));
        }
        h = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
        h = (h ^ mix(0, a)) * P1 + P4;
        h = (h ^ mix(0, b)) * P1 + P4;
        h = (h ^ mix(0, c)) * P1 + P4;
        h = (h ^ mix(0, d)) * P1 + P4;
    }
    h += size;
    for (; end - p >= 8; p += 8)
        h = rotate(h ^ mix(0, read64(p)), 27) * P1 + P4;
    if (end - p >= 4) {
        uint32_t v;
        memcpy(&v, p, 4);
        h = rotate(h ^ v * P1, 23) * P2 + P3;
        p += 4;
    }
    for (; p < end; p++)
        h = rotate(h ^ *p * P5, 11) * P1;
    h = (h ^ (h >> 33)) * P2;
    h = (h ^ (h >> 29)) * P3;
    return h ^ (h >> 32);
}
