// AMGCL: builtin backend, OpenMP, static_matrix<double, B, B> values with 32-bit indices.
#include <amgcl/backend/builtin.hpp>
#include <amgcl/value_type/static_matrix.hpp>

#include "blocks.hpp"

namespace
{
// Scalars, not 1 x 1 matrices, for B = 1: what a user of the library would take.
template <int B> struct block_types {
    using matrix = amgcl::static_matrix<double, B, B>;
    using vector = amgcl::static_matrix<double, B, 1>;
    static void put(matrix &block, int i, int j, double value)
    {
        block(i, j) = value;
    }
    static double &at(vector &part, int i)
    {
        return part(i);
    }
};
template <> struct block_types<1> {
    using matrix = double;
    using vector = double;
    static void put(matrix &block, int, int, double value)
    {
        block = value;
    }
    static double &at(vector &part, int)
    {
        return part;
    }
};

template <int B> class amgcl_product : public product
{
    using types = block_types<B>;
    amgcl::backend::crs<typename types::matrix, int, int> matrix;
    mutable amgcl::backend::numa_vector<typename types::vector> x, y;

  public:
    explicit amgcl_product(const peer_matrix *A) : x(A->size.block_cols), y(A->size.block_rows)
    {
        matrix.set_size(A->size.block_rows, A->size.block_cols);
        for (int64_t i = 0; i <= A->size.block_rows; i++)
            matrix.ptr[i] = static_cast<int>(A->row_offsets[i]);
        matrix.set_nonzeros(); // touches the pages with the threads that will read them
        for (int64_t k = 0; k < A->size.blocks; k++) {
            matrix.col[k] = A->columns[k];
            for (int j = 0; j < B; j++)
                for (int i = 0; i < B; i++)
                    types::put(matrix.val[k], i, j, A->values[(k * B + j) * B + i]);
        }
        for (int64_t i = 0; i < A->size.cols; i++)
            types::at(x[i / B], static_cast<int>(i % B)) = A->x[i];
    }
    void multiply() override
    {
        amgcl::backend::spmv(1.0, matrix, x, 0.0, y);
    }
    void result(double *out) const override
    {
        for (std::size_t i = 0; i < y.size(); i++)
            for (int j = 0; j < B; j++)
                out[i * B + j] = types::at(y[i], j);
    }
};

std::unique_ptr<product> loaded;
} // namespace

int main()
{
    static const char *const variants[] = {"block", nullptr};
    peer_library library = {};
    library.name = "amgcl";
    library.version = AMGCL_VERSION_TEXT;
    library.threads = peer_threads();
    library.variants = variants;
    library.load = [](int, const peer_matrix *A) -> const char * {
        loaded = make_product<amgcl_product>(A);
        return loaded ? nullptr : no_such_size();
    };
    library.multiply = [](int) { loaded->multiply(); };
    library.result = [](int, double *y) { loaded->result(y); };
    return peer_main(&library);
}
