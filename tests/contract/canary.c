/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canary.c - see canary.h. The value holds characters that url-escaping changes, so the three
 * spellings are three different texts.
 */
#include "canary.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"

enum { SPELLINGS = 5, SPELLING_ROOM = 128 };

struct canary {
    char value[64];
    char spellings[SPELLINGS][SPELLING_ROOM];
    char found[512];
    pthread_mutex_t lock;
    pthread_t watcher;
    atomic_bool stop;
};

static const char base64_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The characters of a base64 text that depend on `value` alone when it begins at `shift`. */
static void base64_core(const char *value, size_t shift, char out[SPELLING_ROOM])
{
    unsigned char bytes[80] = { 0 };
    size_t length = strlen(value) + shift, n = 0;
    size_t first = (shift * 8 + 5) / 6, last = length * 8 / 6;

    memcpy(bytes + shift, value, strlen(value));
    for (size_t i = first; i < last; i++) {
        size_t bit = i * 6;
        unsigned pair = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];

        out[n++] = base64_alphabet[pair >> (10 - bit % 8) & 63];
    }
    out[n] = '\0';
}

static void url_escaped(const char *value, char out[SPELLING_ROOM])
{
    size_t n = 0;

    for (; *value; value++) {
        if (isalnum((unsigned char)*value))
            out[n++] = *value;
        else
            n += (size_t)snprintf(out + n, SPELLING_ROOM - n, "%%%02X", (unsigned char)*value);
    }
    out[n] = '\0';
}

bool canary_in(const struct canary *canary, const char *bytes, size_t length)
{
    for (int i = 0; i < SPELLINGS; i++)
        if (memmem(bytes, length, canary->spellings[i], strlen(canary->spellings[i])))
            return true;
    return false;
}

static void report(struct canary *canary, const char *what, const char *where)
{
    pthread_mutex_lock(&canary->lock);
    if (!canary->found[0])
        snprintf(canary->found, sizeof canary->found, "%s %s", what, where);
    pthread_mutex_unlock(&canary->lock);
}

void canary_heard(struct canary *canary, const char *what, const char *text)
{
    if (text && canary_in(canary, text, strlen(text)))
        report(canary, "the answer of", what);
}

static void look_at_process(struct canary *canary, const char *pid)
{
    char path[64], words[65536];
    int fd;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    n = read(fd, words, sizeof words);
    close(fd);
    if (n > 0 && canary_in(canary, words, (size_t)n))
        report(canary, "the arguments of process", pid);
}

static void *watch(void *context)
{
    struct canary *canary = context;

    while (!atomic_load(&canary->stop)) {
        DIR *processes = opendir("/proc");

        for (struct dirent *entry; processes && (entry = readdir(processes));)
            if (isdigit((unsigned char)entry->d_name[0]))
                look_at_process(canary, entry->d_name);
        if (processes)
            closedir(processes);
        sw_sleep_ms(15);
    }
    return NULL;
}

struct canary *canary_new(void)
{
    struct canary *canary = sw_new(struct canary);
    unsigned char noise[12] = { 0 };

    if (getrandom(noise, sizeof noise, 0) != sizeof noise)
        abort();
    snprintf(canary->value, sizeof canary->value, "cny/");
    for (size_t i = 0; i < sizeof noise; i++)
        snprintf(canary->value + 4 + 2 * i, 4, "%02x", noise[i]);
    strcat(canary->value, "+k=");
    snprintf(canary->spellings[0], SPELLING_ROOM, "%s", canary->value);
    url_escaped(canary->value, canary->spellings[1]);
    for (size_t shift = 0; shift < 3; shift++)
        base64_core(canary->value, shift, canary->spellings[2 + shift]);
    pthread_mutex_init(&canary->lock, NULL);
    setenv(CANARY_NAME, canary->value, 1);
    pthread_create(&canary->watcher, NULL, watch, canary);
    return canary;
}

void canary_free(struct canary *canary)
{
    atomic_store(&canary->stop, true);
    pthread_join(canary->watcher, NULL);
    pthread_mutex_destroy(&canary->lock);
    unsetenv(CANARY_NAME);
    free(canary);
}

const char *canary_value(const struct canary *canary)
{
    return canary->value;
}

struct search {
    struct canary *canary;
    const char *folder;
};

static int search_file(void *context, const char *relative, const struct stat *info)
{
    const struct search *search = context;
    sw_autofree char *path = sw_path_join(search->folder, relative);
    sw_autofd int fd = S_ISREG(info->st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    static char window[256 * 1024];        /* one search at a time */
    size_t kept = 0;

    if (canary_in(search->canary, relative, strlen(relative)))
        report(search->canary, "the name of", path);
    for (ssize_t n; fd >= 0 && (n = read(fd, window + kept, sizeof window - kept)) > 0;) {
        size_t length = kept + (size_t)n;

        if (canary_in(search->canary, window, length)) {
            report(search->canary, "the file", path);
            return 0;
        }
        kept = length < SPELLING_ROOM ? length : SPELLING_ROOM;
        memmove(window, window + length - kept, kept);
    }
    return 0;
}

void canary_search(struct canary *canary, const char *folder)
{
    struct search search = { canary, folder };

    sw_walk(folder, search_file, &search, NULL);
}

const char *canary_found(struct canary *canary)
{
    return canary->found[0] ? canary->found : NULL;
}
