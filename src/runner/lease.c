/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.c - holding, renewing and taking over a lease (lease.h explains it).
 *
 * Renewal is done by a thread of its own, since the holder is busy for hours with transfers. The
 * file is read by opening it anew each time: on NFS that is what makes the server be asked.
 */
#include "runner/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"

enum { USUAL_LENGTH_MS = 20000, RECORD_SIZE = 512 };

struct lease {
    char *path;                  /* without the number */
    int64_t generation, length_ms;
    uint64_t beat;
    int fd;
    pthread_t beater;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over, lost;
};

/* ---- deciding ------------------------------------------------------------------------------ */

enum lease_move lease_decide(struct lease_memory *memory, const struct lease_state *seen,
                             int64_t now_ms, int64_t length_ms)
{
    if (seen->generation == 0 || seen->released || seen->holder_dead)
        return LEASE_TAKE;
    if (memory->generation != seen->generation || memory->beat != seen->beat) {
        *memory = (struct lease_memory){ seen->generation, seen->beat, now_ms };
        return LEASE_WAIT;
    }
    return now_ms - memory->since_ms >= length_ms ? LEASE_TAKE : LEASE_WAIT;
}

/* ---- who holds it -------------------------------------------------------------------------- */

/* "host pidns boot pid start": enough to know, on the same machine and in the same container,
 * whether it still runs. */
static void identity(char out[256], struct sw_proc *self)
{
    char host[65] = "?", pids[64] = "?";
    ssize_t n = readlink("/proc/self/ns/pid", pids, sizeof pids - 1);

    if (n > 0)
        pids[n] = '\0';
    gethostname(host, sizeof host - 1);
    if (sw_proc_self(self) < 0)
        *self = (struct sw_proc){ .pid = getpid() };
    snprintf(out, 256, "%s %s %s", host, pids, self->boot_id);
}

static bool is_known_dead(const char *who, long pid, unsigned long long start)
{
    char mine[256];
    struct sw_proc self, holder;

    identity(mine, &self);
    if (strcmp(who, mine) != 0 || pid <= 0)
        return false;
    holder = self;
    holder.pid = (pid_t)pid;
    holder.start_ticks = start;
    return !sw_proc_alive(&holder);
}

/* ---- the files ------------------------------------------------------------------------------ */

static char *file_of(const char *path, int64_t generation)
{
    return sw_format("%s.%" PRId64, path, generation);
}

/* The youngest generation; when `below` is given, older ones than that are removed. */
static int64_t youngest(const char *path, int64_t below)
{
    const char *slash = strrchr(path, '/'), *base = slash + 1;
    sw_autofree char *folder = sw_strndup(path, (size_t)(slash - path));
    size_t length = strlen(base);
    DIR *dir = opendir(*folder ? folder : "/");
    int64_t most = 0;

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char *end = NULL;
        int64_t number;

        if (strncmp(entry->d_name, base, length) != 0 || entry->d_name[length] != '.')
            continue;
        number = strtoll(entry->d_name + length + 1, &end, 10);
        if (number <= 0 || *end)
            continue;
        most = number > most ? number : most;
        if (number < below)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
    return most;
}

static int write_record(const struct lease *lease)
{
    struct sw_proc self;
    char who[256], text[RECORD_SIZE];
    int length;

    identity(who, &self);
    length = snprintf(text, sizeof text, "%020" PRIu64 " 0 %d %llu %s\n", lease->beat, (int)self.pid,
                      self.start_ticks, who);
    return pwrite(lease->fd, text, (size_t)length, 0) == length ? 0 : -1;
}

static void look(const char *path, struct lease_state *out)
{
    sw_autofree char *file = NULL, *text = NULL;
    unsigned long long start = 0;
    char who[256] = "";
    int released = 0;
    long pid = 0;

    *out = (struct lease_state){ .generation = youngest(path, 0) };
    if (out->generation == 0)
        return;
    file = file_of(path, out->generation);
    text = sw_file_read(file, RECORD_SIZE, NULL, NULL);
    if (!text || sscanf(text, "%" SCNu64 " %d %ld %llu %255[^\n]", &out->beat, &released, &pid,
                        &start, who) < 5)
        return;                  /* just being made */
    out->released = released;
    out->holder_dead = is_known_dead(who, pid, start);
}

/* ---- holding it ---------------------------------------------------------------------------- */

static void *beat(void *context)
{
    struct lease *lease = context;

    pthread_mutex_lock(&lease->lock);
    while (!lease->over) {
        struct timespec until;
        int64_t next = lease->length_ms / 4 > 0 ? lease->length_ms / 4 : 1;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += next / 1000;
        until.tv_nsec += next % 1000 * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&lease->wake, &lease->lock, &until);
        if (lease->over)
            break;
        lease->beat++;
        /* A full disk may refuse it; then the lease runs out, which is only fair. */
        (void)write_record(lease);
        if (youngest(lease->path, 0) > lease->generation)
            lease->lost = true;
    }
    pthread_mutex_unlock(&lease->lock);
    return NULL;
}

/* NULL without err: another one was quicker. */
static struct lease *try_to_take(const char *path, int64_t generation, int64_t length_ms,
                                 struct sw_error *err)
{
    sw_autofree char *file = file_of(path, generation);
    struct lease *lease;
    int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0) {
        if (errno != EEXIST)
            sw_fail_errno(err, SW_E_IO, "cannot create the lock '%s'", file);
        return NULL;
    }
    if (youngest(path, 0) > generation) {        /* we looked long ago; the line has moved on */
        unlink(file);
        close(fd);
        return NULL;
    }
    lease = sw_new(struct lease);
    lease->path = sw_strdup(path);
    lease->generation = generation;
    lease->length_ms = length_ms;
    lease->fd = fd;
    lease->beat = 1;
    pthread_mutex_init(&lease->lock, NULL);
    pthread_cond_init(&lease->wake, NULL);
    if (write_record(lease) < 0 || pthread_create(&lease->beater, NULL, beat, lease) != 0) {
        sw_fail_errno(err, SW_E_IO, "cannot hold the lock '%s'", file);
        unlink(file);
        close(fd);
        free(lease->path);
        free(lease);
        return NULL;
    }
    youngest(path, generation);
    return lease;
}

static int64_t usual_length(void)
{
    const char *said = getenv("SLIPWAY_LEASE_MS");
    int64_t ms = said ? strtoll(said, NULL, 10) : 0;

    return ms > 0 ? ms : USUAL_LENGTH_MS;
}

int lease_take(const char *path, const struct lease_rules *rules, struct lease **out,
               struct sw_error *err)
{
    int64_t length_ms = rules && rules->length_ms > 0 ? rules->length_ms : usual_length();
    int64_t begun = sw_monotonic_ms();
    struct lease_memory memory = { 0 };
    sw_autofree char *whole = sw_path_absolute(path, NULL);

    *out = NULL;
    for (;;) {
        struct lease_state seen;
        struct sw_error why = { 0 };

        if (rules && rules->is_done && rules->is_done(rules->context))
            return 0;
        look(whole, &seen);
        if (lease_decide(&memory, &seen, sw_monotonic_ms(), length_ms) == LEASE_TAKE) {
            *out = try_to_take(whole, seen.generation + 1, length_ms, &why);
            if (*out)
                return 0;
            if (why.code) {
                if (err)
                    *err = why;
                return -1;
            }
            continue;
        }
        if (rules && rules->give_up_ms > 0 && sw_monotonic_ms() - begun > rules->give_up_ms)
            return sw_fail(err, SW_E_TIMEOUT, "waited too long for the lock '%s'", path);
        sw_sleep_ms(length_ms / 40 < 10 ? 10 : length_ms / 40 > 500 ? 500 : length_ms / 40);
    }
}

bool lease_is_lost(struct lease *lease)
{
    bool lost;

    pthread_mutex_lock(&lease->lock);
    lost = lease->lost;
    pthread_mutex_unlock(&lease->lock);
    return lost;
}

void lease_release(struct lease *lease)
{
    sw_autofree char *file = lease ? file_of(lease->path, lease->generation) : NULL;

    if (!lease)
        return;
    pthread_mutex_lock(&lease->lock);
    lease->over = true;
    pthread_cond_signal(&lease->wake);
    pthread_mutex_unlock(&lease->lock);
    pthread_join(lease->beater, NULL);
    /* Gone, it is free; were this to fail, the next one waits for the lease's length: slow, not wrong. */
    close(lease->fd);
    unlink(file);
    pthread_mutex_destroy(&lease->lock);
    pthread_cond_destroy(&lease->wake);
    free(lease->path);
    free(lease);
}
