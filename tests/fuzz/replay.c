/* A fuzz target without libFuzzer: runs it over the files of a folder, the corpus, and over
 * mutations of each of them.
 *
 *     replay FOLDER [MUTATIONS [SEED]]
 *
 * A file's mutations are drawn from the seed: the same ones every time. The input that runs is kept
 * in the file replay-FOLDER.input, so that one that crashes is there afterwards.
 */
#include <dirent.h>
#include <string.h>

#include "core/core.h"
#include "core/order.h"
#include "fuzz.h"

enum { MOST_BYTES = 1 << 20, MOST_EDITS = 4 };

typedef struct draw {
    uint64_t seed, count;
} draw;

static int64_t below(draw *d, int64_t bound)
{
    return tess_random_below(d->seed, d->count++, bound);
}

/* Bytes that readers take for something: digits, signs, separators, limits of integers. */
static uint8_t drawn_byte(draw *d)
{
    static const char telling[] = "0123456789+-.eE%, \n\r\t[]{}:=/\"\0\x7f\x80\xff";
    return below(d, 4) ? (uint8_t)telling[below(d, (int64_t)sizeof telling - 1)]
                       : (uint8_t)below(d, 256);
}

/* One edit of the first `size` bytes. Returns the new size. */
static size_t edit(draw *d, uint8_t *bytes, size_t size)
{
    const size_t at = (size_t)below(d, (int64_t)size + 1);
    size_t length = 1 + (size_t)below(d, below(d, 3) ? 8 : 512);
    switch (below(d, 5)) {
    case 0: /* other bytes */
        for (size_t i = at; i < tess_min(size, at + length); i++)
            bytes[i] = drawn_byte(d);
        return size;
    case 1: /* one bit */
        if (at < size)
            bytes[at] ^= (uint8_t)(1 << below(d, 8));
        return size;
    case 2: /* bytes removed */
        length = tess_min(length, size - at);
        memmove(bytes + at, bytes + at + length, size - at - length);
        return size - length;
    case 3: /* bytes repeated */
        length = tess_min(tess_min(length, size - at), MOST_BYTES - size);
        memmove(bytes + at + length, bytes + at, size - at);
        return size + length;
    default: /* cut off */
        return at;
    }
}

static void run(const char *keep, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(keep, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", keep);
        exit(2);
    }
    LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv)
{
    static uint8_t bytes[MOST_BYTES], changed[MOST_BYTES];
    DIR *folder = argc >= 2 && argc <= 4 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: replay FOLDER (readable) [MUTATIONS [SEED]]\n");
        return 2;
    }
    const long mutations = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    const char *name = strrchr(argv[1], '/');
    char keep[300];
    snprintf(keep, sizeof keep, "replay-%s.input", name ? name + 1 : argv[1]);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file)
            continue;
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        printf("%s: %zu bytes, and %ld mutations\n", path, size, mutations);
        fflush(stdout); /* names the file should the next line crash */
        run(keep, bytes, size);
        draw d = {seed, 0};
        for (long m = 0; m < mutations; m++) {
            memcpy(changed, bytes, size);
            size_t now = size;
            for (int64_t edits = 1 + below(&d, MOST_EDITS); edits > 0; edits--)
                now = edit(&d, changed, now);
            run(keep, changed, now);
        }
        files++;
    }
    closedir(folder);
    remove(keep);
    return files > 0 ? 0 : 1;
}
