// DUNE-ISTL: BCRSMatrix of FieldMatrix<double, B, B>, sequential.
#include <dune/common/fmatrix.hh>
#include <dune/common/fvector.hh>
#include <dune/istl/bcrsmatrix.hh>
#include <dune/istl/bvector.hh>

#include "blocks.hpp"

#ifndef DUNE_VERSION_TEXT
#define DUNE_VERSION_TEXT "unknown"
#endif

namespace
{
template <int B> class dune_product : public product
{
    Dune::BCRSMatrix<Dune::FieldMatrix<double, B, B>> matrix;
    Dune::BlockVector<Dune::FieldVector<double, B>> x, y;

  public:
    explicit dune_product(const peer_matrix *A)
        : matrix(A->size.block_rows, A->size.block_cols, A->size.blocks,
                 Dune::BCRSMatrix<Dune::FieldMatrix<double, B, B>>::row_wise),
          x(A->size.block_cols), y(A->size.block_rows)
    {
        for (auto row = matrix.createbegin(); row != matrix.createend(); ++row)
            for (int64_t k = A->row_offsets[row.index()]; k < A->row_offsets[row.index() + 1]; k++)
                row.insert(A->columns[k]);
        int64_t k = 0;
        for (auto &row : matrix)
            for (auto &block : row) {
                for (int i = 0; i < B; i++)
                    for (int j = 0; j < B; j++)
                        block[i][j] = A->values[(k * B + j) * B + i];
                k++;
            }
        for (int64_t i = 0; i < A->size.cols; i++)
            x[i / B][i % B] = A->x[i];
    }
    void multiply() override
    {
        matrix.mv(x, y);
    }
    void result(double *out) const override
    {
        for (std::size_t i = 0; i < y.size(); i++)
            for (int j = 0; j < B; j++)
                out[i * B + j] = y[i][j];
    }
};

std::unique_ptr<product> loaded;
} // namespace

int main()
{
    static const char *const variants[] = {"bcrs", nullptr};
    peer_library library = {};
    library.name = "dune-istl";
    library.version = DUNE_VERSION_TEXT;
    library.threads = 1;
    library.variants = variants;
    library.load = [](int, const peer_matrix *A) -> const char * {
        loaded = make_product<dune_product>(A);
        return loaded ? nullptr : no_such_size();
    };
    library.multiply = [](int) { loaded->multiply(); };
    library.result = [](int, double *y) { loaded->result(y); };
    return peer_main(&library);
}
