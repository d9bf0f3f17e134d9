// AMGCL's multigrid on a GPU: cuda backend, scalars, smoothed aggregation with Chebyshev's polynomial
// of its default degree, groups of whole blocks, and rigid motions where there are coordinates. That
// is the form of it that takes modes; its block values do not. See peer_solve.h: amg alone, with cg.
// The library sets up on the host, with OpenMP.
//
// Compiled as C++ it is the same on the host, for a look at the hierarchy without a GPU.
#include <memory>

#ifdef __CUDACC__
#include <amgcl/backend/cuda.hpp>
#else
#include <amgcl/backend/builtin.hpp>
#endif
#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/coarsening/rigid_body_modes.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/chebyshev.hpp>
#include <amgcl/solver/cg.hpp>
#include <omp.h>

#include "peer_system.hpp"

namespace
{
#ifdef __CUDACC__
using backend = amgcl::backend::cuda<double>;
using vector = thrust::device_vector<double>;
const char peer_name[] = "AMGCL CUDA";
backend::params device()
{
    backend::params params;
    cusparseCreate(&params.cusparse_handle);
    return params;
}
#else
using backend = amgcl::backend::builtin<double>;
using vector = std::vector<double>;
const char peer_name[] = "AMGCL modes";
backend::params device()
{
    return {};
}
#endif
using solver =
    amgcl::make_solver<amgcl::amg<backend, amgcl::coarsening::smoothed_aggregation,
                                  amgcl::relaxation::chebyshev>,
                       amgcl::solver::cg<backend>>;

solver::params parameters(const peer_system &system, double tol)
{
    solver::params params;
    params.solver.tol = tol;
    params.solver.maxiter = 10000;
    if (!system.coordinates.empty()) {
        auto &nullspace = params.precond.coarsening.nullspace;
        params.precond.coarsening.aggr.block_size = static_cast<unsigned>(system.block);
        params.precond.coarsening.aggr.eps_strong = 0; // as its guide does with modes
        nullspace.cols =
            amgcl::coarsening::rigid_body_modes(system.block, system.coordinates, nullspace.B);
    }
    return params;
}

// b and x cross to the device and back within the time, as with ours.
bool run(const peer_system &system, double tol, peer_report &report)
{
    static const backend::params on = device();
    const int rows = system.rows();
    std::vector<double> x(system.b.size());
    for (int rep = 0; rep < report.reps; rep++) {
        const double start = peer_seconds();
        solver solve(std::tie(rows, system.offsets, system.columns, system.values),
                     parameters(system, tol), on);
        const double ready = peer_seconds();
        vector b(system.b.begin(), system.b.end()), solution(x.size(), 0.0);
        const auto result = solve(b, solution);
        amgcl::backend::copy(solution, x); // std::copy fetches one number at a time from a GPU
        report.setup[rep] = ready - start;
        report.solve[rep] = peer_seconds() - ready;
        report.iterations = static_cast<long>(std::get<0>(result));
    }
    report.true_residual = system.true_residual(x);
    return true;
}
} // namespace

int main(int argc, char **argv)
{
#ifdef __CUDACC__
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "%s: there is no GPU\n", argv[0]);
        return 2;
    }
#endif
    return peer_solvers(argc, argv, peer_name, AMGCL_VERSION_TEXT, omp_get_max_threads(),
                        [](const peer_system &system, const std::string &method,
                           const std::string &pc, double tol, peer_report &report) {
                            return method == "cg" && pc == "amg" && run(system, tol, report);
                        });
}
