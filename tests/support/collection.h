/* The collection of real matrices, which the environment's TESSERA_MATRICES names. */
#ifndef TEST_COLLECTION_H
#define TEST_COLLECTION_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* What a test's main returns where the collection is missing. */
enum { TEST_SKIPPED = 77 };

/* Returns whether the collection's index can be read. Says so where it cannot. */
static inline bool test_has_collection(void)
{
    const char *folder = getenv("TESSERA_MATRICES");
    char path[4096];
    snprintf(path, sizeof path, "%s/index.csv", folder ? folder : "");
    FILE *index = fopen(path, "r");
    if (index)
        fclose(index);
    else
        printf("skipped: no matrix collection at TESSERA_MATRICES=%s\n", folder ? folder : "");
    return index != NULL;
}

#endif
