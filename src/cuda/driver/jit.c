#include "cuda/driver/jit.h"

#include "core/threads.h"
#include "cuda/driver/sources.h"

enum { OPTIONS = 48, HEADERS = 16 };

static const tess_cuda_source *find_source(const char *name)
{
    for (const tess_cuda_source *s = tess_cuda_sources; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

static tess_status need_source(tess_ctx *ctx, const char *name, const tess_cuda_source **out)
{
    *out = find_source(name);
    return *out ? TESS_OK
                : tess_fail(ctx, TESS_ERR_INTERNAL, "no device source '%s' in this build", name);
}

static bool is_header(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".cuh") == 0;
}

static tess_status need_nvrtc(tess_ctx *ctx, tess_jit *jit)
{
    if (jit->loaded)
        return TESS_OK;
    TESS_TRY(tess_nvrtc_load(ctx, &jit->nvrtc));
    jit->loaded = true;
    return TESS_OK;
}

/* The source and what it includes: a change of another header leaves the kernel in the cache. */
static uint64_t hash_source(const tess_cuda_source *source, uint64_t hash)
{
    static const char directive[] = "#include \"";
    hash = tess_hash_bytes(source->text, source->bytes, hash);
    for (const char *at = source->text; (at = strstr(at, directive));) {
        char name[64];
        at += sizeof directive - 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
        const tess_cuda_source *header = find_source(name); /* none: the emulator's */
        if (header)
            hash = hash_source(header, hash);
    }
    return hash;
}

static void make_key(const tess_cuda_source *source, const tess_jit_request *request,
                     const tess_jit *jit, tess_cache_key *key)
{
    *key = (tess_cache_key){0};
    snprintf(key->label, sizeof key->label, "%s sm_%d%s%s", request->source, request->sm,
             *request->defines ? " " : "", request->defines);
    uint64_t hash = hash_source(source, 0);
    hash = tess_hash_bytes(request->defines, strlen(request->defines), hash);
    key->hash = tess_hash_bytes(key->label, strlen(key->label), hash);
    key->nvrtc_major = jit->loaded ? jit->nvrtc.major : 0;
    key->nvrtc_minor = jit->loaded ? jit->nvrtc.minor : 0;
}

/* The program's log, shortened to fit: its first lines are the ones that explain. */
static void copy_log(const tess_nvrtc *nvrtc, nvrtc_program program, tess_ctx *ctx, char *log,
                     size_t size)
{
    size_t bytes = 0;
    void *text = NULL;
    if (!log || size == 0)
        return;
    *log = '\0';
    if (nvrtc->nvrtcGetProgramLogSize(program, &bytes) == 0 && bytes > 1 &&
        tess_alloc_bytes(ctx, (int64_t)bytes, 1, &text) == TESS_OK &&
        nvrtc->nvrtcGetProgramLog(program, text) == 0)
        snprintf(log, size, "%s", (char *)text);
    tess_free(ctx, text);
}

/* "-DA=1 -DB=2" cut at its spaces in place; the number of options now in the list. */
static int split_defines(char *defines, const char **options, int count)
{
    for (char *save, *word = strtok_r(defines, " ", &save); word && count < OPTIONS;
         word = strtok_r(NULL, " ", &save))
        options[count++] = word;
    return count;
}

static bool knows(const tess_nvrtc *nvrtc, int sm)
{
    for (int i = 0; i < nvrtc->arch_count; i++)
        if (nvrtc->archs[i] == sm)
            return true;
    return false;
}

/* The architecture to compile for. A GPU that the compiler does not know gets code for the first
 * one of its generation, which runs on all others of it. Where the compiler does not know that
 * either, the GPU gets PTX (*ptx) for the newest architecture before its own. */
static int target_of(const tess_nvrtc *nvrtc, int sm, bool *ptx)
{
    const int first = sm / 10 * 10;
    int before = 0;
    for (int i = 0; i < nvrtc->arch_count; i++)
        if (nvrtc->archs[i] < sm)
            before = tess_max(before, nvrtc->archs[i]);
    const bool known = knows(nvrtc, sm) || before == 0; /* an older GPU: the compiler says so */
    *ptx = !known && !knows(nvrtc, first);
    return known ? sm : *ptx ? before : first;
}

static tess_status take_code(tess_ctx *ctx, const tess_nvrtc *nvrtc, nvrtc_program program,
                             bool ptx, void **code, size_t *bytes)
{
    void *copy = NULL;
    size_t size = 0;
    int result =
        ptx ? nvrtc->nvrtcGetPTXSize(program, &size) : nvrtc->nvrtcGetCUBINSize(program, &size);
    if (result == 0 && size > 0) {
        TESS_TRY(tess_alloc_bytes(ctx, (int64_t)size, 1, &copy));
        result = ptx ? nvrtc->nvrtcGetPTX(program, copy) : nvrtc->nvrtcGetCUBIN(program, copy);
    }
    if (result != 0 || size == 0) {
        tess_free(ctx, copy);
        return tess_fail(ctx, TESS_ERR_DEVICE, "NVRTC gave no machine code: %s",
                         nvrtc->nvrtcGetErrorString(result));
    }
    *code = copy;
    *bytes = size;
    return TESS_OK;
}

/* The program of a source, with all headers at hand; NVRTC's result. */
static int create_program(const tess_nvrtc *nvrtc, const tess_cuda_source *source,
                          nvrtc_program *program)
{
    const char *texts[HEADERS], *names[HEADERS];
    int headers = 0;
    for (const tess_cuda_source *s = tess_cuda_sources; s->name && headers < HEADERS; s++) {
        if (is_header(s->name)) {
            texts[headers] = s->text;
            names[headers++] = s->name;
        }
    }
    return nvrtc->nvrtcCreateProgram(program, source->text, source->name, headers, texts, names);
}

tess_status tess_jit_compile(tess_ctx *ctx, tess_jit *jit, const tess_jit_request *request,
                             const char *extra_option, void **code, size_t *bytes, char *log,
                             size_t log_size)
{
    TESS_TRY(need_nvrtc(ctx, jit));
    const tess_nvrtc *nvrtc = &jit->nvrtc;
    const tess_cuda_source *source;
    TESS_TRY(need_source(ctx, request->source, &source));

    const char *options[OPTIONS];
    int count = 0;
    bool ptx;
    const int target = target_of(nvrtc, request->sm, &ptx);
    char arch[48], defines[TESS_CACHE_LABEL];
    snprintf(arch, sizeof arch, "--gpu-architecture=%s_%d", ptx ? "compute" : "sm", target);
    snprintf(defines, sizeof defines, "%s", request->defines);
    options[count++] = arch;
    options[count++] = "--std=c++17";
    if (extra_option)
        options[count++] = extra_option;
    count = split_defines(defines, options, count);

    nvrtc_program program = NULL;
    int result = create_program(nvrtc, source, &program);
    if (result == 0)
        result = nvrtc->nvrtcCompileProgram(program, count, options);
    tess_status status;
    if (result == 0) {
        status = take_code(ctx, nvrtc, program, ptx, code, bytes);
        copy_log(nvrtc, program, ctx, log, log_size);
    } else {
        char first[800] = "";
        if (program)
            copy_log(nvrtc, program, ctx, first, sizeof first);
        status = tess_fail(ctx, TESS_ERR_DEVICE, "NVRTC cannot compile %s %s (%s): %s",
                           request->source, arch + 19, nvrtc->nvrtcGetErrorString(result), first);
        if (log && log_size > 0)
            snprintf(log, log_size, "%s", first);
    }
    if (program)
        nvrtc->nvrtcDestroyProgram(&program);
    return status;
}

typedef enum jit_mode { JIT_OFF, JIT_LOAD, JIT_ON } jit_mode;

static tess_status jit_mode_in_force(tess_ctx *ctx, jit_mode *mode)
{
    static const char *const words[] = {"off", "load", "on"};
    const char *text = getenv("TESSERA_JIT");
    *mode = JIT_ON;
    if (!text || !*text)
        return TESS_OK;
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, words[i]) == 0) {
            *mode = (jit_mode)i;
            return TESS_OK;
        }
    }
    return tess_fail(ctx, TESS_ERR_OPTION, "TESSERA_JIT=%s is not one of off, load, on", text);
}

tess_status tess_jit_get(tess_ctx *ctx, tess_jit *jit, const tess_jit_request *request,
                         tess_jit_cubin *out)
{
    jit_mode mode;
    TESS_TRY(jit_mode_in_force(ctx, &mode));
    if (mode == JIT_OFF)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "TESSERA_JIT=off: CUDA kernels are compiled at run time, so device "
                         "'cuda' has none now: unset it, or use 'cpu'");
    const tess_cuda_source *source;
    TESS_TRY(need_source(ctx, request->source, &source));
    double start = tess_seconds();
    char why[sizeof ctx->error] = "";
    if (need_nvrtc(ctx, jit) != TESS_OK)
        memcpy(why, ctx->error, sizeof why); /* told only when the cache has nothing */

    tess_jit_cubin cubin = {0};
    make_key(source, request, jit, &cubin.key);
    if (!tess_cache_load(ctx, &cubin.key, &cubin.entry)) {
        if (mode == JIT_LOAD)
            return tess_fail(ctx, TESS_ERR_DEVICE,
                             "TESSERA_JIT=load: the cache has no %s (see `tessera cache list`)",
                             cubin.key.label);
        if (why[0])
            return tess_fail(ctx, TESS_ERR_DEVICE, "%s", why);
        TESS_TRY(tess_jit_compile(ctx, jit, request, NULL, &cubin.entry.code, &cubin.entry.bytes,
                                  NULL, 0));
        cubin.fresh = true;
    }
    cubin.seconds = tess_seconds() - start;
    tess_log(ctx, "cuda: %s %s in %.1f ms (%zu bytes)", cubin.fresh ? "compiled" : "loaded",
             cubin.key.label, 1e3 * cubin.seconds, cubin.entry.bytes);
    *out = cubin;
    return TESS_OK;
}

/* Compiles one request, on any thread. It has a context of its own, so that no other thread uses
 * its allocator or its place for errors. */
static bool compile_into_cache(const tess_jit *loaded, const tess_jit_request *request)
{
    tess_ctx *ctx;
    tess_jit jit = *loaded;
    const tess_cuda_source *source = find_source(request->source);
    tess_cache_key key;
    tess_cache_entry entry = {0};
    if (!source || tess_ctx_create(NULL, &ctx) != TESS_OK)
        return false;
    make_key(source, request, &jit, &key);
    bool stored =
        !tess_cache_has(&key) &&
        tess_jit_compile(ctx, &jit, request, NULL, &entry.code, &entry.bytes, NULL, 0) == TESS_OK &&
        tess_cache_store(ctx, &key, &entry);
    tess_free(ctx, entry.code);
    tess_ctx_destroy(ctx);
    return stored;
}

struct compile_some {
    tess_jit *jit;
    const tess_jit_request *requests;
    int64_t *compiled;
};

static void compile_some(void *arg, tess_range range)
{
    const struct compile_some *job = arg;
    int64_t compiled = 0;
    for (int64_t i = range.first; i < range.last; i++)
        compiled += compile_into_cache(job->jit, &job->requests[i]);
    tess_take(job->compiled, compiled);
}

void tess_jit_ahead(tess_ctx *ctx, tess_jit *jit, const tess_jit_request *requests, int64_t count)
{
    const tess_kept_error error = tess_error_keep(ctx);
    jit_mode mode;
    int threads = (int)tess_min(ctx->threads, count);
    if (threads > 1 && jit_mode_in_force(ctx, &mode) == TESS_OK && mode == JIT_ON &&
        need_nvrtc(ctx, jit) == TESS_OK) {
        double start = tess_seconds();
        int64_t compiled = 0;
        tess_for_dynamic(ctx, threads, count, 1, compile_some,
                         &(struct compile_some){jit, requests, &compiled});
        tess_log(ctx, "cuda: %lld kernels compiled on %d threads in %.1f ms", (long long)compiled,
                 threads, 1e3 * (tess_seconds() - start));
    }
    tess_error_restore(ctx, &error);
}
