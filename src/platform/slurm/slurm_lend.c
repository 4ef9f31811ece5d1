/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_lend.c - a watcher keeps a shell on the login node ready for commands, and tells with it which
 * cluster that is: a command that borrows it starts no ssh and asks one question less.
 */
#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"
#include "platform/slurm/slurm_internal.h"

enum { LEND_MS = 90 * 1000 };            /* a watcher asks once a minute at least */

/* Nothing while a question is under way. */
static void put_facts(struct slurm_connection *slurm, struct sw_buf *facts)
{
    sw_auto(json) json_t *known = NULL;

    if (pthread_mutex_trylock(&slurm->lock) != 0)
        return;
    known = sw_json_object(SW_STR_OPT("identity", slurm->identity), SW_STR_OPT("of", slurm->identity_of));
    pthread_mutex_unlock(&slurm->lock);
    sw_json_put(facts, known);
}

/* A shell that waited on a network that is gone looks alive: only one of a cluster that answered is lent. */
bool slurm_lend(struct sw_connection *conn, const char *key, int fds[SW_CHANNELS], struct sw_buf *facts)
{
    struct slurm_connection *slurm = slurm_of(conn);
    sw_auto(sw_buf) struct sw_buf identity = SW_BUF_INIT;
    sw_autofree char *own = NULL;
    bool result = false;

    if (sw_monotonic_ms() - slurm->answered_ms > LEND_MS || pthread_mutex_trylock(&slurm->lending) != 0)
        return false;                /* or the next one is being made ready */
    own = sw_ssh_key(slurm->twin);
    if (sw_text_same(own, key))
        result = fds ? sw_ssh_lend(slurm->twin, fds) : sw_ssh_ready(slurm->twin, NULL) == 0;
    pthread_mutex_unlock(&slurm->lending);
    if (result && fds)
        put_facts(slurm, facts);
    else if (result)
        slurm_identify(conn, &identity, NULL);         /* is known then */
    return result;
}

void slurm_borrow(struct slurm_connection *slurm)
{
    const char *facts = sw_ssh_borrow(slurm->ssh);
    sw_auto(json) json_t *known = facts ? json_loads(facts, 0, NULL) : NULL;
    const char *identity = sw_json_str(known, "identity"), *of = sw_json_str(known, "of");

    SW_ASSERT_HELD(&slurm->lock);
    if (slurm->identity || !identity || !of)
        return;
    slurm->identity = sw_strdup(identity);
    slurm->identity_of = sw_strdup(of);
}
