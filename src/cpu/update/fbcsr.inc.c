/* Values of one array of FBCSR, gathered from CSR's: a template. `full`: there is no padding. */
static inline void NAME(move)(WORD *to, const WORD *values, const int32_t *entries, int64_t count,
                              bool full, const bool nontemporal)
{
    if (full) {
        for (int64_t i = 0; i < count; i++)
            NAME(tess_store)(to + i, values[entries[i]], nontemporal);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const WORD value = values[entries[i] == PADDING ? 0 : entries[i]];
        NAME(tess_store)(to + i, entries[i] == PADDING ? 0 : value, nontemporal);
    }
}
