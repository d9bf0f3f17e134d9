/* Other libraries as long-lived children, each speaking the lines of bench/peers/peer.h through a
 * pair of pipes. The matrix and the results pass through files in a private directory, in memory
 * (/dev/shm) where the system has it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../bench/peers/peer.h"
#include "bench.h"

enum { PEERS_MAX = 16, VARIANTS_MAX = 48, LINE_MAX_BYTES = 1 << 15, TIMEOUT_SECONDS = 300 };

struct bench_peer {
    pid_t pid;
    int to, from;
    char library[64], version[64];
    int threads;
    char buffer[LINE_MAX_BYTES]; /* read, not yet taken */
    size_t filled;
};

struct bench_peers {
    tess_ctx *ctx;
    char directory[64];
    bench_peer *peers[PEERS_MAX];
    int peer_count;
    bench_variant variants[VARIANTS_MAX];
    int variant_count;
};

/* ---- The conversation ---- */

/* The next line without its newline, or NULL when the child left or was silent for too long. Valid
 * until the next call. */
static char *read_line(bench_peer *peer, char *line)
{
    for (;;) {
        char *end = memchr(peer->buffer, '\n', peer->filled);
        if (end) {
            size_t length = (size_t)(end - peer->buffer);
            memcpy(line, peer->buffer, length);
            line[length] = 0;
            peer->filled -= length + 1;
            memmove(peer->buffer, end + 1, peer->filled);
            return line;
        }
        struct pollfd wait = {.fd = peer->from, .events = POLLIN};
        if (peer->filled == sizeof peer->buffer || poll(&wait, 1, TIMEOUT_SECONDS * 1000) <= 0)
            return NULL;
        ssize_t got =
            read(peer->from, peer->buffer + peer->filled, sizeof peer->buffer - peer->filled);
        if (got <= 0)
            return NULL;
        peer->filled += (size_t)got;
    }
}

/* SIGPIPE is ignored by the command: a child that left is a failed write. */
static bool say(bench_peer *peer, const char *line)
{
    size_t length = strlen(line);
    return write(peer->to, line, length) == (ssize_t)length;
}

/* ---- Starting and stopping ---- */

/* In the child: pipes as standard streams, silence, all processors (OMP_PROC_BIND may have pinned
 * our own thread to one, and children inherit that). Only calls that are safe after fork. */
static void become_adapter(const char *path, char *const *environment, const int *input,
                           const int *output)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    (void)sched_setaffinity(0, sizeof all, &all);
    int null = open("/dev/null", O_WRONLY);
    dup2(input[0], 0);
    dup2(output[1], 1);
    if (null >= 0)
        dup2(null, 2);
    char *arguments[] = {(char *)path, NULL};
    execve(path, arguments, environment);
    _exit(127);
}

extern char **environ;

enum { SETTINGS = 2 };

/* Our environment with the number of threads, in all the ways in which libraries are told. The new
 * texts are kept in `settings`. */
static char **make_environment(int threads, char settings[SETTINGS][64])
{
    static const char *const names[SETTINGS] = {"TESSERA_PEER_THREADS", "OMP_NUM_THREADS"};
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **environment = calloc(count + SETTINGS + 1, sizeof *environment);
    if (!environment)
        return NULL;
    for (size_t n = 0; n < SETTINGS; n++) {
        snprintf(settings[n], sizeof settings[n], "%s=%d", names[n], threads);
        environment[kept++] = settings[n];
    }
    for (size_t i = 0; i < count; i++) {
        bool replaced = false;
        for (size_t n = 0; n < SETTINGS; n++)
            replaced = replaced || strncmp(environ[i], names[n], strlen(names[n])) == 0;
        if (!replaced)
            environment[kept++] = environ[i];
    }
    return environment;
}

static bool start(const char *path, int threads, bench_peer *peer)
{
    int input[2], output[2];
    char settings[SETTINGS][64];
    if (pipe2(input, O_CLOEXEC) != 0)
        return false;
    if (pipe2(output, O_CLOEXEC) != 0) {
        close(input[0]);
        close(input[1]);
        return false;
    }
    char **environment = make_environment(threads, settings);
    peer->pid = environment ? fork() : -1;
    if (peer->pid == 0)
        become_adapter(path, environment, input, output);
    free(environment);
    close(input[0]);
    close(output[1]);
    peer->to = input[1];
    peer->from = output[0];
    if (peer->pid > 0)
        return true;
    close(peer->to);
    close(peer->from);
    return false;
}

/* A child gets two seconds to leave by itself. */
static void stop(bench_peer *peer)
{
    (void)say(peer, "quit\n");
    close(peer->to);
    close(peer->from);
    for (int i = 0; i < 200; i++) {
        if (waitpid(peer->pid, NULL, WNOHANG) != 0)
            return;
        usleep(10000);
    }
    kill(peer->pid, SIGKILL);
    waitpid(peer->pid, NULL, 0);
}

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

/* Starts one adapter and lets it load the matrix. A fault of the adapter is a variant that refuses.
 */
static tess_status start_adapter(bench_peers *peers, const char *path, const char *name,
                                 int threads)
{
    char line[LINE_MAX_BYTES], variant[64];
    bench_peer *peer;
    TESS_TRY(TESS_CALLOC(peers->ctx, 1, &peer));
    if (peers->peer_count == PEERS_MAX || !start(path, threads, peer)) {
        tess_free(peers->ctx, peer);
        add_variant(peers, NULL, name, "", "its adapter could not be started");
        return TESS_OK;
    }
    peers->peers[peers->peer_count++] = peer;
    if (!read_line(peer, line) ||
        sscanf(line, "peer %63s %63s %d", peer->library, peer->version, &peer->threads) != 3) {
        add_variant(peers, NULL, name, "", "its adapter left before it said its name");
        return TESS_OK;
    }
    snprintf(line, sizeof line, "load %s/matrix\n", peers->directory);
    bool listening = say(peer, line);
    while (listening && read_line(peer, line)) {
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

tess_status bench_peers_start(const tess_matrix *A, const void *x, const char *directory,
                              int threads, bench_peers **out)
{
    tess_status status;
    bool whole =
        A->rows == A->block_rows * A->block_height && A->cols == A->block_cols * A->block_width;
    if (A->type != TESS_F64 || !whole)
        return tess_fail(A->ctx, TESS_ERR_UNSUPPORTED,
                         "the peers take f64 matrices of whole blocks only, and this is %s %lld x "
                         "%lld in blocks of %d x %d",
                         tess_type_name(A->type), (long long)A->rows, (long long)A->cols,
                         (int)A->block_height, (int)A->block_width);
    char path[128];
    bench_peers *peers;
    TESS_TRY(TESS_CALLOC(A->ctx, 1, &peers));
    peers->ctx = A->ctx;
    TESS_TRY_CLEAN(make_directory(peers));
    snprintf(path, sizeof path, "%s/matrix", peers->directory);
    TESS_TRY_CLEAN(write_matrix(A, x, path));
    TESS_TRY_CLEAN(start_adapters(peers, directory, threads));
    *out = peers;
    return TESS_OK;
cleanup:
    bench_peers_stop(peers);
    return status;
}

void bench_peers_stop(bench_peers *peers)
{
    char path[128];
    if (!peers)
        return;
    for (int i = 0; i < peers->peer_count; i++) {
        stop(peers->peers[i]);
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

bool bench_variant_time(bench_variant *variant, int reps, double *seconds)
{
    char line[LINE_MAX_BYTES];
    snprintf(line, sizeof line, "run %s %d\n", variant->name, reps);
    if (!say(variant->peer, line) || !read_line(variant->peer, line) ||
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
    bool good =
        say(variant->peer, line) && read_line(variant->peer, line) && strcmp(line, "ok") == 0;
    FILE *file = good ? fopen(path, "rb") : NULL;
    good = file && fread(y, sizeof *y, (size_t)count, file) == (size_t)count;
    if (file)
        fclose(file);
    if (!good)
        snprintf(variant->refused, sizeof variant->refused, "its adapter gave no result");
    return good;
}
