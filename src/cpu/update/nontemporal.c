#include "cpu/update/nontemporal.h"

#include "core/core.h"

bool tess_cpu_exceeds_caches(int64_t bytes)
{
    tess_cpu_id id;
    tess_cpu_identify(&id);
    return id.l3_bytes > 0 && bytes > id.l3_bytes;
}
