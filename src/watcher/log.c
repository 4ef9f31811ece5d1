/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - what the watcher writes down: STATE_DIR/watcher-HOST.log, and one older file beside it.
 *
 * Lines are few: its start and end, and what it could not do. Each is opened, written and closed by itself,
 * so that nothing is lost with the process, and a file that was removed is made again.
 */
#include "watcher/watcher.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"

enum { FILE_MOST = 1 << 20, LINE_MOST = 4096 };      /* two files: 2 MiB */

char *sw_watcher_log_path(const struct sw_watcher_place *place)
{
    char host[SW_HOST_SIZE];

    sw_host_name(host);
    return sw_format("%s/watcher-%s.log", place->state_dir, host);
}

/* The line without any secret, on one line. */
static void add_clean(struct sw_buf *out, const char *line, const struct sw_secrets *secrets)
{
    sw_auto(sw_redactor) struct sw_redactor *redactor = sw_redactor_new(secrets);
    size_t from = out->length, length = strlen(line);

    sw_redactor_feed(redactor, line, length < LINE_MOST ? length : LINE_MOST, out);
    sw_redactor_flush(redactor, out);
    for (size_t i = from; i < out->length; i++)
        if ((unsigned char)out->data[i] < 0x20)
            out->data[i] = ' ';
}

void sw_watcher_log(const struct sw_watcher_place *place, const struct sw_secrets *secrets, const char *line)
{
    sw_autofree char *path = sw_watcher_log_path(place), *older = sw_format("%s.1", path);
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofd int fd = -1;
    struct stat info;
    char when[40];

    if (lstat(path, &info) == 0 && info.st_size + LINE_MOST > FILE_MOST)
        rename(path, older);
    sw_time_format(sw_now_ms(), when);
    sw_buf_addf(&text, "%s [%d] ", when, (int)getpid());
    add_clean(&text, line, secrets);
    sw_buf_add_char(&text, '\n');
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        sw_write_all(fd, text.data, text.length);
}
