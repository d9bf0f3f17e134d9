// AMGCL's solvers: builtin backend, OpenMP, static_matrix blocks, scalars where they are 1 x 1. See
/* // peer_solve.h. Its ILU(0) is that of the whole matrix, not one per thread. amg is smoothed
 * aggregation */
// with SPAI(0), amg_other the same with ILU(0).
#include <algorithm>
#include <memory>

#include <amgcl/adapter/block_matrix.hpp>
#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/as_preconditioner.hpp>
#include <amgcl/relaxation/damped_jacobi.hpp>
#include <amgcl/relaxation/ilu0.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/bicgstab.hpp>
#include <amgcl/solver/cg.hpp>
#include <amgcl/solver/gmres.hpp>
#include <amgcl/value_type/static_matrix.hpp>
#include <omp.h>

#include "peer_system.hpp"

namespace
{
template <int B>
using value_of = std::conditional_t<B == 1, double, amgcl::static_matrix<double, B, B>>;
template <int B>
using backend_of = amgcl::backend::builtin<value_of<B>, int, int>;
template <class Backend, template <class> class Smoother>
using multigrid = amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, Smoother>;

template <class Params>
auto undamped(Params &params) -> decltype((void)params.damping)
{
    params.damping = 1;
}
inline void undamped(...) {}

// Everybody's clock starts with a block matrix in memory.
template <class Backend, class Precond, class Method>
bool run(const peer_system &system, double tol, peer_report &report)
{
    using block = typename Backend::value_type;
    using part = typename amgcl::math::rhs_of<block>::type;
    using solver = amgcl::make_solver<Precond, Method>;
    constexpr int B = amgcl::math::static_rows<block>::value;
    typename solver::params params;
    params.solver.tol = tol;
    params.solver.maxiter = 10000;
    undamped(params.precond);
    const int rows = system.rows();
    const auto scalar = std::tie(rows, system.offsets, system.columns, system.values);
    const auto matrix = [&] {
        if constexpr (B == 1)
            return std::make_shared<typename Backend::matrix>(scalar);
        else
            return std::make_shared<typename Backend::matrix>(
                amgcl::adapter::block_matrix<block>(scalar));
    }();
    std::vector<double> x(system.b.size());
    const auto *b = reinterpret_cast<const part *>(system.b.data());
    auto *solution = reinterpret_cast<part *>(x.data());
    for (int rep = 0; rep < report.reps; rep++) {
        std::fill(x.begin(), x.end(), 0.0);
        const double start = peer_seconds();
        solver solve(matrix, params);
        const double ready = peer_seconds();
        auto out = amgcl::make_iterator_range(solution, solution + rows / B);
        const auto result = solve(amgcl::make_iterator_range(b, b + rows / B), out);
        report.setup[rep] = ready - start;
        report.solve[rep] = peer_seconds() - ready;
        report.iterations = static_cast<long>(std::get<0>(result));
    }
    report.true_residual = system.true_residual(x);
    return true;
}

template <class Backend, class Precond>
bool by_method(const peer_system &system, const std::string &method, double tol,
               peer_report &report)
{
    if (method == "cg")
        return run<Backend, Precond, amgcl::solver::cg<Backend>>(system, tol, report);
    if (method == "bicgstab")
        return run<Backend, Precond, amgcl::solver::bicgstab<Backend>>(system, tol, report);
    if (method == "gmres")
        return run<Backend, Precond, amgcl::solver::gmres<Backend>>(system, tol, report);
    return false;
}

template <int B>
bool by_pc(const peer_system &system, const std::string &method, const std::string &pc, double tol,
           peer_report &report)
{
    using backend = backend_of<B>;
    using namespace amgcl::relaxation;
    if (pc == "bjacobi")
        return by_method<backend, as_preconditioner<backend, damped_jacobi>>(system, method, tol,
                                                                            report);
    if (pc == "ilu0")
        return by_method<backend, as_preconditioner<backend, ilu0>>(system, method, tol, report);
    report.peer = pc == "amg" ? "AMGCL SPAI(0)" : "AMGCL ILU(0)";
    if (pc == "amg" && method == "cg")
        return run<backend, multigrid<backend, spai0>, amgcl::solver::cg<backend>>(system, tol,
                                                                                  report);
    if (pc == "amg_other" && method == "cg")
        return run<backend, multigrid<backend, ilu0>, amgcl::solver::cg<backend>>(system, tol, report);
    return false;
}
} // namespace

int main(int argc, char **argv)
{
    return peer_solvers(argc, argv, "AMGCL", AMGCL_VERSION_TEXT, omp_get_max_threads(),
                        [](const peer_system &system, const std::string &method,
                           const std::string &pc, double tol, peer_report &report) {
                            switch (system.block) {
                            case 1:
                                return by_pc<1>(system, method, pc, tol, report);
                            case 3:
                                return by_pc<3>(system, method, pc, tol, report);
                            case 4:
                                return by_pc<4>(system, method, pc, tol, report);
                            default:
                                return false;
                            }
                        });
}
