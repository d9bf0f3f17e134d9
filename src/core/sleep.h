/* A word that threads may sleep on until another thread has changed it: a futex where there is one,
 * elsewhere a condition variable. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

typedef struct tess_word {
    atomic_uint value;
#ifndef __linux__
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
} tess_word;

void tess_word_open(tess_word *word);
void tess_word_close(tess_word *word);
/* Returns when the value is another one. */
void tess_sleep_while(tess_word *word, unsigned value);
/* Wakes one who sleeps; the value was changed before. */
void tess_wake(tess_word *word);

/* One thread at a time. The word is 0 while nobody is inside. */
void tess_lock(tess_word *word);
void tess_unlock(tess_word *word);
