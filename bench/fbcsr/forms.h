/* The forms in which a matrix with shapes is stored, and what each form stores: fbcsr, which is
 * splits on a CPU and slices on a GPU, and `splits` on a GPU. */
#ifndef TESSERA_BENCH_FBCSR_FORMS_H
#define TESSERA_BENCH_FBCSR_FORMS_H

#include <jansson.h>

#include "../internal.h"

typedef struct fbcsr_form {
    const char *format; /* of plans */
    const char *asked;  /* shapes; NULL: auto */
    tess_fbcsr_options shapes;
    tess_fbcsr_stored stored[TESS_FBCSR_STORED];
    int ways; /* of stored; 0: no shapes */
    int64_t bytes;
    double seconds; /* choice of shapes and conversion */
} fbcsr_form;

/* Chooses shapes, makes the form and describes it. */
tess_status fbcsr_form_describe(const tess_matrix *A, bool gpu, fbcsr_form *F);
/* csr: bytes of CSR, which the form also has if nothing is extracted. */
json_t *fbcsr_form_json(const fbcsr_form *F, const tess_matrix *A, json_int_t csr);

#endif
