/* tess_comm over MPI: persistent requests for channels, MPI_Allgather for the rest.
 *
 * Sums are made from gathered numbers in the order of the ranks, by the caller: MPI_Allreduce may
 * add in any order. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera_mpi.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* The length of a message as MPI takes it: a number of bytes or, where an int does not hold that,
 * one item of a derived type of as many bytes. */
typedef struct mpi_length {
    int count;
    MPI_Datatype type;
} mpi_length;

/* A gather that has been started and not waited for. */
typedef struct mpi_pending {
    MPI_Request request;
    mpi_length length;
} mpi_pending;

typedef struct mpi_user {
    MPI_Comm comm;
    mpi_pending pending; /* not allocated, because memory could be missing on this rank alone */
    int is_pending;
} mpi_user;

typedef struct mpi_channel {
    int receives, count;   /* count: receives and sends */
    MPI_Request *requests; /* receives, then sends */
    MPI_Status *statuses;
    int *peers;
} mpi_channel;

/* A message of rows, or the word that the sender has failed and has none. */
enum { TAG_ROWS, TAG_FAILED };

static int length_of(size_t bytes, mpi_length *out)
{
    enum { PIECE = 1 << 20 };
    *out = (mpi_length){(int)bytes, MPI_BYTE};
    if (bytes <= INT_MAX)
        return MPI_SUCCESS;
    const int lengths[2] = {(int)(bytes / PIECE), (int)(bytes % PIECE)};
    const MPI_Aint places[2] = {0, (MPI_Aint)(bytes / PIECE * PIECE)};
    MPI_Datatype piece, types[2] = {MPI_BYTE, MPI_BYTE};
    int status = MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    types[0] = piece;
    out->count = 1;
    if (status == MPI_SUCCESS)
        status = MPI_Type_create_struct(2, lengths, places, types, &out->type);
    if (status == MPI_SUCCESS)
        status = MPI_Type_commit(&out->type);
    MPI_Type_free(&piece);
    return status;
}

static void length_free(mpi_length *length)
{
    if (length->type != MPI_BYTE)
        MPI_Type_free(&length->type);
}

static tess_status status_of(int mpi_status)
{
    return mpi_status == MPI_SUCCESS ? TESS_OK : TESS_ERR_DEVICE;
}

static tess_status gather(void *user, const void *mine, size_t bytes, void *all)
{
    mpi_user *u = user;
    mpi_length length;
    int status = length_of(bytes, &length);
    if (status == MPI_SUCCESS)
        status =
            MPI_Allgather(mine, length.count, length.type, all, length.count, length.type, u->comm);
    length_free(&length);
    return status_of(status);
}

static tess_status end_gather(mpi_pending *p)
{
    const int status = MPI_Wait(&p->request, MPI_STATUS_IGNORE);
    length_free(&p->length);
    return status_of(status);
}

/* A second gather beside one that has been started ends at once. */
static tess_status gather_start(void *user, const void *mine, size_t bytes, void *all, void **out)
{
    mpi_user *u = user;
    mpi_pending second, *p = u->is_pending ? &second : &u->pending;
    int status = length_of(bytes, &p->length);
    if (status == MPI_SUCCESS)
        status = MPI_Iallgather(mine, p->length.count, p->length.type, all, p->length.count,
                                p->length.type, u->comm, &p->request);
    if (status != MPI_SUCCESS) {
        length_free(&p->length);
        return status_of(status);
    }
    *out = p == &second ? NULL : p;
    if (p == &second)
        return end_gather(p);
    u->is_pending = 1;
    return TESS_OK;
}

static tess_status gather_wait(void *user, void *pending)
{
    mpi_user *u = user;
    if (!pending)
        return TESS_OK;
    u->is_pending = 0;
    return end_gather(pending);
}

static void close_channel(void *user, void *opened)
{
    mpi_channel *c = opened;
    (void)user;
    for (int i = 0; i < c->count; i++)
        MPI_Request_free(&c->requests[i]);
    free(c->requests);
    free(c->statuses);
    free(c->peers);
    free(c);
}

static int add(mpi_user *u, mpi_channel *c, const tess_message *message, int send)
{
    mpi_length length;
    int status = length_of(message->bytes, &length);
    MPI_Request *request = &c->requests[c->count];
    if (status == MPI_SUCCESS)
        status = send ? MPI_Send_init(message->data, length.count, length.type, message->peer,
                                      TAG_ROWS, u->comm, request)
                      : MPI_Recv_init(message->data, length.count, length.type, message->peer,
                                      MPI_ANY_TAG, u->comm, request);
    length_free(&length);
    c->peers[c->count] = message->peer;
    c->count += status == MPI_SUCCESS;
    return status;
}

static tess_status open_channel(void *user, int sends, const tess_message *send, int receives,
                                const tess_message *receive, void **out)
{
    mpi_channel *c = calloc(1, sizeof *c);
    if (!c)
        return TESS_ERR_MEMORY;
    const size_t most = (size_t)(sends + receives) + 1;
    c->receives = receives;
    c->requests = malloc(most * sizeof *c->requests);
    c->statuses = malloc(most * sizeof *c->statuses);
    c->peers = malloc(most * sizeof *c->peers);
    if (!c->requests || !c->statuses || !c->peers) {
        close_channel(user, c);
        return TESS_ERR_MEMORY;
    }
    int status = MPI_SUCCESS;
    for (int i = 0; status == MPI_SUCCESS && i < receives; i++)
        status = add(user, c, &receive[i], 0);
    for (int i = 0; status == MPI_SUCCESS && i < sends; i++)
        status = add(user, c, &send[i], 1);
    if (status != MPI_SUCCESS) {
        close_channel(user, c);
        return status_of(status);
    }
    *out = c;
    return TESS_OK;
}

static tess_status start(void *user, void *opened)
{
    mpi_channel *c = opened;
    (void)user;
    return status_of(MPI_Startall(c->count, c->requests));
}

/* Receives what others send, because they wait until it has arrived. */
static tess_status skip(void *user, void *opened)
{
    mpi_user *u = user;
    mpi_channel *c = opened;
    int status = MPI_Startall(c->receives, c->requests);
    for (int i = c->receives; i < c->count; i++) {
        const int sent = MPI_Send(NULL, 0, MPI_BYTE, c->peers[i], TAG_FAILED, u->comm);
        status = status == MPI_SUCCESS ? sent : status;
    }
    return status_of(status);
}

static tess_status wait_for(void *user, void *opened)
{
    mpi_channel *c = opened;
    (void)user;
    if (MPI_Waitall(c->count, c->requests, c->statuses) != MPI_SUCCESS)
        return TESS_ERR_DEVICE;
    for (int i = 0; i < c->receives; i++)
        if (c->statuses[i].MPI_TAG == TAG_FAILED)
            return TESS_ERR_PART;
    return TESS_OK;
}

/* Whether MPI takes buffers in a GPU's memory. Open MPI and MPICH can be asked. For another MPI, or
 * one whose answer is wrong, TESSERA_MPI_DEVICE_MEMORY says it. */
static int takes_device_memory(void)
{
    const char *told = getenv("TESSERA_MPI_DEVICE_MEMORY");
    if (told)
        return strcmp(told, "on") == 0;
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
    return MPIX_Query_cuda_support();
#elif defined(MPIX_GPU_SUPPORT_CUDA)
    int takes = 0;
    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes) == MPI_SUCCESS && takes;
#else
    return 0;
#endif
}

tess_status tess_mpi_comm_open(tess_ctx *ctx, MPI_Comm mpi, tess_comm *out)
{
    int initialised = 0;
    if (!ctx || !out || mpi == MPI_COMM_NULL || MPI_Initialized(&initialised) != MPI_SUCCESS ||
        !initialised)
        return TESS_ERR_ARGUMENT;
    MPI_Comm own;
    int status = MPI_Comm_dup(mpi, &own);
    if (status != MPI_SUCCESS)
        return status_of(status);
    /* MPI returns failures, instead of ending the process, so that the library reports them. */
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    mpi_user *u = calloc(1, sizeof *u);
    int lacks = !u, one_lacks = 1; /* on one rank at least */
    status = MPI_Allreduce(&lacks, &one_lacks, 1, MPI_INT, MPI_MAX, own);
    if (status != MPI_SUCCESS || one_lacks) {
        MPI_Comm_free(&own);
        free(u);
        return status == MPI_SUCCESS ? TESS_ERR_MEMORY : status_of(status);
    }
    u->comm = own;
    tess_comm comm = {.user = u,
                      .gather = gather,
                      .gather_start = gather_start,
                      .gather_wait = gather_wait,
                      .open = open_channel,
                      .start = start,
                      .skip = skip,
                      .wait = wait_for,
                      .close = close_channel,
                      .device_memory = takes_device_memory()};
    MPI_Comm_rank(own, &comm.rank);
    MPI_Comm_size(own, &comm.size);
    *out = comm;
    return TESS_OK;
}

void tess_mpi_comm_close(tess_comm *comm)
{
    if (!comm || !comm->user)
        return;
    mpi_user *u = comm->user;
    MPI_Comm_free(&u->comm);
    free(u);
    comm->user = NULL;
}
