/* Triangular factors applied: domains side by side, or stage by stage. */
#include "solve/pc/factors/factors.h"

/* The least bytes of factors that are worth a thread. */
enum { LEAST_SHARE_BYTES = 64 * 1024 };

double tess_triangular_bytes(const tess_pc *pc)
{
    return ((const tess_triangular *)pc->state)->bytes;
}

struct solve_domains {
    const tess_pc *pc;
    const tess_factors *f;
    bool transpose;
    const void *r;
    void *z;
    int shares;
};

static void solve_complex(const struct solve_domains *job, int domain)
{
    if (job->pc->vector_type == TESS_C32)
        tess_factors_solve_c32_c32(job->f, domain, job->transpose, job->r, job->z);
    else if (job->pc->type == TESS_C32)
        tess_factors_solve_c64_c32(job->f, domain, job->transpose, job->r, job->z);
    else
        tess_factors_solve_c64_c64(job->f, domain, job->transpose, job->r, job->z);
}

static void solve_domains(void *arg, int share)
{
    const struct solve_domains *job = arg;
    for (int d = share; d < job->f->domains; d += job->shares) {
        if (tess_is_complex(job->pc->vector_type))
            solve_complex(job, d);
        else if (job->pc->vector_type == TESS_F32)
            tess_factors_solve_f32_f32(job->f, d, job->transpose, job->r, job->z);
        else if (job->pc->type == TESS_F32)
            tess_factors_solve_f64_f32(job->f, d, job->transpose, job->r, job->z);
        else
            tess_factors_solve_f64_f64(job->f, d, job->transpose, job->r, job->z);
    }
}

void tess_triangular_apply(const tess_pc *pc, bool transpose, const void *r, void *z)
{
    const tess_triangular *t = pc->state;
    const tess_factors *f = t->factors;
    if (t->staged) {
        tess_staged_apply(t->staged, transpose, r, z);
        return;
    }
    /* Small factors are solved before another thread has woken up. */
    const double shares = t->bytes / LEAST_SHARE_BYTES;
    const int most = tess_min(f->domains, pc->threads);
    const int threads = shares < 2 ? 1 : (int)tess_min(shares, most);
    tess_parallel(pc->ctx, threads, solve_domains,
                  &(struct solve_domains){pc, f, transpose, r, z, threads});
}
