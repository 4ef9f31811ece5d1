/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_retry.c - after a failure: whether another attempt follows, the pause before it, and its folder.
 *
 * The rules of diagnose/ decide, here as in every client. What they said is a part of the exit record, so it
 * is on the disk together with the end that it is about. During the pause the supervisor keeps the lock of
 * the attempt that failed, and no GPU. An attempt that was announced and whose supervisor is gone never
 * begins by itself: local_observe.c says so, and the monitor sends it.
 *
 * The next attempt does what this one did. So its records are this one's, with the paths of its own folder.
 */
#include "platform/local/supervisor.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/evidence.h"
#include "diagnose/diagnose.h"
#include "diagnose/retry.h"
#include "platform/local/local_internal.h"

/* ---- the decision ---------------------------------------------------------------------------- */

/* Of the rank that failed first; owned. NULL: it cannot be read. */
static char *log_tail(const struct sup *sup)
{
    int rank = sup->end.failed_replica < 0 ? 0 : sup->end.failed_replica;
    sw_autofree char *path = sw_format("%s/logs/%d.log", sup->folder, rank);
    sw_autofree char *bytes = sw_alloc(SW_LOG_TAIL_BYTES);
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    off_t from;
    ssize_t n;

    if (fd < 0 || fstat(fd, &info) < 0)
        return NULL;
    from = info.st_size > SW_LOG_TAIL_BYTES ? info.st_size - SW_LOG_TAIL_BYTES : 0;
    n = pread(fd, bytes, SW_LOG_TAIL_BYTES, from);
    return n < 0 ? NULL : sw_evidence_tail(bytes, (size_t)n, from > 0);
}

static struct sw_observation failure_of(const struct sup *sup)
{
    struct sw_observation failed = {
        .job = { .id = sup->job_id, .attempt = sup->attempt }, .presence = SW_PRESENT,
        .state = sup->end.state, .exit_code = sup->end.exit_code, .signal = sup->end.signal,
        .failed_replica = sup->end.failed_replica,
    };

    snprintf(failed.reason, sizeof failed.reason, "%s", sup->end.reason);
    snprintf(failed.message, sizeof failed.message, "%s", sup->end.message);
    return failed;
}

static void announce(struct sup *sup, const struct sw_retry *retry, const struct sw_observation *failed,
                     const json_t *verdict)
{
    sup->next.again = retry->again;
    sup->next.only_collect = retry->only_collect || json_object_get(sup->launch, "command_exit");
    sup->next.at = sw_monotonic_ms() + retry->wait_ms;
    sup->next.record = sw_json_object(SW_BOOL("again", retry->again), SW_STR("why", retry->why));
    if (!retry->again)
        return;
    json_object_set_new(sup->next.record, "not_before_ms", json_integer(sw_now_ms() + retry->wait_ms));
    json_object_set_new(sup->next.record, "only_collect", json_boolean(sup->next.only_collect));
    json_object_set_new(sup->next.record, "message", sw_json_text(failed->message));
    json_object_set_new(sup->next.record, "cause", sw_json_text(sw_json_str(verdict, "cause")));
}

void sup_judge(struct sup *sup)
{
    sw_auto(json) json_t *plan = local_record_read(sup->folder, LOCAL_PLAN), *verdict = NULL;
    struct sw_observation failed = failure_of(sup);
    struct sw_evidence evidence = sw_evidence_of(&failed);
    struct sw_retry retry;

    /* Without its plan nothing is decided here: the monitor has one, too. */
    if (failed.state != SW_ERROR || !plan)
        return;
    evidence.facts = json_deep_copy(sup->facts);
    evidence.log_tail = log_tail(sup);
    verdict = sw_diagnose_job(&evidence, plan, NULL);
    sw_evidence_done(&evidence);
    sw_verdict_message(verdict, failed.message);
    sw_retry_decide(plan, (int)sw_json_int(sup->launch, "retry_max", 0), &failed, verdict,
                    sw_retry_jitter(sup->job_id, sup->attempt), &retry);
    if (sup->cancel_asked) {
        retry.again = false;
        snprintf(retry.why, sizeof retry.why, "it was canceled");
    }
    announce(sup, &retry, &failed, verdict);
}

/* ---- the pause --------------------------------------------------------------------------------- */

bool sup_pause(struct sup *sup)
{
    if (!sup->next.again)
        return false;
    while (!sup->cancel_asked && sw_monotonic_ms() < sup->next.at)
        sup_turn(sup, sup->next.at);
    if (sup->cancel_asked)                     /* maybe by a signal alone; the next attempt finds the flag */
        local_flag(sup->folder, LOCAL_CANCEL, NULL);
    return sw_file_exists(sup->folder);
}

/* ---- the next folder ------------------------------------------------------------------------ */

/* A record with the paths of the next attempt. An id and a number are spelled the same in JSON and in the
 * words of a shell, so it is one replacement in the text. */
static json_t *moved(const struct sup *sup, const json_t *record)
{
    sw_autofree char *text = sw_json_dump(record);
    sw_autofree char *mine = sw_format("/%s/attempt-%d/", sup->job_id, sup->attempt);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *from = text;

    for (const char *at; (at = strstr(from, mine)); from = at + strlen(mine)) {
        sw_buf_add_bytes(&out, from, (size_t)(at - from));
        sw_buf_addf(&out, "/%s/attempt-%d/", sup->job_id, sup->attempt + 1);
    }
    sw_buf_add(&out, from);
    return sw_json_parse(sw_buf_text(&out), out.length, LOCAL_PAYLOAD, NULL);
}

/* An attempt that only collects works where the command was run: its paths stay. */
static json_t *next_record(const struct sup *sup, const json_t *record)
{
    return sup->next.only_collect ? json_deep_copy(record) : moved(sup, record);
}

static json_t *next_launch(const struct sup *sup)
{
    json_t *launch = next_record(sup, sup->launch);

    if (!launch)
        return NULL;
    json_object_set_new(launch, "attempt", json_integer(sup->attempt + 1));
    if (sup->next.only_collect) {
        json_object_set_new(launch, "gpus", json_integer(0));
        if (!json_object_get(launch, "command_exit"))      /* only its outputs failed: it ended well */
            json_object_set_new(launch, "command_exit", json_integer(0));
    }
    return launch;
}

static int copy_code(const struct sup *sup, const char *folder)
{
    sw_autofree char *from = sw_path_join(sup->folder, LOCAL_CODE), *to = sw_path_join(folder, LOCAL_CODE);

    return sw_file_exists(from) ? sw_copy_tree(from, to, NULL, NULL, NULL) : 0;
}

char *sup_next_folder(const struct sup *sup)
{
    sw_autofree char *folder = local_next_folder(sup->folder), *logs = sw_path_join(folder, "logs");
    sw_auto(json) json_t *plan = local_record_read(sup->folder, LOCAL_PLAN);
    sw_auto(json) json_t *asked = local_record_read(sup->folder, LOCAL_PAYLOAD);
    sw_auto(json) json_t *payload = asked ? next_record(sup, asked) : NULL;
    sw_auto(json) json_t *launch = next_launch(sup);

    if (!plan || !payload || !launch || sw_mkdirs(logs, 0700, NULL) < 0 ||
        sw_mkdirs(sw_json_str(launch, "work_dir"), 0700, NULL) < 0 || copy_code(sup, folder) < 0 ||
        local_record_write(folder, LOCAL_PAYLOAD, payload, NULL) < 0 ||
        local_record_write(folder, LOCAL_LAUNCH, launch, NULL) < 0 ||
        local_record_write(folder, LOCAL_PLAN, plan, NULL) < 0)
        return NULL;
    return sw_take(folder);
}
