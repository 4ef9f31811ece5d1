/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - `slipway-runner place PATH NAME`: a tar on standard input becomes PATH, or NAME in that folder.
 *
 * Its only root is `x`. The job's half of `slipway cp FILE JOB:PATH` (core/archive_put.c), so that an image
 * needs no tar.
 */
#include "runner/runner.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "core/archive.h"

static ssize_t read_input(struct sw_archive_stream *stream, void *bytes, size_t length, struct sw_error *err)
{
    ssize_t n;

    (void)stream;
    do
        n = read(STDIN_FILENO, bytes, length);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read the archive");
}

static void warn(void *context, const char *text)
{
    (void)context;
    runner_complain(text);
}

int runner_place(const char *path, const char *name)
{
    struct sw_archive_stream stream = { .read = read_input };
    const struct sw_archive_watch watch = { .warn = warn };
    struct sw_error err = { 0 };

    if ((!sw_text_ends(path, "/") || sw_mkdirs(path, 0777, &err) == 0) &&
        sw_archive_put(&stream, "x", name, path, &watch, NULL, &err) == 0)
        return 0;
    runner_complain(err.message);
    return RUNNER_IO;
}
