/* tessera._fast: a product y = A x of arrays in host memory, or by addresses, with little around
 * it.
 *
 * The rest of the package calls the library through ctypes, whose conversion of five arguments
 * takes longer than a small product. This module takes the two arrays by the buffer protocol. It is
 * compiled for the stable ABI, so one file serves every Python of a platform. The package works
 * without it. */
#define Py_LIMITED_API 0x030b0000 /* 3.11: the buffer protocol */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

/* What does not change between two products of a plan. */
typedef struct product {
    tess_status (*spmv)(tess_plan *, double, const void *, double, void *);
    tess_plan *plan;
    Py_ssize_t rows, cols;
    char format; /* 'd' or 'f', as the buffer protocol has them */
} product;

static const char capsule_name[] = "tessera._fast.product";

static void free_product(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, capsule_name));
}

/* product(spmv, plan, rows, cols, format): the first two are addresses. */
static PyObject *make_product(PyObject *module, PyObject *arguments)
{
    Py_ssize_t spmv, plan, rows, cols;
    int format;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "nnnnC", &spmv, &plan, &rows, &cols, &format))
        return NULL;
    product *p = malloc(sizeof *p);
    if (!p)
        return PyErr_NoMemory();
    *p = (product){.plan = (tess_plan *)plan, .rows = rows, .cols = cols, .format = (char)format};
    memcpy(&p->spmv, &spmv, sizeof spmv); /* an address becomes a function */
    PyObject *capsule = PyCapsule_New(p, capsule_name, free_product);
    if (!capsule)
        free(p);
    return capsule;
}

static tess_status multiply(const product *p, const void *x, void *y)
{
    tess_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = p->spmv(p->plan, 1.0, x, 0.0, y);
    Py_END_ALLOW_THREADS;
    return status;
}

static const product *product_of(PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "three arguments: the product, x and y");
        return NULL;
    }
    return PyCapsule_GetPointer(arguments[0], capsule_name);
}

/* The array as a contiguous vector of `length` scalars of the plan's type; 0: it is not one. */
static int vector_of(PyObject *array, int flags, Py_ssize_t length, char format, Py_buffer *view)
{
    if (PyObject_GetBuffer(array, view, flags | PyBUF_FORMAT | PyBUF_ND)) {
        PyErr_Clear();
        return 0;
    }
    if (view->ndim == 1 && view->shape[0] == length && view->format && view->format[0] == format &&
        view->format[1] == 0)
        return 1;
    PyBuffer_Release(view);
    return 0;
}

/* spmv(product, x, y): the library's status; -1 where the arrays are not such vectors. */
static PyObject *spmv(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Py_buffer x, y;
    (void)module;
    const product *p = product_of(arguments, count);
    if (!p)
        return NULL;
    if (!vector_of(arguments[1], PyBUF_C_CONTIGUOUS, p->cols, p->format, &x))
        return PyLong_FromLong(-1);
    if (!vector_of(arguments[2], PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, p->rows, p->format, &y)) {
        PyBuffer_Release(&x);
        return PyLong_FromLong(-1);
    }
    tess_status status = multiply(p, x.buf, y.buf);
    PyBuffer_Release(&y);
    PyBuffer_Release(&x);
    return PyLong_FromLong(status);
}

/* spmv_at(product, x, y): the same with addresses, in host or device memory. */
static PyObject *spmv_at(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    const product *p = product_of(arguments, count);
    if (!p)
        return NULL;
    const void *x = PyLong_AsVoidPtr(arguments[1]);
    void *y = PyLong_AsVoidPtr(arguments[2]);
    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromLong(multiply(p, x, y));
}

static PyMethodDef methods[] = {
    {"product", make_product, METH_VARARGS, "What spmv needs of a plan."},
    {"spmv", (PyCFunction)(void (*)(void))spmv, METH_FASTCALL, "y = A x with arrays."},
    {"spmv_at", (PyCFunction)(void (*)(void))spmv_at, METH_FASTCALL, "y = A x with addresses."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};
static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "tessera._fast",
                                        .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void)
{
    return PyModuleDef_Init(&module_def);
}
