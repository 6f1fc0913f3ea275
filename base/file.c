/* Whole files in and out (base/text.h). */
#define _POSIX_C_SOURCE 200809L
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static kvs_status file_fail(struct kvs_error *err, const char *path, const char *what, int code)
{
    kvs_status status = code == ENOENT || code == ENOTDIR        ? KVS_ENOTFOUND
                        : code == EACCES || code == ENAMETOOLONG ? KVS_EINVAL
                                                                 : KVS_EIO;
    return kvs_error_at(err, status, path, 0, 0, "%s: %s", what, strerror(code));
}

/* Reads until the end of in; more than max_bytes is refused. */
static kvs_status file_slurp(FILE *in, const char *path, size_t max_bytes,
                             struct kvs_text *text, struct kvs_error *err)
{
    char chunk[16384];
    size_t n;
    kvs_text_append(text, "", 0);
    while ((n = fread(chunk, 1, sizeof(chunk), in)) > 0) {
        if (n > max_bytes - text->n)
            return kvs_error_at(err, KVS_ERANGE, path, 0, 0,
                                "file is larger than the limit of %zu bytes", max_bytes);
        kvs_text_append(text, chunk, n);
        if (text->status != KVS_OK)
            break;
    }
    if (text->status != KVS_OK)
        return kvs_error_at(err, KVS_ENOMEM, path, 0, 0, "out of memory while reading");
    if (ferror(in))
        return file_fail(err, path, "cannot read", errno);
    return KVS_OK;
}

static kvs_status file_open(const char *path, FILE **out, struct kvs_error *err)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return file_fail(err, path, "cannot open", errno);
    struct stat info;
    if (fstat(fileno(in), &info) != 0) {
        int code = errno;
        fclose(in);
        return file_fail(err, path, "cannot read", code);
    }
    if (S_ISDIR(info.st_mode)) {
        fclose(in);
        return kvs_error_at(err, KVS_EINVAL, path, 0, 0, "is a directory, expected a file");
    }
    *out = in;
    return KVS_OK;
}

kvs_status kvs_file_read(const char *path, size_t max_bytes, char **out_data, size_t *out_n,
                         struct kvs_error *err)
{
    FILE *in = stdin;
    if (strcmp(path, "-") != 0)
        KVS_TRY(file_open(path, &in, err));
    struct kvs_text text = {0};
    kvs_status status = file_slurp(in, path, max_bytes, &text, err);
    if (in != stdin)
        fclose(in);
    if (status != KVS_OK) {
        kvs_text_fini(&text);
        return status;
    }
    *out_data = text.data;
    *out_n = text.n;
    return KVS_OK;
}

static kvs_status file_write_fd(int fd, const char *path, const char *data, size_t n,
                                struct kvs_error *err)
{
    size_t done = 0;
    int code = 0;
    while (done < n && code == 0) {
        ssize_t wrote = write(fd, data + done, n - done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (wrote < 0 && errno != EINTR)
            code = errno;
    }
    if (close(fd) != 0 && code == 0)
        code = errno;
    return code == 0 ? KVS_OK : file_fail(err, path, "cannot write", code);
}

static kvs_status file_unwritable(struct kvs_error *err, const char *path, int code)
{
    return kvs_error_at(err, KVS_EIO, path, 0, 0, "cannot open for writing: %s",
                        strerror(code));
}

/* A device or pipe is written in place: a rename would replace it by a file. */
static kvs_status file_write_special(const char *path, const char *data, size_t n,
                                     struct kvs_error *err)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0)
        return file_unwritable(err, path, errno);
    return file_write_fd(fd, path, data, n, err);
}

/* The file beside path that takes its place once it is complete. */
static kvs_status file_open_temporary(const char *path, struct kvs_text *name, int *out_fd,
                                      struct kvs_error *err)
{
    kvs_text_printf(name, "%s.%ld.tmp", path, (long)getpid());
    if (name->status != KVS_OK)
        return kvs_error_at(err, name->status, path, 0, 0, "out of memory while writing");
    *out_fd = open(name->data, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return *out_fd < 0 ? file_unwritable(err, path, errno) : KVS_OK;
}

kvs_status kvs_file_check_writable(const char *path, struct kvs_error *err)
{
    struct kvs_text temporary = {0};
    struct stat info;
    int fd;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        if (S_ISDIR(info.st_mode))
            return file_unwritable(err, path, EISDIR);
        return access(path, W_OK) == 0 ? KVS_OK : file_unwritable(err, path, errno);
    }
    kvs_status status = file_open_temporary(path, &temporary, &fd, err);
    if (status == KVS_OK) {
        close(fd);
        unlink(temporary.data);
    }
    kvs_text_fini(&temporary);
    return status;
}

kvs_status kvs_file_write(const char *path, const char *data, size_t n, struct kvs_error *err)
{
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    if (is_there && !S_ISREG(info.st_mode))
        return file_write_special(path, data, n, err);
    struct kvs_text temporary = {0};
    kvs_status status;
    int fd;
    KVS_TRY_GOTO(file_open_temporary(path, &temporary, &fd, err), out);
    if (is_there)
        (void)!fchmod(fd, info.st_mode & 07777);
    status = file_write_fd(fd, path, data, n, err);
    if (status == KVS_OK && rename(temporary.data, path) != 0)
        status = file_fail(err, path, "cannot replace", errno);
    if (status != KVS_OK)
        unlink(temporary.data);
out:
    kvs_text_fini(&temporary);
    return status;
}
