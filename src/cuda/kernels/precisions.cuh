/* Scalars that go from one precision to another: FROM and TO are the bytes of each (8 or 4). */
#if FROM == 8
typedef double given;
#else
typedef float given;
#endif
#if TO == 8
typedef double taken;
#else
typedef float taken;
#endif
