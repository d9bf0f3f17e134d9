/* Permutes vectors in the host's memory (permute.h). */
#include "backend/permute.h"

/* The number of nodes that are done for all fields before the next nodes: their rows stay in the
 * first-level cache. */
enum { CHUNK = 256 };
/* The least number of scalars per thread: they take about as long as waking the thread. */
enum { SHARE = 8192 };

#define REAL double
#define PASS pass_f64
#define NODES nodes_f64
#define FEW few_f64
#include "backend/permute.inc.c"
#undef REAL
#undef PASS
#undef NODES
#undef FEW
#define REAL float
#define PASS pass_f32
#define NODES nodes_f32
#define FEW few_f32
#include "backend/permute.inc.c"
#undef REAL
#undef PASS
#undef NODES
#undef FEW

void tess_permute_nodes(const tess_permute *p, int64_t first, int64_t last)
{
    for (; first < last; first += CHUNK) {
        const int64_t end = tess_min(first + CHUNK, last);
        if (p->type == TESS_F64)
            pass_f64(p, first, end);
        else
            pass_f32(p, first, end);
    }
}

static void permute_share(void *arg, tess_range nodes)
{
    tess_permute_nodes(arg, nodes.first, nodes.last);
}

void tess_permute_host(tess_ctx *ctx, int threads, const tess_permute *pass)
{
    tess_permute copy = *pass;
    const int64_t nodes = pass->rows / (pass->fields > 0 ? pass->fields : 1);
    const int64_t shares = tess_ceil_div(pass->rows * pass->vectors, SHARE);
    if (shares <= 1)
        tess_permute_nodes(&copy, 0, nodes);
    else
        tess_for_shares(ctx, (int)tess_min(threads, shares), nodes, permute_share, &copy);
}

void tess_permute_blocks(tess_type type, int64_t rows, int32_t size, bool together,
                         const void *from, void *to)
{
    const tess_permute pass = {.type = type,
                               .rows = rows,
                               .vectors = 1,
                               .fields = size,
                               .to_fields = !together,
                               .from = from,
                               .from_row = 1,
                               .to = to,
                               .to_row = 1};
    tess_permute_nodes(&pass, 0, rows / size);
}
