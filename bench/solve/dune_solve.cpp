// DUNE-ISTL's solvers on BCRSMatrix<FieldMatrix>: sequential. See peer_solve.h.
#include <algorithm>
#include <memory>

#include <dune/common/fmatrix.hh>
#include <dune/common/fvector.hh>
#include <dune/istl/bcrsmatrix.hh>
#include <dune/istl/bvector.hh>
#include <dune/istl/operators.hh>
#include <dune/istl/preconditioners.hh>
#include <dune/istl/solvers.hh>

#include "peer_system.hpp"

namespace
{
template <int B> using matrix_of = Dune::BCRSMatrix<Dune::FieldMatrix<double, B, B>>;
template <int B> using vector_of = Dune::BlockVector<Dune::FieldVector<double, B>>;

// Scalar rows of one block row have the same columns: --dump writes whole blocks.
template <int B> matrix_of<B> make_matrix(const peer_system &system)
{
    const int rows = system.rows() / B;
    matrix_of<B> matrix(rows, rows, system.columns.size() / (B * B), matrix_of<B>::row_wise);
    for (auto row = matrix.createbegin(); row != matrix.createend(); ++row)
        for (int k = system.offsets[row.index() * B]; k < system.offsets[row.index() * B + 1]; k += B)
            row.insert(system.columns[k] / B);
    for (int i = 0; i < system.rows(); i++)
        for (int k = system.offsets[i]; k < system.offsets[i + 1]; k++)
            matrix[i / B][system.columns[k] / B][i % B][system.columns[k] % B] = system.values[k];
    return matrix;
}

template <class Vector>
std::unique_ptr<Dune::InverseOperator<Vector, Vector>>
make_solver(const std::string &method, Dune::LinearOperator<Vector, Vector> &A,
            Dune::Preconditioner<Vector, Vector> &pc, double tol)
{
    if (method == "cg")
        return std::make_unique<Dune::CGSolver<Vector>>(A, pc, tol, 10000, 0);
    if (method == "bicgstab")
        return std::make_unique<Dune::BiCGSTABSolver<Vector>>(A, pc, tol, 10000, 0);
    if (method == "gmres")
        return std::make_unique<Dune::RestartedGMResSolver<Vector>>(A, pc, tol, 30, 10000, 0);
    return nullptr;
}

template <int B>
bool run(const peer_system &system, const std::string &method, const std::string &pc, double tol,
         peer_report &report)
{
    using matrix_type = matrix_of<B>;
    using vector = vector_of<B>;
    const auto matrix = std::make_shared<matrix_type>(make_matrix<B>(system));
    Dune::MatrixAdapter<matrix_type, vector, vector> A(matrix);
    vector b(matrix->N()), x(matrix->N());
    for (int rep = 0; rep < report.reps; rep++) {
        for (int i = 0; i < system.rows(); i++) {
            b[i / B][i % B] = system.b[i]; // solvers overwrite it with the residual
            x[i / B][i % B] = 0;
        }
        const double start = peer_seconds();
        std::unique_ptr<Dune::Preconditioner<vector, vector>> M;
        if (pc == "bjacobi")
            M = std::make_unique<Dune::SeqJac<matrix_type, vector, vector>>(*matrix, 1, 1.0);
        else if (pc == "ilu0")
            M = std::make_unique<Dune::SeqILU<matrix_type, vector, vector>>(*matrix, 1.0, true);
        else
            return false;
        const auto solver = make_solver<vector>(method, A, *M, tol);
        if (!solver)
            return false;
        const double ready = peer_seconds();
        Dune::InverseOperatorResult result;
        solver->apply(x, b, result);
        report.setup[rep] = ready - start;
        report.solve[rep] = peer_seconds() - ready;
        report.iterations = result.iterations;
    }
    std::vector<double> solution(system.b.size());
    for (int i = 0; i < system.rows(); i++)
        solution[i] = x[i / B][i % B];
    report.true_residual = system.true_residual(solution);
    return true;
}
} // namespace

int main(int argc, char **argv)
{
    return peer_solvers(argc, argv, "DUNE-ISTL", DUNE_VERSION_TEXT, 1,
                        [](const peer_system &system, const std::string &method,
                           const std::string &pc, double tol, peer_report &report) {
                            switch (system.block) {
                            case 3:
                                return run<3>(system, method, pc, tol, report);
                            case 4:
                                return run<4>(system, method, pc, tol, report);
                            default:
                                return false;
                            }
                        });
}
