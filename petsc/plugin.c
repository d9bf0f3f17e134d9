/* The plug-in's entry: it makes Tessera's types known to PETSc, and keeps the library's context and
 * devices, which all matrices of a process share. */
#include "plugin.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEVICES = 8 };

/* PETSc calls the plug-in from one thread, so this is a process's. */
static struct {
    PetscBool registered;
    tess_ctx *ctx;
    int users; /* objects that live in the context */
    int devices;
    struct {
        char name[64];
        tess_device *device;
    } open[MAX_DEVICES];
} here;

PetscErrorCode tess_petsc_code(tess_status status)
{
    switch (status) {
    case TESS_ERR_MEMORY:
        return PETSC_ERR_MEM;
    case TESS_ERR_ARGUMENT:
    case TESS_ERR_OPTION:
        return PETSC_ERR_ARG_WRONG;
    case TESS_ERR_UNSUPPORTED:
        return PETSC_ERR_SUP;
    default:
        return PETSC_ERR_LIB;
    }
}

void tess_petsc_count(int more)
{
    here.users += more;
}

/* Runs in PetscFinalize. */
static PetscErrorCode clean_up(void)
{
    PetscFunctionBegin;
    here.registered = PETSC_FALSE;
    if (here.users > 0)
        PetscFunctionReturn(0);
    while (here.devices > 0)
        tess_device_close(here.open[--here.devices].device);
    tess_ctx_destroy(here.ctx);
    here.ctx = NULL;
    PetscFunctionReturn(0);
}

/* The number of processors that this process may run on. */
static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Threads for each process: the machine's cores are shared by the processes on it, unless
 * OMP_NUM_THREADS says how many each is to take or the processes are bound to cores. */
static PetscErrorCode threads_of_process(int *threads)
{
    MPI_Comm node;
    PetscMPIInt processes;

    PetscFunctionBegin;
    *threads = 0; /* the number that OMP_NUM_THREADS gives */
    if (getenv("OMP_NUM_THREADS"))
        PetscFunctionReturn(0);
    PetscCallMPI(
        MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    PetscCallMPI(MPI_Comm_size(node, &processes));
    PetscCallMPI(MPI_Comm_free(&node));
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int share = PetscMax(1, (int)cores / processes);
    *threads = PetscMin(processors(), share);
    PetscFunctionReturn(0);
}

/* Made when the plug-in is registered, which all processes do together. */
static PetscErrorCode make_context(void)
{
    tess_ctx_options options = {0};
    tess_status status;

    PetscFunctionBegin;
    if (here.ctx)
        PetscFunctionReturn(0);
    PetscCall(threads_of_process(&options.threads));
    status = tess_ctx_create(&options, &here.ctx);
    PetscCheck(status == TESS_OK, PETSC_COMM_SELF, tess_petsc_code(status), "Tessera: %s",
               tess_status_text(status));
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_context(tess_ctx **ctx)
{
    PetscFunctionBegin;
    PetscCheck(here.ctx, PETSC_COMM_SELF, PETSC_ERR_ORDER, "TesseraPetscRegister() was not called");
    *ctx = here.ctx;
    PetscFunctionReturn(0);
}

/* The device that "auto" means for A, by name. */
static PetscErrorCode resolve(const tess_matrix *A, size_t size, char *name)
{
    tess_device *device;
    tess_device_info info;

    PetscFunctionBegin;
    TessCall(here.ctx, tess_device_open_for(here.ctx, "auto", A, &device));
    TessCall(here.ctx, tess_device_get_info(device, sizeof(info), &info));
    PetscCall(PetscStrncpy(name, info.backend, size));
    tess_device_close(device);
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_device(const char *name, const tess_matrix *A, tess_device **device)
{
    char resolved[sizeof here.open[0].name];

    PetscFunctionBegin;
    PetscCall(PetscStrncpy(resolved, name, sizeof resolved));
    if (!strcmp(name, "auto"))
        PetscCall(resolve(A, sizeof resolved, resolved));
    for (int i = 0; i < here.devices; i++)
        if (!strcmp(here.open[i].name, resolved)) {
            *device = here.open[i].device;
            PetscFunctionReturn(0);
        }
    PetscCheck(here.devices < MAX_DEVICES, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera: device %s would be the %d-th that is open, and %d are the most", name,
               MAX_DEVICES + 1, MAX_DEVICES);
    TessCall(here.ctx, tess_device_open(here.ctx, resolved, device));
    PetscCall(PetscStrncpy(here.open[here.devices].name, resolved, sizeof resolved));
    here.open[here.devices++].device = *device;
    PetscFunctionReturn(0);
}

/* The plug-in was compiled for real numbers, 32-bit indices and one version's tables of operations.
 * A PETSc with other types has functions of the same names, so that its types are checked before
 * any other call. */
static PetscErrorCode check_petsc(void)
{
    size_t index_bytes;
    PetscDataType scalar;
    PetscBool found;
    PetscInt major, minor;

    PetscFunctionBegin;
    PetscCall(PetscDataTypeGetSize(PETSC_INT, &index_bytes));
    PetscCheck(index_bytes == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera's plug-in is for a PETSc with %d-bit indices, and this one's have %d bits",
               8 * (int)sizeof(PetscInt), 8 * (int)index_bytes);
    PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
    PetscCheck(found && scalar == PETSC_SCALAR, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera's plug-in is for a PETSc with real numbers of double precision, and this "
               "one's are %s",
               found ? PetscDataTypes[scalar] : "unknown");
    PetscCall(PetscGetVersionNumber(&major, &minor, NULL, NULL));
    PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF,
               PETSC_ERR_SUP, "Tessera's plug-in was compiled for PETSc %d.%d, and this is %d.%d",
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)major, (int)minor);
    PetscFunctionReturn(0);
}

PetscErrorCode TesseraPetscRegister(void)
{
    PetscFunctionBegin;
    if (here.registered)
        PetscFunctionReturn(0);
    PetscCall(check_petsc());
    PetscCall(make_context());
    PetscCall(MatInitializePackage());
    PetscCall(MatRegisterRootName(MATTESSERA, MATSEQTESSERA, MATMPITESSERA));
    PetscCall(MatRegister(MATSEQTESSERA, MatCreate_SeqTessera));
    PetscCall(MatRegister(MATMPITESSERA, MatCreate_MPITessera));
    PetscCall(PCInitializePackage());
    PetscCall(PCRegister(PCTESSERA, PCCreate_Tessera));
    PetscCall(PetscRegisterFinalize(clean_up));
    here.registered = PETSC_TRUE;
    PetscFunctionReturn(0);
}

/* The function that PETSc calls in a library that -dll_append names: libtessera_petsc. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_tessera_petsc(void);
PetscErrorCode PetscDLLibraryRegister_tessera_petsc(void)
{
    PetscFunctionBegin;
    PetscCall(TesseraPetscRegister());
    PetscFunctionReturn(0);
}
