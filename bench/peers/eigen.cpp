// Eigen: SparseMatrix, row-major (CSR), its own OpenMP product.
#include <Eigen/Sparse>
#include <algorithm>
#include <string>

#include "peer.h"

namespace
{
using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
Matrix matrix;
Eigen::VectorXd x, y;

const char *load(int, const peer_matrix *A)
{
    peer_csr csr;
    if (!peer_make_csr(A, 0, A->size.block_rows, &csr))
        return "too large for 32-bit offsets";
    matrix = Eigen::Map<const Matrix>(A->size.rows, A->size.cols, csr.offsets[A->size.rows],
                                      csr.offsets, csr.columns, csr.values);
    peer_free_csr(&csr);
    x = Eigen::Map<const Eigen::VectorXd>(A->x, A->size.cols);
    y.resize(A->size.rows);
    return nullptr;
}

void multiply(int)
{
    y.noalias() = matrix * x;
}

void result(int, double *out)
{
    std::copy(y.data(), y.data() + y.size(), out);
}
} // namespace

int main()
{
    static const char *const variants[] = {"csr", nullptr};
    const std::string version = std::to_string(EIGEN_WORLD_VERSION) + "." +
                                std::to_string(EIGEN_MAJOR_VERSION) + "." +
                                std::to_string(EIGEN_MINOR_VERSION);
    Eigen::setNbThreads(peer_threads());
    peer_library library = {};
    library.name = "eigen";
    library.version = version.c_str();
    library.threads = peer_threads();
    library.variants = variants;
    library.load = load;
    library.multiply = multiply;
    library.result = result;
    return peer_main(&library);
}
