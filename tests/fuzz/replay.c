/* Runs a fuzz target over the files of a folder: the corpus as an ordinary test. */
#include <dirent.h>
#include <string.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: replay FOLDER (readable)\n");
        return 2;
    }
    int files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        static uint8_t bytes[1 << 20];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file)
            continue;
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        printf("%s: %zu bytes\n", path, size);
        fflush(stdout); /* names the file should the next line crash */
        LLVMFuzzerTestOneInput(bytes, size);
        files++;
    }
    closedir(folder);
    return files > 0 ? 0 : 1;
}
