/* Which kernel classes a device has: so that the name of a class that does not exist is found wrong
 * before minutes of measuring. They are those of the model in force, which classes of large and of
 * irregular matrices are in, and those of small stencils, which newer kernels are in. */
#include "calibrate/samples.h"
#include "plan/model/model.h"

enum { NAMES_MAX = 512 };

typedef struct class_names {
    char name[NAMES_MAX][sizeof((tess_candidate *)0)->class_name];
    const char *list[NAMES_MAX];
    size_t count;
} class_names;

static void add_name(class_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return;
    if (names->count == NAMES_MAX || !*name)
        return;
    snprintf(names->name[names->count], sizeof names->name[0], "%s", name);
    names->list[names->count] = names->name[names->count];
    names->count++;
}

static void add_model(tess_device *device, class_names *names)
{
    const tess_model *model = tess_device_performance(device);
    for (int64_t i = 0; model && i < model->curve_count; i++)
        add_name(names, model->curves[i].name);
    for (int64_t i = 0; model && i < model->extra_count; i++)
        add_name(names, model->extras[i].name);
}

/* Adds the classes of the candidates for a small stencil with blocks of `b`. */
static tess_status add_names(tess_calibration *c, int points, int b, class_names *names)
{
    enum { POINTS = 4 };
    const tess_product product = {
        .kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE, .shapes = b == 1};
    tess_candidates list = {0};
    tess_matrix *A;
    TESS_TRY(tess_calibration_cube(c, points, b, POINTS, &A));
    tess_status status = c->device->backend->candidates(c->device, A, &product, &list);
    TESS_THEN(c->device->backend->costs(c->device, A, &list));
    for (int64_t i = 0; status == TESS_OK && i < list.count; i++)
        add_name(names, list.items[i].class_name);
    tess_candidates_free(c->ctx, &list);
    tess_matrix_destroy(A);
    return status;
}

static bool has_name(const class_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return true;
    return false;
}

tess_status tess_calibration_check_classes(tess_calibration *c)
{
    static const int blocks[] = {1, 2, 3, 4, 8, 32};
    class_names *names;
    if (!c->classes)
        return TESS_OK;
    TESS_TRY(TESS_CALLOC(c->ctx, 1, &names));
    tess_status status = TESS_OK;
    add_model(c->device, names);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        TESS_THEN(add_names(c, 7, blocks[i], names));
        TESS_THEN(add_names(c, 27, blocks[i], names));
    }
    for (const char *at = c->classes; status == TESS_OK && at; at = strchr(at, ',')) {
        char word[sizeof names->name[0]];
        at += *at == ',';
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        if (!has_name(names, word))
            status = tess_fail(
                c->ctx, TESS_ERR_ARGUMENT, "classes: this device has no kernels of class '%s' (%s)",
                word, tess_suggest(&(tess_suggestion){""}, word, names->list, names->count));
    }
    tess_free(c->ctx, names);
    return status;
}
