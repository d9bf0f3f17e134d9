#include "core/sleep.h"

#ifdef __linux__

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void tess_word_open(tess_word *word)
{
    (void)word;
}

void tess_word_close(tess_word *word)
{
    (void)word;
}

void tess_sleep_while(tess_word *word, unsigned value)
{
    while (atomic_load_explicit(&word->value, memory_order_acquire) == value)
        syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void tess_wake(tess_word *word)
{
    syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#else

void tess_word_open(tess_word *word)
{
    pthread_mutex_init(&word->mutex, NULL);
    pthread_cond_init(&word->changed, NULL);
}

void tess_word_close(tess_word *word)
{
    pthread_mutex_destroy(&word->mutex);
    pthread_cond_destroy(&word->changed);
}

void tess_sleep_while(tess_word *word, unsigned value)
{
    pthread_mutex_lock(&word->mutex);
    while (atomic_load_explicit(&word->value, memory_order_acquire) == value)
        pthread_cond_wait(&word->changed, &word->mutex);
    pthread_mutex_unlock(&word->mutex);
}

void tess_wake(tess_word *word)
{
    pthread_mutex_lock(&word->mutex); /* else the signal may come between test and wait */
    pthread_cond_signal(&word->changed);
    pthread_mutex_unlock(&word->mutex);
}

#endif

enum { FREE, HELD, AWAITED };

bool tess_try_lock(tess_word *word)
{
    unsigned was = FREE;
    return atomic_compare_exchange_strong(&word->value, &was, HELD);
}

void tess_lock(tess_word *word)
{
    if (tess_try_lock(word))
        return;
    while (atomic_exchange(&word->value, AWAITED) != FREE)
        tess_sleep_while(word, AWAITED);
}

void tess_unlock(tess_word *word)
{
    if (atomic_exchange(&word->value, FREE) == AWAITED)
        tess_wake(word);
}
