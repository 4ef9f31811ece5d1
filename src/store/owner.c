/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.c - who is at work on a job at this moment, told by a lock and not by a pid.
 *
 * A pid says nothing to another pid namespace, a start time nothing to another time namespace, and both
 * nothing to another machine. So the process that submits a job (or cancels it) holds one byte of the
 * file "owners" in the state folder, chosen by the job's id. The lock belongs to the open file, is seen
 * from everywhere on this machine, and goes when the process goes, however it ends.
 *
 * Between machines a lock may mean nothing: a network file system can be mounted without them. A row
 * whose owner is of another machine is therefore left alone until the heartbeat that its owner writes
 * is old, even where the lock seems free. Where locks do not work at all the heartbeat decides alone.
 */
#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

enum { HEARTBEAT_IS_OLD_MS = 15 * SW_OWNER_BEAT_MS };

static const char SQL_BEAT[] =
    "UPDATE jobs SET updated_ms = :now"
    " WHERE id = :id AND phase = 'submitting' AND owner IS :owner";

enum held { HELD_NOT, HELD, HELD_UNKNOWN };

/* One byte for each name; two names on one byte would only make one wait for the other. */
static struct flock byte_of(const char *name, short type)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (struct flock){ .l_type = type, .l_whence = SEEK_SET,
                           .l_start = (off_t)(hash & INT64_C(0x3fffffffffffffff)), .l_len = 1 };
}

int sw_owner_open(const struct sw_store *store)
{
    size_t folder = (size_t)(strrchr(store->path, '/') - store->path);
    sw_autofree char *path = sw_format("%.*s/owners", (int)folder, store->path);

    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

bool sw_owner_take(int owners, const char *name)
{
    struct flock lock = byte_of(name, F_WRLCK);

    return owners < 0 || fcntl(owners, F_OFD_SETLK, &lock) == 0 ||
           (errno != EAGAIN && errno != EACCES);
}

void sw_owner_release(int owners, const char *name)
{
    struct flock lock = byte_of(name, F_UNLCK);

    if (owners >= 0)
        fcntl(owners, F_OFD_SETLK, &lock);
}

/* Through an open file of its own: what this process holds counts, too. */
static enum held is_held(const struct sw_store *store, const char *name)
{
    sw_autofd int owners = sw_owner_open(store);
    struct flock lock = byte_of(name, F_WRLCK);

    if (owners < 0 || fcntl(owners, F_OFD_GETLK, &lock) < 0)
        return HELD_UNKNOWN;
    return lock.l_type == F_UNLCK ? HELD_NOT : HELD;
}

json_t *sw_owner_json(void)
{
    struct sw_proc self;

    return sw_proc_self(&self) == 0 ? sw_proc_json(&self) : NULL;
}

/* Either clock may be wrong: far in the future is as old as far in the past. */
static bool is_fresh(const struct sw_job *job, int64_t now_ms)
{
    return llabs((long long)(now_ms - job->updated_ms)) < HEARTBEAT_IS_OLD_MS;
}

bool sw_owner_lives(const struct sw_store *store, const struct sw_job *job, int64_t now_ms)
{
    struct sw_proc owner;
    enum held held;

    if (!job->owner || sw_proc_from_json(job->owner, &owner) < 0)
        return false;
    held = is_held(store, job->id);
    if (held == HELD || (held == HELD_UNKNOWN && sw_proc_same_boot(&owner) && sw_proc_alive(&owner)))
        return true;
    if (held == HELD_NOT && sw_proc_same_boot(&owner))
        return false;
    return is_fresh(job, now_ms);
}

void sw_store_beat(struct sw_store *store, const char *id)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(json) json_t *owner = sw_owner_json();

    if (store_begin(&work, store, STORE_RELAXED, NULL) == 0 &&
        store_do(store, SQL_BEAT, NULL, BIND_TEXT(":id", id), BIND_INT(":now", sw_now_ms()),
                 BIND_SORTED(":owner", owner)) == 0)
        store_commit(&work, NULL);
}

void sw_store_let_go(struct sw_store *store, const char *id)
{
    sw_auto(json) json_t *me = sw_owner_json();
    bool won;

    if (me)
        sw_store_claim(store, id, me, NULL, &won, NULL);
}
