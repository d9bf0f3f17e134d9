/* The machine that a measurement was made on. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

/* The processor's name: x86 tells it; on aarch64 only numbers are known, given as they are. */
static void processor_name(char *name, size_t size)
{
    char line[256], part[64] = "", implementer[64] = "";
    snprintf(name, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value)
            continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = 0;
        if (strncmp(line, "model name", 10) == 0)
            snprintf(name, size, "%s", value);
        else if (strncmp(line, "CPU implementer", 15) == 0)
            snprintf(implementer, sizeof implementer, "%s", value);
        else if (strncmp(line, "CPU part", 8) == 0)
            snprintf(part, sizeof part, "%s", value);
    }
    if (file)
        fclose(file);
    static const struct {
        const char *part, *name;
    } arm[] = {{"0xd0c", "Neoverse-N1"},
               {"0xd40", "Neoverse-V1"},
               {"0xd49", "Neoverse-N2"},
               {"0xd4f", "Neoverse-V2"}};
    if (part[0])
        snprintf(name, size, "aarch64 implementer %s part %s", implementer, part);
    for (size_t i = 0; strcmp(implementer, "0x41") == 0 && i < sizeof arm / sizeof arm[0]; i++)
        if (strcmp(part, arm[i].part) == 0)
            snprintf(name, size, "%s", arm[i].name);
}

void machine_look(machine_facts *facts)
{
    struct utsname system;
    struct tm utc;
    const time_t now = time(NULL);
    *facts = (machine_facts){.processors = sysconf(_SC_NPROCESSORS_ONLN)};
    processor_name(facts->processor, sizeof facts->processor);
    if (gmtime_r(&now, &utc))
        strftime(facts->date, sizeof facts->date, "%Y-%m-%d", &utc);
    if (uname(&system) == 0)
        snprintf(facts->system, sizeof facts->system, "%s %s %s", system.sysname, system.release,
                 system.machine);
#if defined(__clang__)
    facts->compiler = "clang " __clang_version__;
#else
    facts->compiler = "gcc " __VERSION__;
#endif
}
