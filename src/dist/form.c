/* The list of product forms. */
#include "dist/form.h"

static const tess_form halo = {
    .name = "halo",
    .summary = "the owner of y computes, only the halo of x travels (default)",
};
static const tess_form *const forms[] = {&halo, &tess_form_whole, &tess_form_shuffle};
enum { FORMS = sizeof forms / sizeof forms[0] };

const char *tess_product_form_name(int i)
{
    return i >= 0 && i < FORMS ? forms[i]->name : NULL;
}

const char *tess_product_form_summary(int i)
{
    return i >= 0 && i < FORMS ? forms[i]->summary : NULL;
}

static tess_status find_form(tess_ctx *ctx, const char *text, const tess_form **out)
{
    const char *names[FORMS];
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    for (int i = 0; i < FORMS; i++) {
        names[i] = forms[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = forms[i];
            return TESS_OK;
        }
    }
    return tess_fail(ctx, TESS_ERR_OPTION, "unknown product form '%s' (%s)", name,
                     tess_suggest(&(tess_suggestion){""}, name, names, FORMS));
}

tess_status tess_form_open(tess_part_plan *p, const char *text, tess_device *device,
                           const tess_plan_options *options)
{
    tess_ctx *ctx = p->part->ctx;
    const char *keys = text ? strchr(text, ':') : NULL;
    p->form = &halo;
    if (!text)
        return TESS_OK;
    const tess_form *form = &halo;
    tess_status status = find_form(ctx, text, &form);
    if (status == TESS_OK && keys && !form->takes_keys)
        status = tess_fail(ctx, TESS_ERR_OPTION, "product form '%s' has no keys", form->name);
    TESS_TRY(tess_comm_agree(ctx, &p->part->comm, status));
    if (!form->open)
        return TESS_OK;
    TESS_TRY(form->open(p, keys ? keys + 1 : NULL, device, options));
    p->form = form;
    return TESS_OK;
}

void tess_form_close(tess_part_plan *p)
{
    if (p->form && p->form->close)
        p->form->close(p);
    p->form = NULL;
}

tess_status tess_form_update(tess_part_plan *p)
{
    return p->form->update ? p->form->update(p) : TESS_OK;
}
