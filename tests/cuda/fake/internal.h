/* What the parts of the fake driver share. */
#ifndef FAKE_INTERNAL_H
#define FAKE_INTERNAL_H

#include <stdbool.h>

#include "emu/run.h"
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))
#define CALL EXPORT cu_result

extern fake_cuda fake_state;

/* CU_SUCCESS, or what this call was told to fail with. */
cu_result fake_may_fail(void);

#define REFUSE_IF(condition, error) \
    do {                            \
        if (condition)              \
            return error;           \
    } while (0)

/* One thread at a time until the function returns; a call may make another one. */
void fake_lock(void);
void fake_unlock(const char *held);
#define LOCKED()                                                            \
    __attribute__((cleanup(fake_unlock), unused)) const char fake_held = 0; \
    fake_lock()

#define ENTER()                                 \
    LOCKED();                                   \
    do {                                        \
        const cu_result fate = fake_may_fail(); \
        if (fate != CU_SUCCESS)                 \
            return fate;                        \
    } while (0)

/* What may not happen while a stream is captured, and what needs a current context. */
#define NOT_CAPTURED() REFUSE_IF(fake_state.capturing, FAKE_CAPTURE_UNSUPPORTED)
#define IN_CONTEXT() REFUSE_IF(fake_device_now() < 0, FAKE_INVALID_CONTEXT)

/* device.c: the device of the current context, -1 when there is none. */
int fake_device_now(void);
/* Whether kernels of a device may touch another one's memory. */
bool fake_device_reaches(int device, int other);

/* memory.c: keeps a copy of all device memory, and makes the doubles wrong that changed since.
 */
void fake_memory_keep(void);
void fake_memory_spoil(void);

/* memory.c: whether all that looks like an address in these arguments of a kernel is within
 * its device's reach. */
bool fake_memory_reached(const void *args, size_t bytes, int device);

/* Nodes of the graph under way that the next one waits for. */
typedef struct fake_nodes {
    int count, capacity;
    int *at;
} fake_nodes;
void fake_nodes_add(fake_nodes *nodes, const fake_nodes *more);
void fake_nodes_clear(fake_nodes *nodes);

struct cu_stream_s {
    bool alive, captured;
    fake_nodes last;
};

struct cu_event_s {
    double clock;
    int capture; /* the number of that in which it was last recorded; 0: in none */
    fake_nodes last;
};

/* stream.c: alive, or the default stream. */
bool fake_stream_known(cu_stream stream);
/* All that were captured are not any more; whether their nodes were all among those `reached`. */
bool fake_streams_release(const bool *reached);

/* launch.c */
typedef struct fake_module {
    int device;
    char variant[32]; /* the emulator's name for it */
    struct fake_module *next;
} fake_module;

typedef struct fake_function {
    fake_module *module; /* NULL: free */
    emu_entry *entry;
    int launched;      /* how often */
    int dynamic_limit; /* bytes of dynamic shared memory; -1: the default */
    bool any_cluster_size;
} fake_function;

typedef struct fake_launch {
    fake_function *function;
    emu_grid grid;
    unsigned cluster[3]; /* thread blocks; 0: no clusters */
    cu_stream stream;
    const void *args;
} fake_launch;

cu_result fake_run(const fake_launch *launch);

/* graph.c: adds a launch, a memset or a copy to the graph that is being captured. */
bool fake_captured(cu_stream stream);
int fake_capture_number(void); /* 0: none is under way */
cu_result fake_capture_launch(const fake_launch *launch);
cu_result fake_capture_memset(cu_pointer to, unsigned char value, size_t bytes, cu_stream stream);
cu_result fake_capture_copy(void *to, const void *from, size_t bytes, cu_stream stream);
/* memory.c: a memset that is now due. */
cu_result fake_memset(cu_pointer to, unsigned char value, size_t bytes);

/* compile.c: a program as NVRTC gets it. */
typedef struct fake_source {
    char *text, *name;
    int headers;
    char **header_text, **header_name;
} fake_source;

/* A hash of the compiler, its flags and the emulator's headers. */
uint64_t fake_tools(void);

/* Compiles it for the emulator, or finds that this was done before. Returns whether it is there;
 * `path` is the shared object, `log` what the compiler said (malloc; NULL: nothing). */
bool fake_compile(const fake_source *source, int options, const char *const *option, char *path,
                  size_t size, char **log);

#endif
