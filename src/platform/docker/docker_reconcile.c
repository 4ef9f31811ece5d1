/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_reconcile.c - what must be done about what docker_observe.c saw.
 *
 *   - A submit that died between making and starting left containers that no submit will start: they are
 *     removed, unless the start was on its way and came first.
 *   - A rank failed or is gone: the others get TERM. Its runner sends it, unless it was killed itself.
 *   - A rank's container is gone, and its last report is in a volume: the report is copied to this machine.
 *   - Jobs that wait for GPUs are started when there are enough.
 *
 * The containers are listed again first: only what is still so is acted on.
 */
#include "platform/docker/docker_job.h"

#include "base/text.h"
#include "core/reason.h"

static bool has_reason(const struct sw_observation *seen, const char *reason)
{
    return seen->presence == SW_PRESENT && sw_text_same(seen->reason, reason);
}

static bool needs_action(const struct sw_observation *seen)
{
    return seen->needs_reconcile || has_reason(seen, SW_REASON_ENDING);
}

/* Another client may be starting it at this moment: then the engine refuses to remove it. */
static void remove_half_made(struct docker_api *api, const struct docker_containers *own)
{
    for (int rank = 0; rank < own->all.count; rank++) {
        const char *id = sw_json_str(own->at[rank], "Id");

        if (id && docker_delete(api, id, own->all.count > 1, NULL) < 0)
            return;
    }
}

static void end_the_others(struct docker_api *api, const struct docker_containers *own)
{
    for (int rank = 0; rank < own->all.count; rank++)
        if (sw_rank_goes_on(&own->ranks[rank]))
            docker_tell(api, sw_json_str(own->at[rank], "Id"), "/kill?signal=TERM", NULL);
}

static void act_on(const struct docker_job *job, const struct sw_observation *seen,
                   const json_t *containers)
{
    struct docker_containers own;

    docker_containers_read(&own, containers);
    if (has_reason(seen, SW_REASON_ENDING))
        end_the_others(job->api, &own);
    else if (docker_is_half_made(job->ref, &own))
        remove_half_made(job->api, &own);
    else if (seen->needs_reconcile)
        docker_record_fetch(job, &own, NULL);
}

void docker_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    sw_auto(docker_lent) struct docker_api *api = NULL;
    sw_auto(json) json_t *list = NULL, *index = NULL;
    bool any = false, queued = false;

    for (size_t i = 0; i < count; i++) {
        queued |= has_reason(&jobs[i], SW_REASON_GPU_WAIT);
        any |= needs_action(&jobs[i]);
    }
    if (!any && !queued)
        return;
    api = docker_borrow(conn, NULL);
    list = docker_list(api, count == 1 && !queued ? jobs[0].job.id : NULL, NULL);
    index = docker_list_by_attempt(list);
    for (size_t i = 0; list && any && i < count; i++)
        if (needs_action(&jobs[i]))
            act_on(&(struct docker_job){ conn, api, &jobs[i].job }, &jobs[i],
                   docker_attempt_in(index, &jobs[i].job));
    if (list && queued)
        docker_queue_advance(api, list, NULL);
}
