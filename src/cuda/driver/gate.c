/* Gates: gate.cu waits for a word of pinned memory to reach the gate's number. */
#include "cuda/driver/gate.h"

#include "cuda/driver/module.h"

tess_status tess_cuda_shut_gate(tess_cuda *cuda, cu_stream stream)
{
    cu_function function;
    if (!cuda->gate_flag) {
        TESS_TRY(TESS_CU(cuda, cuMemAllocHost((void **)&cuda->gate_flag, sizeof(unsigned))));
        *cuda->gate_flag = cuda->gates;
    }
    TESS_TRY(tess_cuda_helper(cuda, "gate.cu", "", "gate", &function));
    enum { MOST = 20000000 }; /* 20 ms: nothing hangs, whatever waits for the stream */
    unsigned wanted = cuda->gates + 1;
    struct {
        cu_pointer flag;
        long long wanted;
        unsigned long long most;
    } args = {tess_cuda_address((const void *)cuda->gate_flag), wanted, MOST};
    void *arguments[] = {&args};
    TESS_TRY(TESS_CU(cuda, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL)));
    cuda->gates = wanted;
    return TESS_OK;
}

void tess_cuda_open_gate(tess_cuda *cuda)
{
    if (cuda->gate_flag)
        *cuda->gate_flag = cuda->gates;
}
