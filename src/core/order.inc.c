/* The functions of order.h for one type of number.
 *
 * Defined by the including file: ORDER_TYPE (the type), ORDER_NAME (a function's name with it). */

static inline ORDER_TYPE ORDER_NAME(tess_min)(ORDER_TYPE a, ORDER_TYPE b)
{
    return a < b ? a : b;
}

static inline ORDER_TYPE ORDER_NAME(tess_max)(ORDER_TYPE a, ORDER_TYPE b)
{
    return a > b ? a : b;
}

static inline ORDER_TYPE ORDER_NAME(tess_clamp)(ORDER_TYPE value, ORDER_TYPE least, ORDER_TYPE most)
{
    return value < least ? least : value > most ? most : value;
}

#undef ORDER_TYPE
#undef ORDER_NAME
