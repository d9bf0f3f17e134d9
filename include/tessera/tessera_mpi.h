/* Parts of a matrix as the ranks of an MPI communicator: the transport that tess_part_create and
 * tess_part_deal take (tessera.h, "Several parts").
 *
 *     tess_comm comm;
 *     tess_mpi_comm_open(ctx, MPI_COMM_WORLD, &comm);
 *     tess_part_create(ctx, &comm, &my_rows, &part);
 *     tess_plan_create_part(part, device, NULL, &plan);
 *     tess_solve(plan, "cg:pc=bjacobi", my_b, my_x, &result);
 *
 * Link with libtessera_mpi; in CMake find_package(tessera COMPONENTS mpi) and tessera::mpi.
 * Everything else of Tessera knows no MPI. */
#ifndef TESSERA_MPI_H
#define TESSERA_MPI_H

#include <mpi.h>

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective. Works on a duplicate of `mpi`, so its messages meet no others. MPI must be
 * initialised, and it is enough that the thread that calls Tessera may call it
 * (MPI_THREAD_FUNNELED). Parts on GPUs exchange rows between buffers in device memory where MPI
 * says that it takes them, and by way of pinned memory of the host otherwise;
 * TESSERA_MPI_DEVICE_MEMORY=on or off in the environment decides in MPI's place. */
TESS_API tess_status tess_mpi_comm_open(tess_ctx *ctx, MPI_Comm mpi, tess_comm *out);
/* Collective; after all parts that use it are destroyed, before MPI_Finalize. */
TESS_API void tess_mpi_comm_close(tess_comm *comm);

#ifdef __cplusplus
}
#endif
#endif
