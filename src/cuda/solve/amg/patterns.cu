/* Patterns of block matrices, for a product C = A B and a transpose R = P'; and offsets of rows
 * from their lengths.
 *
 *   THREADS  threads per thread block      EACH  lengths per thread of measure and place
 *
 * A thread block makes a row of C. The columns of the rows of B that the row of A names go to a
 * hash table in shared memory. count leaves the number of different columns, list writes them in
 * rising order: a column's place is the number of smaller ones. The order in which threads come to
 * the table changes nothing.
 *
 *     shared memory | found, listed | the table | the different columns |
 */
#define REAL 8
#include "common.cuh"

enum { EMPTY = -1, HEAD = 4 };

typedef struct product_args {
    const long long *a_offsets;
    const int *a_columns;
    const long long *b_offsets;
    const int *b_columns;
    const long long *offsets; /* of C, for list */
    int *columns;
    long long *lengths; /* of C's rows, for count; -1: more different columns than `most` */
    long long table;    /* places of the table, a power of two */
    long long most;     /* different columns, less than places */
} product_args;

/* Puts a column into the table; whether it is new there. */
DEVICE int insert(int *table, unsigned mask, int column)
{
    unsigned at = ((unsigned)column * 2654435769u >> 8) & mask;
    for (;;) {
        const int before = atomicCAS(table + at, EMPTY, column);
        if (before == EMPTY)
            return 1;
        if (before == column)
            return 0;
        at = (at + 1) & mask;
    }
}

/* Puts the different columns of a row of C into the table, unless there are more than `most`. A
 * thread stops at its first column beyond `most`. All together add at most THREADS beyond, for
 * which the table has room. */
DEVICE void collect(const product_args *a, int *memory)
{
    const long long row = blockIdx.x;
    int *table = memory + HEAD;
    int more = 1;
    for (int i = (int)threadIdx.x; i < HEAD; i += THREADS)
        memory[i] = 0;
    for (int i = (int)threadIdx.x; i < (int)a->table; i += THREADS)
        table[i] = EMPTY;
    __syncthreads();
    for (long long p = a->a_offsets[row] + threadIdx.x; more && p < a->a_offsets[row + 1];
         p += THREADS) {
        const int j = READ_ONLY(a->a_columns + p);
        for (long long l = a->b_offsets[j]; more && l < a->b_offsets[j + 1]; l++)
            if (insert(table, (unsigned)a->table - 1, READ_ONLY(a->b_columns + l)))
                more = atomicAdd(memory, 1) < a->most;
    }
    __syncthreads();
}

KERNEL(count, product_args, THREADS, 1)
{
    DYNAMIC_SHARED(memory);
    collect(&a, (int *)memory);
    if (threadIdx.x == 0)
        a.lengths[blockIdx.x] = *(int *)memory <= a.most ? *(int *)memory : -1;
}

KERNEL(list, product_args, THREADS, 1)
{
    DYNAMIC_SHARED(memory);
    int *head = (int *)memory, *table = head + HEAD, *found = table + a.table;
    collect(&a, head);
    for (int i = (int)threadIdx.x; i < (int)a.table; i += THREADS)
        if (table[i] != EMPTY)
            found[atomicAdd(head + 1, 1)] = table[i];
    __syncthreads();
    const int count = head[1];
    int *columns = a.columns + a.offsets[blockIdx.x];
    for (int i = (int)threadIdx.x; i < count; i += THREADS) {
        const int column = found[i];
        int place = 0;
        for (int l = 0; l < count; l++)
            place += found[l] < column;
        columns[place] = column;
    }
}

/* Offsets. A thread block has THREADS * EACH lengths, of which measure leaves the sum, the largest
 * and the smallest. From these sums the host makes the sum of all lengths before each thread block.
 * place then replaces each length by the sum of all lengths up to and including it. */
typedef struct measure_args {
    const long long *lengths;
    long long *sums; /* three per thread block */
    long long count;
} measure_args;

KERNEL(measure, measure_args, THREADS, 1)
{
    SHARED(long long, all, 3 * THREADS);
    const long long first = ((long long)blockIdx.x * THREADS + threadIdx.x) * EACH;
    long long part[3] = {0, 0, 0};
    for (long long i = first; i < first + EACH && i < a.count; i++) {
        const long long length = a.lengths[i];
        part[0] += length;
        part[1] = length > part[1] ? length : part[1];
        part[2] = length < part[2] ? length : part[2];
    }
    for (int k = 0; k < 3; k++)
        all[k * THREADS + threadIdx.x] = part[k];
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int t = 1; t < THREADS; t++) {
        part[0] += all[t];
        part[1] = all[THREADS + t] > part[1] ? all[THREADS + t] : part[1];
        part[2] = all[2 * THREADS + t] < part[2] ? all[2 * THREADS + t] : part[2];
    }
    for (int k = 0; k < 3; k++)
        a.sums[3 * (long long)blockIdx.x + k] = part[k];
}

typedef struct place_args {
    long long *lengths;
    const long long *before; /* of each thread block */
    long long count;
} place_args;

KERNEL(place, place_args, THREADS, 1)
{
    SHARED(long long, all, THREADS);
    const long long first = ((long long)blockIdx.x * THREADS + threadIdx.x) * EACH;
    long long sum = 0;
    for (long long i = first; i < first + EACH && i < a.count; i++)
        sum += a.lengths[i];
    all[threadIdx.x] = sum;
    __syncthreads();
    sum = a.before[blockIdx.x];
    for (int t = 0; t < (int)threadIdx.x; t++)
        sum += all[t];
    for (long long i = first; i < first + EACH && i < a.count; i++) {
        sum += a.lengths[i];
        a.lengths[i] = sum;
    }
}

/* The transpose. tally counts the blocks of each column of P. scatter puts each block into its row
 * of R, in any order. order sorts the rows of R: a block's place is the number of blocks from
 * smaller rows. */
typedef struct transpose_args {
    const long long *p_offsets;
    const int *p_columns;
    unsigned long long *places; /* of each column: blocks so far, or where the next one goes */
    int *rows;                  /* of the blocks of R, in any order */
    long long *numbers;         /* likewise: which block of P each is */
    long long count;            /* rows of P */
} transpose_args;

KERNEL(tally, transpose_args, THREADS, 1)
{
    const long long row = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (row >= a.count)
        return;
    for (long long k = a.p_offsets[row]; k < a.p_offsets[row + 1]; k++)
        (void)atomicAdd(a.places + a.p_columns[k], 1ull);
}

KERNEL(scatter, transpose_args, THREADS, 1)
{
    const long long row = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (row >= a.count)
        return;
    for (long long k = a.p_offsets[row]; k < a.p_offsets[row + 1]; k++) {
        const unsigned long long at = atomicAdd(a.places + a.p_columns[k], 1ull);
        a.rows[at] = (int)row;
        a.numbers[at] = k;
    }
}

typedef struct order_args {
    const long long *offsets; /* of R */
    const int *rows;
    const long long *numbers;
    int *columns;
    long long *from;
} order_args;

KERNEL(order, order_args, THREADS, 1)
{
    const long long first = a.offsets[blockIdx.x];
    const int count = (int)(a.offsets[blockIdx.x + 1] - first);
    for (int i = (int)threadIdx.x; i < count; i += THREADS) {
        const int row = a.rows[first + i];
        int place = 0;
        for (int l = 0; l < count; l++)
            place += READ_ONLY(a.rows + first + l) < row;
        a.columns[first + place] = row;
        a.from[first + place] = a.numbers[first + i];
    }
}
