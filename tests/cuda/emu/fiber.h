/* Fibers: a stack, and a switch of some twenty instructions. */
#ifndef EMU_FIBER_H
#define EMU_FIBER_H

#include <stddef.h>

typedef struct fiber {
    void *sp;    /* NULL: not started */
    char *stack; /* NULL: the thread's own stack */
    size_t size;
    void *fake_stack; /* the address sanitizer's */
} fiber;

/* `body(argument)` will run at the first switch to the fiber; it must not return. */
void fiber_start(fiber *f, void (*body)(void *), void *argument);
/* From one to another; returns when something switches back. */
void fiber_switch(fiber *from, fiber *to);
/* The same for the last time: `from` may be started again afterwards. */
void fiber_leave(fiber *from, fiber *to) __attribute__((noreturn));
/* First thing in body. */
void fiber_arrived(void);

#endif
