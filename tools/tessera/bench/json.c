/* The document of `tessera bench --json`: the machine, the matrix, one object per kernel. */
#include "json.h"
#include "../command.h"
#include "../machine.h"

static json_t *number_or_null(double value, bool known)
{
    return known ? json_number(value) : json_null();
}

static json_t *machine_json(const tess_device *device, const bench_report *report)
{
    machine_facts here;
    machine_look(&here);
    json_t *ceiling = number_or_null(1e-9 * report->ceiling, report->ceiling > 0);
    json_t *most = number_or_null(1e-9 * report->read_most, report->read_most > 0);
    json_t *machine = json_make(
        "{s:s, s:s, s:s, s:i, s:I, s:s, s:s, s:s, s:o, s:o}", "device", device->description,
        "processor", here.processor, "system", here.system, "threads", device->threads,
        "processors", (json_int_t)here.processors, "compiler", here.compiler, "tessera",
        tess_version(), "date", here.date, "read_GBps", ceiling, "read_most_GBps", most);
    if (machine && device->backend == &tess_cuda_backend && tess_cuda_of(device)->jit.loaded) {
        const tess_nvrtc *nvrtc = &tess_cuda_of(device)->jit.nvrtc;
        json_object_set_new(machine, "nvrtc", json_sprintf("%d.%d", nvrtc->major, nvrtc->minor));
    }
    return machine;
}

static json_t *matrix_json(const char *input, const tess_matrix *A, const bench_report *report)
{
    return json_make("{s:s, s:s, s:I, s:I, s:i, s:i, s:I, s:f, s:f}", "input", input, "precision",
                     tess_type_name(A->type), "rows", (json_int_t)A->rows, "cols",
                     (json_int_t)A->cols, "block_height", A->block_height, "block_width",
                     A->block_width, "blocks", (json_int_t)A->blocks, "bytes", report->bytes,
                     "flops", report->flops);
}

static json_t *result_json(const char *device, const tess_matrix *A, const bench_report *report,
                           const bench_result *r)
{
    static const char *const outcomes[] = {"good", "skipped", "failed", "wrong"};
    bool timed = r->outcome == BENCH_GOOD && r->seconds > 0;
    double speed = timed ? report->bytes / r->seconds : 0;
    bool judged = r->outcome == BENCH_GOOD || (r->outcome == BENCH_WRONG && r->error < 1e300);
    return json_make(
        "{s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:s, "
        "s:s, s:b}",
        "device", device, "format", r->candidate.format, "kernel", r->candidate.kernel, "params",
        r->candidate.params, "precision", tess_type_name(A->type), "threads", r->threads, "seconds",
        number_or_null(r->seconds, timed), "predicted_seconds",
        number_or_null(r->candidate.predicted, r->candidate.predicted > 0), "GBps",
        number_or_null(1e-9 * speed, timed), "fraction_of_read",
        number_or_null(speed / report->ceiling, timed && report->ceiling > 0), "update_seconds",
        number_or_null(r->update_seconds, r->update_seconds > 0), "gflops",
        number_or_null(1e-9 * report->flops / r->seconds, timed), "error",
        number_or_null(r->error, judged), "peer", r->peer[0] ? json_text(r->peer) : json_null(),
        "peer_version", r->version, "default", r->first, "outcome", outcomes[r->outcome], "reason",
        r->reason, "regrouped", r->regrouped);
}

static json_t *search_json(const bench_search *s)
{
    return json_make("{s:s, s:s, s:s, s:i, s:f, s:i, s:f, s:f, s:f}", "format", s->format, "kernel",
                     s->kernel, "params", s->params, "spmvs", s->spmvs, "seconds", s->seconds,
                     "again_spmvs", s->again_spmvs, "again_seconds", s->again_seconds, "cg_seconds",
                     s->iteration, "cg_predicted_seconds", s->iteration_predicted);
}

json_t *bench_json(const tess_device *device, const tess_matrix *A, const char *input,
                   const char *product, const bench_report *report, const bench_search *search)
{
    json_t *results = json_array();
    for (int64_t i = 0; results && i < report->count; i++)
        json_array_append_new(results,
                              result_json(device->backend->name, A, report, &report->results[i]));
    return json_make("{s:o, s:o, s:s, s:o, s:o}", "machine", machine_json(device, report), "matrix",
                     matrix_json(input, A, report), "product", product, "results", results,
                     "search", search ? search_json(search) : json_null());
}
