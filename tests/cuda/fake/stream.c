/* Streams and events. Work is done at once, in the order of the calls; an event holds the fake
 * clock's seconds. While a stream is captured, it and the events recorded in it hold the nodes that
 * what follows waits for. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { STREAMS = 256 };

static struct cu_stream_s streams[STREAMS];

bool fake_stream_known(cu_stream stream)
{
    return !stream || (stream >= streams && stream < streams + STREAMS && stream->alive);
}

void fake_nodes_add(fake_nodes *nodes, const fake_nodes *more)
{
    for (int i = 0; i < more->count; i++) {
        int k = 0;
        while (k < nodes->count && nodes->at[k] != more->at[i])
            k++;
        if (k < nodes->count)
            continue;
        if (nodes->count == nodes->capacity) {
            nodes->capacity = 2 * nodes->capacity + 4;
            nodes->at = realloc(nodes->at, (size_t)nodes->capacity * sizeof *nodes->at);
        }
        nodes->at[nodes->count++] = more->at[i];
    }
}

void fake_nodes_clear(fake_nodes *nodes)
{
    free(nodes->at);
    *nodes = (fake_nodes){0};
}

bool fake_streams_release(const bool *reached)
{
    bool joined = true;
    for (int i = 0; i < STREAMS; i++) {
        for (int k = 0; k < streams[i].last.count; k++)
            joined = joined && reached[streams[i].last.at[k]];
        fake_nodes_clear(&streams[i].last);
        streams[i].captured = false;
    }
    return joined;
}

CALL cuStreamCreate(cu_stream *stream, unsigned flags)
{
    (void)flags;
    ENTER();
    IN_CONTEXT();
    for (int i = 0; i < STREAMS; i++) {
        if (streams[i].alive)
            continue;
        streams[i].alive = true;
        fake_state.alive++;
        *stream = &streams[i];
        return CU_SUCCESS;
    }
    return CU_ERROR_OUT_OF_MEMORY;
}

CALL cuStreamCreateWithPriority(cu_stream *stream, unsigned flags, int priority)
{
    (void)priority;
    return cuStreamCreate(stream, flags);
}

CALL cuStreamDestroy_v2(cu_stream stream)
{
    LOCKED();
    REFUSE_IF(!stream || !fake_stream_known(stream), FAKE_INVALID_HANDLE);
    stream->alive = false;
    fake_state.alive--;
    return CU_SUCCESS;
}

CALL cuStreamSynchronize(cu_stream stream)
{
    ENTER();
    NOT_CAPTURED();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    fake_state.waits++;
    fake_state.done = fake_state.put;
    return CU_SUCCESS;
}

/* A stream that waits for an event of a capture is captured with it. */
CALL cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    (void)flags;
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    if (event->capture == 0)
        return fake_captured(stream) ? FAKE_CAPTURE_ISOLATION : CU_SUCCESS;
    REFUSE_IF(event->capture != fake_capture_number(), FAKE_CAPTURED_EVENT);
    stream->captured = true;
    fake_nodes_add(&stream->last, &event->last);
    return CU_SUCCESS;
}

CALL cuEventCreate(cu_event *event, unsigned flags)
{
    (void)flags;
    ENTER();
    IN_CONTEXT();
    *event = calloc(1, sizeof **event);
    fake_state.alive++;
    return CU_SUCCESS;
}

CALL cuEventDestroy_v2(cu_event event)
{
    LOCKED();
    fake_nodes_clear(&event->last);
    free(event);
    fake_state.alive--;
    return CU_SUCCESS;
}

CALL cuEventRecord(cu_event event, cu_stream stream)
{
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    fake_nodes_clear(&event->last);
    event->capture = 0;
    event->clock = fake_state.clock;
    if (fake_captured(stream)) {
        event->capture = fake_capture_number();
        fake_nodes_add(&event->last, &stream->last);
    }
    return CU_SUCCESS;
}

CALL cuEventSynchronize(cu_event event)
{
    ENTER();
    NOT_CAPTURED();
    REFUSE_IF(event->capture != 0, FAKE_CAPTURED_EVENT);
    fake_state.answers++;
    return CU_SUCCESS;
}

CALL cuEventElapsedTime(float *milliseconds, cu_event start, cu_event end)
{
    ENTER();
    *milliseconds = (float)(1e3 * (end->clock - start->clock));
    return CU_SUCCESS;
}
