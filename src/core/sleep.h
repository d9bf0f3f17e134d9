/* A word that threads may sleep on until another thread has changed it: a futex where there is one,
 * elsewhere a condition variable. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct tess_word {
    atomic_uint value;
#ifndef __linux__
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
} tess_word;

void tess_word_open(tess_word *word);
void tess_word_close(tess_word *word);
/* Returns when the word's value differs from `value`. */
void tess_sleep_while(tess_word *word, unsigned value);
/* Wakes one thread that sleeps on the word. The value must have been changed before. */
void tess_wake(tess_word *word);

/* A lock: one thread at a time holds it. The word is 0 while nobody does. */
void tess_lock(tess_word *word);
/* Takes the lock if nobody holds it; whether it did. */
bool tess_try_lock(tess_word *word);
void tess_unlock(tess_word *word);
