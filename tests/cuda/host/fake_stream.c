/* Streams and events. Work is done at once, in the order of the calls; an event holds the fake
 * clock's seconds. */
#include <stdlib.h>
#include <string.h>

#include "fake_internal.h"

enum { STREAMS = 256 };

static struct cu_stream_s {
    bool alive;
} streams[STREAMS];

bool fake_stream_known(cu_stream stream)
{
    return !stream || (stream >= streams && stream < streams + STREAMS && stream->alive);
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
    return CU_SUCCESS;
}

CALL cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    (void)event, (void)flags;
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    return CU_SUCCESS;
}

CALL cuEventCreate(cu_event *event, unsigned flags)
{
    (void)flags;
    ENTER();
    IN_CONTEXT();
    *event = calloc(1, sizeof(double));
    fake_state.alive++;
    return CU_SUCCESS;
}

CALL cuEventDestroy_v2(cu_event event)
{
    LOCKED();
    free(event);
    fake_state.alive--;
    return CU_SUCCESS;
}

CALL cuEventRecord(cu_event event, cu_stream stream)
{
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    memcpy(event, &fake_state.clock, sizeof fake_state.clock);
    return CU_SUCCESS;
}

CALL cuEventSynchronize(cu_event event)
{
    (void)event;
    ENTER();
    NOT_CAPTURED();
    return CU_SUCCESS;
}

CALL cuEventElapsedTime(float *milliseconds, cu_event start, cu_event end)
{
    double from, to;
    ENTER();
    memcpy(&from, start, sizeof from);
    memcpy(&to, end, sizeof to);
    *milliseconds = (float)(1e3 * (to - from));
    return CU_SUCCESS;
}
