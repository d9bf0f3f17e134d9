// For libraries whose block size is a template argument: one instance for each size of the suite.
#ifndef TESS_PEER_BLOCKS_HPP
#define TESS_PEER_BLOCKS_HPP

#include <memory>

#include "peer.h"

// One matrix with its vectors, whatever its block size.
struct product {
    virtual ~product() = default;
    virtual void multiply() = 0;
    virtual void result(double *y) const = 0;
};

// A `Product<B>` for the matrix's block size, or null when the size is not instantiated.
template <template <int> class Product> std::unique_ptr<product> make_product(const peer_matrix *A)
{
    if (A->size.block_height != A->size.block_width)
        return nullptr;
    switch (A->size.block_height) {
#define SIZE(b) \
    case b:     \
        return std::make_unique<Product<b>>(A);
        SIZE(1)
        SIZE(2)
        SIZE(3)
        SIZE(4)
        SIZE(5)
        SIZE(6)
        SIZE(7)
        SIZE(8)
        SIZE(11)
        SIZE(16)
        SIZE(24)
        SIZE(32)
#undef SIZE
    default:
        return nullptr;
    }
}

inline const char *no_such_size()
{
    return "the adapter has square blocks of 1..8, 11, 16, 24 and 32 only";
}

#endif
