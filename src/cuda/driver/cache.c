#include "cuda/driver/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/system.h"

enum { FORMAT_VERSION = 1, PATH_SIZE = 4096 };

/* The first bytes of a file. Integers in the machine's order: a foreign file fails the checksum. */
typedef struct header {
    char magic[8]; /* "TESSCUB" and a zero */
    uint32_t version;
    uint32_t verified;
    uint64_t key_hash;
    uint64_t label_bytes; /* with its zero */
    uint64_t code_bytes;
    uint64_t checksum; /* of the header with this field 0, the label and the code */
} header;

static const char magic[8] = "TESSCUB";

static uint64_t checksum(header head, const void *label, const void *code)
{
    head.checksum = 0;
    uint64_t hash = tess_hash_bytes(&head, sizeof head, 0);
    hash = tess_hash_bytes(label, (size_t)head.label_bytes, hash);
    return tess_hash_bytes(code, (size_t)head.code_bytes, hash);
}

bool tess_cache_directory(char *path, size_t size)
{
    return tess_user_path("TESSERA_CACHE", "", path, size);
}

static bool join(char *path, size_t size, const char *directory, const char *file)
{
    int length = snprintf(path, size, "%s/%s", directory, file);
    return length > 0 && (size_t)length < size;
}

static void file_name(const tess_cache_key *key, char *name, size_t size)
{
    snprintf(name, size, "%016llx-%d.%d.cubin", (unsigned long long)key->hash, key->nvrtc_major,
             key->nvrtc_minor);
}

/* Ours and complete: 16 hex digits, '-', a version, ".cubin". Temporary files do not match. */
static bool is_cache_name(const char *name)
{
    size_t length = strlen(name);
    return strspn(name, "0123456789abcdef") == 16 && name[16] == '-' && length > 23 &&
           length < 64 && strcmp(name + length - 6, ".cubin") == 0;
}

static bool read_all(int file, void *buffer, size_t bytes)
{
    char *at = buffer;
    while (bytes > 0) {
        ssize_t got = read(file, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

static bool write_all(int file, const void *buffer, size_t bytes)
{
    const char *at = buffer;
    while (bytes > 0) {
        ssize_t put = write(file, at, bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        bytes -= (size_t)put;
    }
    return true;
}

/* A whole file, checked: *head, the label and the code (owned by the caller). */
static bool read_entry(tess_ctx *ctx, const char *path, header *head, char label[TESS_CACHE_LABEL],
                       void **code)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    struct stat status;
    void *bytes = NULL;
    bool sound = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                 read_all(file, head, sizeof *head) && memcmp(head->magic, magic, 8) == 0 &&
                 head->version == FORMAT_VERSION && head->label_bytes > 0 &&
                 head->label_bytes <= TESS_CACHE_LABEL &&
                 head->code_bytes < (uint64_t)status.st_size &&
                 sizeof *head + head->label_bytes + head->code_bytes == (uint64_t)status.st_size;
    sound = sound && read_all(file, label, (size_t)head->label_bytes) &&
            label[head->label_bytes - 1] == '\0' &&
            tess_alloc_bytes(ctx, (int64_t)head->code_bytes, 1, &bytes) == TESS_OK &&
            read_all(file, bytes, (size_t)head->code_bytes) &&
            checksum(*head, label, bytes) == head->checksum;
    close(file);
    if (!sound) {
        tess_free(ctx, bytes);
        return false;
    }
    *code = bytes;
    return true;
}

static bool load_file(tess_ctx *ctx, const char *path, const tess_cache_key *key,
                      tess_cache_entry *out)
{
    header head;
    char label[TESS_CACHE_LABEL];
    void *code;
    if (!read_entry(ctx, path, &head, label, &code))
        return false;
    if (head.key_hash != key->hash || strcmp(label, key->label) != 0) {
        tess_free(ctx, code);
        return false;
    }
    *out = (tess_cache_entry){code, (size_t)head.code_bytes, head.verified == 1};
    return true;
}

/* Without NVRTC its version is unknown: any entry of the same source, defines and architecture. */
static bool load_any_version(tess_ctx *ctx, const char *directory, const tess_cache_key *key,
                             tess_cache_entry *out)
{
    char prefix[32], path[PATH_SIZE];
    snprintf(prefix, sizeof prefix, "%016llx-", (unsigned long long)key->hash);
    DIR *listing = opendir(directory);
    bool found = false;
    for (struct dirent *entry; !found && listing && (entry = readdir(listing));)
        found = is_cache_name(entry->d_name) && strncmp(entry->d_name, prefix, 17) == 0 &&
                join(path, sizeof path, directory, entry->d_name) && load_file(ctx, path, key, out);
    if (listing)
        closedir(listing);
    return found;
}

bool tess_cache_load(tess_ctx *ctx, const tess_cache_key *key, tess_cache_entry *out)
{
    char directory[PATH_SIZE], name[64], path[PATH_SIZE];
    if (!tess_cache_directory(directory, sizeof directory))
        return false;
    /* A miss is not an error: what a failed allocation wrote must not stay behind. */
    const tess_kept_error error = tess_error_keep(ctx);
    bool found;
    if (key->nvrtc_major == 0) {
        found = load_any_version(ctx, directory, key, out);
    } else {
        file_name(key, name, sizeof name);
        found = join(path, sizeof path, directory, name) && load_file(ctx, path, key, out);
    }
    tess_error_restore(ctx, &error);
    return found;
}

bool tess_cache_has(const tess_cache_key *key)
{
    char directory[PATH_SIZE], name[64], path[PATH_SIZE];
    file_name(key, name, sizeof name);
    return !tess_cache_directory(directory, sizeof directory) ||
           !join(path, sizeof path, directory, name) || access(path, F_OK) == 0;
}

/* Whether there is a file that was not written by tess_cache_store: it is never replaced. */
static bool is_foreign(const char *path)
{
    char begins[sizeof magic];
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno != ENOENT;
    bool ours = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    size_t bytes = ours && status.st_size < 8 ? (size_t)status.st_size : sizeof magic;
    ours = ours && read_all(file, begins, bytes) && memcmp(begins, magic, bytes) == 0;
    close(file);
    return !ours;
}

bool tess_cache_store(tess_ctx *ctx, const tess_cache_key *key, const tess_cache_entry *entry)
{
    char directory[PATH_SIZE], name[64], path[PATH_SIZE], aside[PATH_SIZE];
    (void)ctx;
    if (!tess_cache_directory(directory, sizeof directory))
        return false;
    file_name(key, name, sizeof name);
    if (!join(path, sizeof path, directory, name) ||
        !join(aside, sizeof aside, directory,
              "writing-XX"
              "XX"
              "XX") ||
        is_foreign(path))
        return false;
    tess_make_directories(path);
    int file = mkostemp(aside, O_CLOEXEC);
    if (file < 0)
        return false;

    header head = {.version = FORMAT_VERSION,
                   .verified = entry->verified,
                   .key_hash = key->hash,
                   .label_bytes = strlen(key->label) + 1,
                   .code_bytes = entry->bytes};
    memcpy(head.magic, magic, sizeof head.magic);
    head.checksum = checksum(head, key->label, entry->code);
    bool written = fchmod(file, 0644) == 0 && write_all(file, &head, sizeof head) &&
                   write_all(file, key->label, (size_t)head.label_bytes) &&
                   write_all(file, entry->code, entry->bytes);
    written = close(file) == 0 && written && rename(aside, path) == 0;
    if (!written)
        (void)unlink(aside);
    return written;
}

static int is_cache_entry(const struct dirent *entry)
{
    return is_cache_name(entry->d_name);
}

/* The cache's files in alphabetical order; the caller frees each and the list. */
static int list_files(char *directory, size_t size, struct dirent ***files)
{
    if (!tess_cache_directory(directory, size))
        return 0;
    int count = scandir(directory, files, is_cache_entry, alphasort);
    return tess_max(count, 0);
}

void tess_cache_list(tess_ctx *ctx, void (*visit)(void *user, const tess_cache_item *item),
                     void *user)
{
    char directory[PATH_SIZE], path[PATH_SIZE];
    struct dirent **files = NULL;
    int count = list_files(directory, sizeof directory, &files);
    for (int i = 0; i < count; i++) {
        tess_cache_item item = {0};
        header head;
        void *code = NULL;
        struct stat status;
        snprintf(item.file, sizeof item.file, "%.63s", files[i]->d_name);
        if (join(path, sizeof path, directory, files[i]->d_name) && stat(path, &status) == 0) {
            item.bytes = (size_t)status.st_size;
            item.sound = read_entry(ctx, path, &head, item.label, &code);
            item.verified = item.sound && head.verified == 1;
            if (!item.sound)
                item.label[0] = '\0';
            tess_free(ctx, code);
            visit(user, &item);
        }
        free(files[i]);
    }
    free(files);
}

int64_t tess_cache_clear(void)
{
    char directory[PATH_SIZE], path[PATH_SIZE];
    struct dirent **files = NULL;
    int count = list_files(directory, sizeof directory, &files);
    int64_t removed = 0;
    for (int i = 0; i < count; i++) {
        removed += join(path, sizeof path, directory, files[i]->d_name) && unlink(path) == 0;
        free(files[i]);
    }
    free(files);
    return removed;
}
