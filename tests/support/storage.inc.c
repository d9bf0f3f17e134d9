/* `storage_calls`, the calls of one storage format for test_storage_check.
 *
 * Defined by the including file: STORAGE (the type, whose functions are STORAGE_create and so on),
 * STORAGE_INVERSE (its inverse, of inverse.h), and the arrays of options `settings` and `bad`. */
#include "core/paste.h"
#include "support/storage.h"

static tess_status storage_create(tess_ctx *ctx, const tess_matrix *A, const void *options,
                                  void **out)
{
    STORAGE *made = NULL;
    tess_status status = TESS_PASTE(STORAGE, _create)(ctx, A, options, &made);
    *out = made;
    return status;
}

static tess_status storage_to_bsr(tess_ctx *ctx, const void *storage, const tess_matrix *like,
                                  tess_matrix **out)
{
    return STORAGE_INVERSE(ctx, storage, like, out);
}

static void storage_update(void *storage, const void *values)
{
    TESS_PASTE(STORAGE, _update)(storage, values);
}

static void storage_destroy(void *storage)
{
    TESS_PASTE(STORAGE, _destroy)(storage);
}

static const test_storage storage_calls = {
    .create = storage_create,
    .to_bsr = storage_to_bsr,
    .update = storage_update,
    .destroy = storage_destroy,
    .options = settings,
    .bad = bad,
    .size = sizeof *settings,
    .count = sizeof settings / sizeof *settings,
    .bad_count = sizeof bad / sizeof *bad,
};
