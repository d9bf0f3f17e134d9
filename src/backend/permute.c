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

static void permute_nodes(void *arg, tess_range nodes)
{
    const tess_permute *p = arg;
    for (int64_t first = nodes.first; first < nodes.last; first += CHUNK) {
        const int64_t last = tess_min(first + CHUNK, nodes.last);
        if (p->type == TESS_F64)
            pass_f64(p, first, last);
        else
            pass_f32(p, first, last);
    }
}

void tess_permute_host(tess_ctx *ctx, int threads, const tess_permute *pass)
{
    tess_permute copy = *pass;
    const int64_t nodes = pass->rows / (pass->fields > 0 ? pass->fields : 1);
    const int64_t shares = tess_ceil_div(pass->rows * pass->vectors, SHARE);
    if (shares <= 1)
        permute_nodes(&copy, (tess_range){.first = 0, .last = nodes});
    else
        tess_for_shares(ctx, (int)tess_min(threads, shares), nodes, permute_nodes, &copy);
}

void tess_permute_blocks(tess_type type, int64_t rows, int32_t size, bool together,
                         const void *from, void *to)
{
    tess_permute pass = {.type = type,
                         .rows = rows,
                         .vectors = 1,
                         .fields = size,
                         .to_fields = !together,
                         .from = from,
                         .from_row = 1,
                         .to = to,
                         .to_row = 1};
    permute_nodes(&pass, (tess_range){.first = 0, .last = rows / size});
}
