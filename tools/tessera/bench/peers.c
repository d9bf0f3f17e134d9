/* The other libraries of `tessera bench --peers`.
 *
 * On the host: adapters, each a child process (adapter.h). The matrix and the results pass
 * through files in a private directory, in memory (/dev/shm) where the system has it. On a GPU:
 * cuSPARSE, in our own process (bench/peers/cusparse.h).
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../bench/peers/cusparse.h"
#include "../../../bench/peers/peer.h"
#include "bench.h"
#include "adapter.h"

enum { PEERS_MAX = 16, VARIANTS_MAX = BENCH_PEERS_MAX };

struct bench_peers {
    tess_ctx *ctx;
    const tess_matrix *A;
    const void *x;
    tess_cuda *cuda;           /* NULL: adapters */
    cusparse_matrix *matrices; /* that several of cuSPARSE's paths read */
    char directory[64];
    bench_peer *peers[PEERS_MAX];
    int peer_count;
    bench_variant variants[VARIANTS_MAX];
    int variant_count;
};

/* ---- The matrix file ---- */

static bool write_aligned(FILE *file, const void *bytes, int64_t size)
{
    static const char zeros[64];
    size_t padding = (size_t)(peer_align(size) - size);
    return fwrite(bytes, 1, (size_t)size, file) == (size_t)size &&
           fwrite(zeros, 1, padding, file) == padding;
}

static tess_status write_matrix(const tess_matrix *A, const void *x, const char *path)
{
    peer_header header = {.rows = A->rows,
                          .cols = A->cols,
                          .block_height = A->block_height,
                          .block_width = A->block_width,
                          .block_rows = A->block_rows,
                          .block_cols = A->block_cols,
                          .blocks = A->blocks};
    memcpy(header.magic, PEER_MAGIC, sizeof header.magic);
    FILE *file = fopen(path, "wb");
    if (!file)
        return tess_fail(A->ctx, TESS_ERR_IO, "%s: %s", path, strerror(errno));
    bool good = write_aligned(file, &header, sizeof header) &&
                write_aligned(file, A->row_offsets, (A->block_rows + 1) * 8) &&
                write_aligned(file, A->columns, A->blocks * 4) &&
                write_aligned(file, A->values, tess_matrix_stored(A) * 8) &&
                write_aligned(file, x, A->cols * 8);
    good = fclose(file) == 0 && good;
    return good ? TESS_OK : tess_fail(A->ctx, TESS_ERR_IO, "%s: %s", path, strerror(errno));
}

static tess_status make_directory(bench_peers *peers)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(peers->directory, sizeof peers->directory, "%s/tessera-XXXXXX", places[i]);
        if (mkdtemp(peers->directory))
            return TESS_OK;
    }
    peers->directory[0] = 0;
    return tess_fail(peers->ctx, TESS_ERR_IO, "no directory for the peers' files: %s",
                     strerror(errno));
}

/* ---- All of them ---- */

static bench_variant *add_variant(bench_peers *peers, bench_peer *peer, const char *library,
                                  const char *name, const char *refused)
{
    if (peers->variant_count == VARIANTS_MAX)
        return NULL;
    bench_variant *variant = &peers->variants[peers->variant_count++];
    variant->peer = peer;
    snprintf(variant->library, sizeof variant->library, "%s", library);
    snprintf(variant->version, sizeof variant->version, "%s", peer ? peer->version : "");
    snprintf(variant->name, sizeof variant->name, "%s", name);
    snprintf(variant->refused, sizeof variant->refused, "%s", refused);
    variant->threads = peer ? peer->threads : 0;
    return variant;
}

/* Starts one adapter and lets it load the matrix. A fault of the adapter becomes a variant that
 * refuses. */
static tess_status start_adapter(bench_peers *peers, const char *path, const char *name,
                                 int threads)
{
    char line[LINE_MAX_BYTES], variant[64];
    bench_peer *peer;
    TESS_TRY(TESS_CALLOC(peers->ctx, 1, &peer));
    if (peers->peer_count == PEERS_MAX || !bench_adapter_start(path, threads, peer)) {
        tess_free(peers->ctx, peer);
        add_variant(peers, NULL, name, "", "its adapter could not be started");
        return TESS_OK;
    }
    peers->peers[peers->peer_count++] = peer;
    if (!bench_adapter_read(peer, line) ||
        sscanf(line, "peer %63s %63s %d", peer->library, peer->version, &peer->threads) != 3) {
        add_variant(peers, NULL, name, "", "its adapter left before it said its name");
        return TESS_OK;
    }
    snprintf(line, sizeof line, "load %s/matrix\n", peers->directory);
    bool listening = bench_adapter_say(peer, line);
    while (listening && bench_adapter_read(peer, line)) {
        int at = 0;
        if (strcmp(line, "end") == 0)
            return TESS_OK;
        if (sscanf(line, "variant %63s %n", variant, &at) != 1 || at == 0)
            break;
        const char *refused = strncmp(line + at, "no ", 3) == 0 ? line + at + 3 : "";
        add_variant(peers, peer, peer->library, variant, refused);
    }
    add_variant(peers, NULL, peer->library, "", "its adapter left while it loaded the matrix");
    return TESS_OK;
}

static int is_adapter(const struct dirent *file)
{
    return strncmp(file->d_name, "peer-", 5) == 0;
}

static tess_status start_adapters(bench_peers *peers, const char *directory, int threads)
{
    struct dirent **files;
    int count = scandir(directory, &files, is_adapter, alphasort);
    if (count < 0)
        return tess_fail(peers->ctx, TESS_ERR_IO, "no peers in %s: %s (./run bench builds them)",
                         directory, strerror(errno));
    tess_status status = TESS_OK;
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, files[i]->d_name);
        if (status == TESS_OK)
            status = tess_progress(peers->ctx, "loading peers", i, count);
        if (status == TESS_OK)
            status = start_adapter(peers, path, files[i]->d_name + 5, threads);
        free(files[i]);
    }
    free(files);
    return status;
}

static tess_status start_host(bench_peers *peers, const char *directory, int threads)
{
    const tess_matrix *A = peers->A;
    char path[128];
    bool whole =
        A->rows == A->block_rows * A->block_height && A->cols == A->block_cols * A->block_width;
    if (A->type != TESS_F64 || !whole)
        return tess_fail(
            A->ctx, TESS_ERR_UNSUPPORTED,
            "the peers take f64 matrices of whole blocks only, and this is %s %lld x "
            "%lld in blocks of %d x %d: leave out --peers, or choose --type and --block",
            tess_type_name(A->type), (long long)A->rows, (long long)A->cols, (int)A->block_height,
            (int)A->block_width);
    TESS_TRY(make_directory(peers));
    snprintf(path, sizeof path, "%s/matrix", peers->directory);
    TESS_TRY(write_matrix(A, peers->x, path));
    return start_adapters(peers, directory, threads);
}

/* ---- cuSPARSE ---- */

/* Opens every path that takes the matrix. A path that fails becomes a variant that refuses. */
static tess_status start_cusparse(bench_peers *peers)
{
    char version[24];
    const char *name;
    bool takes;
    if (!cusparse_version(version, sizeof version)) {
        add_variant(peers, NULL, "cusparse", "", "cuSPARSE is not on this machine");
        return TESS_OK;
    }
    TESS_TRY(tess_cuda_enter(peers->cuda));
    for (int i = 0; (name = cusparse_path(i, peers->A, &takes)) != NULL; i++) {
        bench_variant *variant =
            takes ? add_variant(peers, NULL, "cusparse", name + strlen("cusparse_"), "") : NULL;
        if (!variant)
            continue;
        snprintf(variant->version, sizeof variant->version, "%s", version);
        variant->gives_y = true;
        if (cusparse_open(peers->cuda, peers->A, name, &peers->matrices, peers->cuda->stream,
                          &variant->product) != TESS_OK)
            snprintf(variant->refused, sizeof variant->refused, "%s", tess_ctx_error(peers->ctx));
    }
    tess_cuda_leave(peers->cuda);
    return TESS_OK;
}

static void stop_cusparse(bench_peers *peers)
{
    const bool entered = tess_cuda_enter(peers->cuda) == TESS_OK;
    for (int i = 0; i < peers->variant_count; i++)
        cusparse_close(peers->variants[i].product);
    if (entered)
        tess_cuda_leave(peers->cuda);
}

/* ---- Adapters or cuSPARSE ---- */

tess_status bench_peers_start(tess_device *device, const tess_matrix *A, const void *x,
                              const char *directory, bench_peers **out)
{
    tess_status status = TESS_OK;
    bench_peers *peers;
    TESS_TRY(TESS_CALLOC(A->ctx, 1, &peers));
    peers->ctx = A->ctx;
    peers->A = A;
    peers->x = x;
    if (device->backend == &tess_cuda_backend) {
        peers->cuda = tess_cuda_of(device);
        status = start_cusparse(peers);
    } else if (directory) {
        status = start_host(peers, directory, device->threads);
    }
    if (status == TESS_OK)
        *out = peers;
    else
        bench_peers_stop(peers);
    return status;
}

void bench_peers_stop(bench_peers *peers)
{
    char path[128];
    if (!peers)
        return;
    if (peers->cuda)
        stop_cusparse(peers);
    for (int i = 0; i < peers->peer_count; i++) {
        bench_adapter_stop(peers->peers[i]);
        tess_free(peers->ctx, peers->peers[i]);
    }
    if (peers->directory[0]) {
        snprintf(path, sizeof path, "%s/matrix", peers->directory);
        unlink(path);
        snprintf(path, sizeof path, "%s/y", peers->directory);
        unlink(path);
        rmdir(peers->directory);
    }
    tess_free(peers->ctx, peers);
}

int bench_peers_count(const bench_peers *peers)
{
    return peers->variant_count;
}

bench_variant *bench_peers_variant(bench_peers *peers, int index)
{
    return &peers->variants[index];
}

static bool time_cusparse(const bench_peers *peers, bench_variant *variant, int reps,
                          double *seconds, void *y)
{
    const tess_status status = cusparse_time(variant->product, peers->x, y, reps, seconds);
    if (status != TESS_OK)
        snprintf(variant->refused, sizeof variant->refused, "%s", tess_ctx_error(peers->ctx));
    return status == TESS_OK;
}

void bench_let_sleep(void)
{
    const struct timespec spinning = {.tv_nsec = 40 * 1000 * 1000};
    nanosleep(&spinning, NULL);
}

bool bench_variant_time(const bench_peers *peers, bench_variant *variant, int reps, double *seconds,
                        void *y)
{
    char line[LINE_MAX_BYTES];
    if (variant->product)
        return time_cusparse(peers, variant, reps, seconds, y);
    snprintf(line, sizeof line, "run %s %d\n", variant->name, reps);
    if (!bench_adapter_say(variant->peer, line) || !bench_adapter_read(variant->peer, line) ||
        strncmp(line, "times ", 6) != 0) {
        snprintf(variant->refused, sizeof variant->refused, "its adapter left while it multiplied");
        return false;
    }
    char *at = line + 6;
    for (int i = 0; i < reps; i++) {
        char *end;
        seconds[i] = strtod(at, &end);
        if (end == at) {
            snprintf(variant->refused, sizeof variant->refused, "its adapter gave %d of %d times",
                     i, reps);
            return false;
        }
        at = end;
    }
    return true;
}

bool bench_variant_result(bench_peers *peers, bench_variant *variant, double *y, int64_t count)
{
    char line[LINE_MAX_BYTES], path[128];
    snprintf(path, sizeof path, "%s/y", peers->directory);
    snprintf(line, sizeof line, "result %s %s\n", variant->name, path);
    bool good = bench_adapter_say(variant->peer, line) && bench_adapter_read(variant->peer, line) &&
                strcmp(line, "ok") == 0;
    FILE *file = good ? fopen(path, "rb") : NULL;
    good = file && fread(y, sizeof *y, (size_t)count, file) == (size_t)count;
    if (file)
        fclose(file);
    if (!good)
        snprintf(variant->refused, sizeof variant->refused, "its adapter gave no result");
    return good;
}
