/* What the processor can do and how large its caches are, asked of the operating system (aarch64)
 * or of cpuid (x86-64). Answers are not cached here: callers keep them. */
#include <unistd.h>

#include "core/core.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#ifndef HWCAP_SVE
#define HWCAP_SVE (1 << 22)
#endif
#ifndef PR_SVE_GET_VL
#define PR_SVE_GET_VL 51
#define PR_SVE_VL_LEN_MASK 0xffff
#endif
#endif

/* Bytes of the cache `level` that holds data, as the first core sees it; 0 when unknown. */
static int64_t cache_bytes(int level)
{
    for (int index = 0; index < 8; index++) {
        char path[96], kind = 0, unit = 0;
        long size = 0;
        int found_level = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", index);
        FILE *file = fopen(path, "r");
        if (!file)
            return 0;
        int fields = fscanf(file, "%d", &found_level);
        fclose(file);
        if (fields != 1 || found_level != level)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", index);
        file = fopen(path, "r");
        if (file) {
            fields = fscanf(file, "%c", &kind);
            fclose(file);
        }
        if (kind == 'I')
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        file = fopen(path, "r");
        if (!file)
            return 0;
        fields = fscanf(file, "%ld%c", &size, &unit);
        fclose(file);
        if (fields < 1 || size < 0)
            return 0;
        return (int64_t)size * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1);
    }
    return 0;
}

void tess_cpu_identify(tess_cpu_id *id)
{
    *id = (tess_cpu_id){.l2_bytes = cache_bytes(2), .l3_bytes = cache_bytes(3)};
#if defined(__aarch64__)
    id->neon = true;
#if defined(__linux__)
    if (getauxval(AT_HWCAP) & HWCAP_SVE) {
        int length = prctl(PR_SVE_GET_VL, 0, 0, 0, 0);
        id->sve_bytes = length > 0 ? length & PR_SVE_VL_LEN_MASK : 0;
    }
#endif
#elif defined(__x86_64__)
    __builtin_cpu_init();
    id->avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    id->avx512 = id->avx2 && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif
}

/* Arm processors report only numbers. The table names the models found in servers. */
static const char *arm_part(unsigned implementer, unsigned part)
{
    static const struct {
        unsigned part;
        const char *name;
    } arm[] = {{0xd0c, "Neoverse-N1"},
               {0xd40, "Neoverse-V1"},
               {0xd49, "Neoverse-N2"},
               {0xd4f, "Neoverse-V2"}};
    for (size_t i = 0; implementer == 0x41 && i < sizeof arm / sizeof arm[0]; i++)
        if (arm[i].part == part)
            return arm[i].name;
    return NULL;
}

void tess_cpu_name(char *name, size_t size)
{
    char line[256];
    unsigned implementer = 0, part = 0;
    snprintf(name, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            colon += 1 + strspn(colon + 1, " \t");
            snprintf(name, size, "%.*s", (int)strcspn(colon, "\n"), colon);
            break;
        }
        (void)sscanf(line, "CPU implementer : %x", &implementer);
        if (sscanf(line, "CPU part : %x", &part) == 1) {
            const char *known = arm_part(implementer, part);
            if (known)
                snprintf(name, size, "%s", known);
            else
                snprintf(name, size, "arm %x-%x", implementer, part);
            break;
        }
    }
    if (file)
        fclose(file);
}
