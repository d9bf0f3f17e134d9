/* Another library's adapter as a long-lived child that speaks the lines of bench/peers/peer.h
 * through a pair of pipes. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapter.h"

enum { TIMEOUT_SECONDS = 300 };

char *bench_adapter_read(bench_peer *peer, char *line)
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

/* The command ignores SIGPIPE, so a child that left is a failed write. */
bool bench_adapter_say(bench_peer *peer, const char *line)
{
    size_t length = strlen(line);
    return write(peer->to, line, length) == (ssize_t)length;
}

/* In the child: takes the pipes as standard streams, silences stderr, and runs the adapter on all
 * processors. OMP_PROC_BIND may have pinned our own thread to one, and children inherit that. Makes
 * only calls that are safe after fork. */
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

/* Our environment, with the number of threads in every variable from which libraries take it. The
 * new texts are kept in `settings`. */
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

bool bench_adapter_start(const char *path, int threads, bench_peer *peer)
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

/* The child has two seconds to exit by itself, then it is killed. */
void bench_adapter_stop(bench_peer *peer)
{
    (void)bench_adapter_say(peer, "quit\n");
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
