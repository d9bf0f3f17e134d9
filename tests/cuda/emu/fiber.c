/* The switch saves what the calling convention says a callee must keep, and swaps stacks. */
#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "asan.h"

void emu_swap_stacks(void **save, void *load);
void emu_first_frame(void);

#if defined(__aarch64__)
__asm__(".text\n.globl emu_swap_stacks\n.type emu_swap_stacks, %function\n"
        "emu_swap_stacks:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x2, sp\n  str x2, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n  ret\n"
        /* x19: body, x20: argument, put there by fiber_start */
        ".globl emu_first_frame\n.type emu_first_frame, %function\n"
        "emu_first_frame:\n  mov x0, x20\n  blr x19\n  brk #0\n");
enum { SAVED = 20, BODY = 0, ARGUMENT = 1, RETURN = 11 };
#elif defined(__x86_64__)
__asm__(".text\n.globl emu_swap_stacks\n.type emu_swap_stacks, @function\n"
        "emu_swap_stacks:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp, (%rdi)\n  mov %rsi, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n"
        /* r15: body, r14: argument; the stack is 16-byte aligned here */
        ".globl emu_first_frame\n.type emu_first_frame, @function\n"
        "emu_first_frame:\n  mov %r14, %rdi\n  call *%r15\n  ud2\n");
enum { SAVED = 9, BODY = 0, ARGUMENT = 1, RETURN = 6 };
#else
#error "the emulator's fibers know aarch64 and x86-64"
#endif

void fiber_start(fiber *f, void (*body)(void *), void *argument)
{
    uintptr_t top = ((uintptr_t)f->stack + f->size) & ~(uintptr_t)63;
    void **frame = (void **)top - SAVED;
    memset(frame, 0, SAVED * sizeof *frame);
    frame[BODY] = (void *)(uintptr_t)body;
    frame[ARGUMENT] = argument;
    frame[RETURN] = (void *)(uintptr_t)emu_first_frame;
    f->sp = frame;
    f->fake_stack = NULL;
}

#ifdef WITH_ASAN
static fiber *left; /* by the last switch */

/* Tells the address sanitizer that the switch is over, and learns where the stack is that was left.
 */
static void finish_switch(void *fake_stack)
{
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fake_stack, &bottom, &size);
    if (!left->stack) { /* the program's own */
        left->stack = (char *)(uintptr_t)bottom;
        left->size = size;
    }
}
#endif

void fiber_switch(fiber *from, fiber *to)
{
#ifdef WITH_ASAN
    left = from;
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->size);
#endif
    emu_swap_stacks(&from->sp, to->sp);
#ifdef WITH_ASAN
    finish_switch(from->fake_stack);
#endif
}

void fiber_leave(fiber *from, fiber *to)
{
#ifdef WITH_ASAN
    left = from;
    __sanitizer_start_switch_fiber(NULL, to->stack, to->size);
#endif
    emu_swap_stacks(&from->sp, to->sp);
    abort();
}

void fiber_arrived(void)
{
#ifdef WITH_ASAN
    finish_switch(NULL);
#endif
}
