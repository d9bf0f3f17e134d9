/* A test's session with the fake driver: libraries, cache directory, what must be gone afterwards.
 */
#ifndef FAKE_SESSION_H
#define FAKE_SESSION_H

#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cuda/driver/cache.h"
#include "cuda/fake/fake_cuda.h"
#include "backend/backend.h"
#include "ref/ref.h"
#include "support/support.h"

static fake_cuda *fake;
static char cache_directory[] = "/tmp/tessera-test-XX"
                                "XX"
                                "XX";

static inline int start(void **state)
{
    void *library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_NODELETE);
    if (!library || !mkdtemp(cache_directory))
        return -1;
    fake_cuda *(*get)(void);
    void *symbol = dlsym(library, "fake_cuda_state");
    memcpy(&get, &symbol, sizeof symbol);
    fake = get();
    setenv("TESSERA_LIBCUDA", FAKE_CUDA, 1);
    setenv("TESSERA_NVRTC", FAKE_CUDA, 1);
    setenv("TESSERA_CUSPARSE", "/nowhere", 1);
    setenv("TESSERA_CACHE", cache_directory, 1);
    return test_setup(state);
}

static inline int finish(void **state)
{
    tess_cache_clear();
    rmdir(cache_directory);
    return test_teardown(state);
}

/* Every test starts without faults and must leave nothing on the device. */
static inline int before(void **state)
{
    (void)state;
    fake->devices = 1;
    fake->fail_at = -1;
    fake->memory_limit = INT64_MAX;
    fake->wrong_results = fake->compile_fails = 0;
    fake->loading = 0;
    fake->apart = 0;
    fake->not_run = NULL;
    fake->refused = NULL;
    fake->capability = FAKE_CAPABILITY;
    fake->largest_cluster = FAKE_CLUSTER;
    setenv("TESSERA_NVRTC", FAKE_CUDA, 1);
    unsetenv("TESSERA_JIT");
    return 0;
}

static inline int after(void **state)
{
    (void)state;
    test_fail_allocation(state, -1);
    if (fake->alive != 0 || fake->current != 0 || fake->memory_used != 0)
        fprintf(stderr, "left on the device: %lld objects, %lld bytes, %d contexts\n",
                (long long)fake->alive, (long long)fake->memory_used, fake->current);
    return fake->alive == 0 && fake->current == 0 && fake->memory_used == 0 ? 0 : -1;
}

static inline tess_device *open_device(void **state)
{
    tess_device *device;
    if (tess_device_open(test_ctx(state), "cuda", &device) != TESS_OK)
        fail_msg("%s", tess_ctx_error(test_ctx(state)));
    return device;
}

static inline tess_plan *make_plan(void **state, const tess_matrix *A, tess_device *device,
                                   const tess_plan_options *options)
{
    tess_plan *plan;
    if (tess_plan_create(test_ctx(state), A, device, options, &plan) != TESS_OK)
        fail_msg("%s", tess_ctx_error(test_ctx(state)));
    return plan;
}

static inline void assert_text(void **state, const char *part)
{
    if (!strstr(tess_ctx_error(test_ctx(state)), part))
        fail_msg("'%s' does not say '%s'", tess_ctx_error(test_ctx(state)), part);
}

static inline void ok(void **state, tess_status status)
{
    if (status != TESS_OK)
        fail_msg("%s: %s", tess_status_name(status), tess_ctx_error(test_ctx(state)));
}

/* So far. */
static inline int64_t launches_of(const char *entry)
{
    for (int i = 0; i < FAKE_COUNTS && fake->counts[i].entry; i++)
        if (strcmp(fake->counts[i].entry, entry) == 0)
            return fake->counts[i].launches;
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

#endif
