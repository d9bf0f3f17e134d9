/* Finding cuSPARSE on the machine. */
#include "cusparse_api.h"

#include <dlfcn.h>
#include <string.h>

bool cusparse_load(cusparse_api *api)
{
    static const char *const names[] = {"libcusparse.so.12", "libcusparse.so", "libcusparse.so.11",
                                        NULL};
    char tried[512];
    void *library =
        tess_cuda_open_library("TESSERA_CUSPARSE", names, "cusparse", tried, sizeof tried);
    if (!library)
        return false;
    bool complete = true;
    void *symbol;
#define X(name, arguments)          \
    symbol = dlsym(library, #name); \
    complete = complete && symbol;  \
    memcpy(&api->name, &symbol, sizeof symbol);
    CUSPARSE_FUNCTIONS(X)
#undef X
    symbol = dlsym(library, "cusparseGetErrorString");
    memcpy(&api->cusparseGetErrorString, &symbol, sizeof symbol);
    complete = complete && symbol;
    symbol = dlsym(library, "cusparseGetProperty");
    memcpy(&api->cusparseGetProperty, &symbol, sizeof symbol);
    return complete && symbol;
}
