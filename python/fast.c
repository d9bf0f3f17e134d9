/* tessera._fast: a product y = A x with little around it.
 *
 * The rest of the package calls the library through ctypes, whose conversion of five arguments
 * takes longer than a small product. This module takes arrays in host memory by the buffer
 * protocol, and arrays on a GPU by the attributes that CuPy's have. It is compiled for the stable
 * ABI, so one file serves every Python of a platform. The package works without it. */
#define Py_LIMITED_API 0x030b0000 /* 3.11: the buffer protocol */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

/* The properties of a plan that its products share. */
typedef struct product {
    tess_status (*spmv)(tess_plan *, double, const void *, double, void *);
    tess_plan *plan;
    Py_ssize_t rows, cols;
    char format[4];     /* of a scalar, as the buffer protocol has it: "d", "f", "Zd" or "Zf" */
    Py_ssize_t size;    /* of a scalar, in bytes */
    PyObject *dtype;    /* the same type as NumPy's object */
    PyObject *new_size; /* `rows` as a Python int, to make a vector of that length */
    long device;        /* the GPU's number; -1: the plan is the CPU's */
} product;

static const char capsule_name[] = "tessera._fast.product";

static void free_product(PyObject *capsule)
{
    product *p = PyCapsule_GetPointer(capsule, capsule_name);
    Py_DECREF(p->dtype);
    Py_DECREF(p->new_size);
    free(p);
}

/* product(spmv, plan, rows, cols, format, size, dtype, device): the first two are addresses. */
static PyObject *make_product(PyObject *module, PyObject *arguments)
{
    Py_ssize_t spmv, plan, rows, cols, size;
    const char *format;
    PyObject *dtype;
    long device;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "nnnnsnOl", &spmv, &plan, &rows, &cols, &format, &size, &dtype,
                          &device))
        return NULL;
    PyObject *new_size = PyLong_FromSsize_t(rows);
    product *p = new_size ? malloc(sizeof *p) : NULL;
    if (!p) {
        Py_XDECREF(new_size);
        return PyErr_NoMemory();
    }
    Py_INCREF(dtype);
    *p = (product){.plan = (tess_plan *)plan,
                   .rows = rows,
                   .cols = cols,
                   .size = size,
                   .dtype = dtype,
                   .new_size = new_size,
                   .device = device};
    memcpy(&p->spmv, &spmv, sizeof spmv); /* an address becomes a function */
    snprintf(p->format, sizeof p->format, "%s", format);
    PyObject *capsule = PyCapsule_New(p, capsule_name, free_product);
    if (!capsule) {
        Py_DECREF(dtype);
        Py_DECREF(new_size);
        free(p);
    }
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

static const product *product_of(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t expected)
{
    if (count != expected) {
        PyErr_Format(PyExc_TypeError, "%zd arguments instead of %zd", count, expected);
        return NULL;
    }
    return PyCapsule_GetPointer(arguments[0], capsule_name);
}

/* The array as a contiguous vector of `length` scalars of the plan's type; 0: it is not one. */
static int vector_of(PyObject *array, int flags, Py_ssize_t length, const char *format,
                     Py_buffer *view)
{
    if (PyObject_GetBuffer(array, view, flags | PyBUF_FORMAT | PyBUF_ND)) {
        PyErr_Clear();
        return 0;
    }
    if (view->ndim == 1 && view->shape[0] == length && view->format &&
        strcmp(view->format, format) == 0)
        return 1;
    PyBuffer_Release(view);
    return 0;
}

/* spmv(product, x, y): the library's status; -1 where the arrays are not such vectors. */
static PyObject *spmv(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Py_buffer x, y;
    (void)module;
    const product *p = product_of(arguments, count, 3);
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
    const product *p = product_of(arguments, count, 3);
    if (!p)
        return NULL;
    const void *x = PyLong_AsVoidPtr(arguments[1]);
    void *y = PyLong_AsVoidPtr(arguments[2]);
    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromLong(multiply(p, x, y));
}

/* The names of the attributes that are read, made once. */
static PyObject *name_data, *name_device_id, *name_dtype, *name_ptr, *name_shape, *name_strides;

/* array.name as a number; -1 with an exception set where it is none. */
static long long number_of(PyObject *array, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(array, name);
    if (!value)
        return -1;
    long long number = PyLong_AsLongLong(value);
    Py_DECREF(value);
    return number;
}

/* Returns whether array.name is the tuple (number,). */
static int is_single(PyObject *array, PyObject *name, Py_ssize_t number)
{
    PyObject *tuple = PyObject_GetAttr(array, name);
    if (!tuple)
        return 0;
    int same = PyTuple_Check(tuple) && PyTuple_Size(tuple) == 1 &&
               PyLong_AsSsize_t(PyTuple_GetItem(tuple, 0)) == number;
    Py_DECREF(tuple);
    return same;
}

/* Returns whether the array is a contiguous vector of `cols` scalars of the plan's type. */
static int is_operand(const product *p, PyObject *array)
{
    PyObject *dtype = PyObject_GetAttr(array, name_dtype);
    int same = dtype && (dtype == p->dtype || PyObject_RichCompareBool(dtype, p->dtype, Py_EQ) > 0);
    Py_XDECREF(dtype);
    return same && is_single(array, name_shape, p->cols) && is_single(array, name_strides, p->size);
}

/* The address of the array's values on the plan's GPU; 0: they are elsewhere, or an exception is
 * set. */
static long long address_of(const product *p, PyObject *array)
{
    long long address = 0;
    PyObject *data = PyObject_GetAttr(array, name_data);
    if (data && number_of(data, name_device_id) == p->device)
        address = number_of(data, name_ptr);
    Py_XDECREF(data);
    return PyErr_Occurred() ? 0 : address;
}

/* Returns whether the array library's current stream has the address `stream`; its default stream
 * is CUDA's legacy one. */
static int stream_is(PyObject *current_stream, PyObject *stream)
{
    if (!PyLong_Check(stream)) /* None: the plan has a stream of its own */
        return 0;
    PyObject *current = PyObject_CallObject(current_stream, NULL);
    if (!current)
        return 0;
    long long now = number_of(current, name_ptr);
    Py_DECREF(current);
    return (now ? now : 1) == PyLong_AsLongLong(stream) && !PyErr_Occurred();
}

/* spmv_new(product, x, new, current_stream, stream): y = A x for a vector x on a GPU, as an array
 * new(rows, dtype). A status of the library where the product failed; None where x or y is not such
 * a vector, or the array library uses another stream than the plan. */
static PyObject *spmv_new(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    const product *p = product_of(arguments, count, 5);
    if (!p)
        return NULL;
    PyObject *y = NULL;
    long long source = 0, target = 0;
    if (p->device >= 0 && is_operand(p, arguments[1]))
        source = address_of(p, arguments[1]);
    if (source && stream_is(arguments[3], arguments[4]))
        y = PyObject_CallFunctionObjArgs(arguments[2], p->new_size, p->dtype, NULL);
    if (y)
        target = address_of(p, y);
    tess_status status = TESS_OK;
    if (target)
        status = multiply(p, (const void *)(intptr_t)source, (void *)(intptr_t)target);
    if (target && status == TESS_OK)
        return y;
    Py_XDECREF(y);
    if (PyErr_Occurred())
        return NULL;
    if (status != TESS_OK)
        return PyLong_FromLong(status);
    Py_INCREF(Py_None);
    return Py_None;
}

static int make_names(void)
{
    return (name_data = PyUnicode_InternFromString("data")) &&
           (name_device_id = PyUnicode_InternFromString("device_id")) &&
           (name_dtype = PyUnicode_InternFromString("dtype")) &&
           (name_ptr = PyUnicode_InternFromString("ptr")) &&
           (name_shape = PyUnicode_InternFromString("shape")) &&
           (name_strides = PyUnicode_InternFromString("strides"));
}

static PyMethodDef methods[] = {
    {"product", make_product, METH_VARARGS, "What spmv needs of a plan."},
    {"spmv", (PyCFunction)(void (*)(void))spmv, METH_FASTCALL, "y = A x with arrays."},
    {"spmv_at", (PyCFunction)(void (*)(void))spmv_at, METH_FASTCALL, "y = A x with addresses."},
    {"spmv_new", (PyCFunction)(void (*)(void))spmv_new, METH_FASTCALL,
     "A x as a new array of the same kind."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};
static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "tessera._fast",
                                        .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void)
{
    return make_names() ? PyModuleDef_Init(&module_def) : NULL;
}
