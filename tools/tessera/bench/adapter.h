/* One child process of `tessera bench --peers`. */
#ifndef TESSERA_BENCH_ADAPTER_H
#define TESSERA_BENCH_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { LINE_MAX_BYTES = 1 << 15 };

typedef struct bench_peer {
    pid_t pid;
    int to, from;
    char library[64], version[64];
    int threads;
    char buffer[LINE_MAX_BYTES]; /* bytes that were read and not yet taken */
    size_t filled;
} bench_peer;

/* Starts the program at `path` with its pipes, and tells it to use `threads` threads. */
bool bench_adapter_start(const char *path, int threads, bench_peer *peer);
void bench_adapter_stop(bench_peer *peer);

/* The next line without its newline, in the caller's buffer of LINE_MAX_BYTES. NULL: the child
 * left, or was silent for too long. */
char *bench_adapter_read(bench_peer *peer, char *line);
bool bench_adapter_say(bench_peer *peer, const char *line);

#endif
