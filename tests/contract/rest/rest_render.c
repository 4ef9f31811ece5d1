/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_render.c - plan in, request body out; answer in, observation out. Pure.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/job_env.h"
#include "core/reason.h"
#include "core/report.h"
#include "core/run_end.h"
#include "core/state.h"
#include "core/stop.h"
#include "plan/entrypoint.h"
#include "platform/kit/chunks.h"
#include "platform/kit/ranks.h"
#include "rest_platform.h"

#define HOME     "/slipway"              /* the runner's folder in a job */
#define RESULTS  "/results"
enum { RANKS_MAX = 64 };

/* ---- plan to body ------------------------------------------------------------------------------- */

struct sw_jobs_name rest_name(const char *id, int attempt)
{
    struct sw_jobs_name name;

    snprintf(name.text, sizeof name.text, "%s.%d", id, attempt);
    return name;
}

static json_t *environment(const struct sw_plan *plan, int attempt)
{
    sw_auto(sw_buf) struct sw_buf workers = SW_BUF_INIT;
    json_t *env = sw_job_env_own(plan->env);

    for (int i = 1; i < plan->nodes; i++)
        sw_buf_addf(&workers, "%s127.0.0.1", i > 1 ? "," : "");
    sw_job_env_defaults(true, NULL, env);
    sw_job_env_add(&(struct sw_job_env){
        .job_id = plan->job_id, .attempt = attempt, .nodes = plan->nodes, .gpus_per_node = plan->gpus,
        .world_size_ranks = plan->world_size_ranks, .node_rank = -1, .master_addr = "127.0.0.1",
        .worker_addrs = sw_buf_text(&workers), .results_root = RESULTS, .results_above = RESULTS,
        .results_dir = RESULTS }, env);
    json_object_set_new(env, "SLIPWAY_TMP", json_string(HOME));
    return env;
}

json_t *rest_render_body(const struct sw_plan *plan, int attempt)
{
    sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    sw_autofree char *text = sw_json_dump(stored);

    sw_buf_add(&command, "mkdir " HOME "\n");
    sw_chunks_shell(&command, "SLIPWAY_JOB", HOME "/job.sh");
    sw_buf_add(&command, "exec sh " HOME "/job.sh\n");
    return sw_json_object(
        SW_STR("name", rest_name(plan->job_id, attempt).text), SW_STR("volume", plan->job_id),
        SW_INT("ranks", plan->nodes), SW_INT("gpus", plan->gpus), SW_STR("rank_variable", "NODE_RANK"),
        SW_STR("command", sw_buf_text(&command)), SW_SUB("env", environment(plan, attempt)),
        SW_INT("stop_seconds", (sw_stop_budget_ms(plan->grace_ms) + 999) / 1000),
        SW_SUB("labels", sw_json_object(SW_STR("plan", text), SW_STR_OPT("signature", plan->signature))));
}

static struct sw_payload *payload_of(const struct sw_plan *plan, struct sw_error *err)
{
    struct sw_payload *payload = sw_entrypoint_payload(plan, err);

    if (!payload)
        return NULL;
    json_decref(sw_take(payload->env));              /* the job's process has it */
    payload->results_dir = sw_strdup(RESULTS);
    payload->time_ms = plan->time_ms;
    payload->redact = true;
    if (plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(payload, plan->nodes, plan->gpus);
    return payload;
}

int rest_render_files(json_t *body, const struct sw_plan *plan, const char *arch, struct sw_error *err)
{
    static const struct sw_chunk_limits limits = { "rest", 96 * 1024, 1800 * 1024 };
    sw_auto(sw_payload) struct sw_payload *payload = payload_of(plan, err);

    return payload ? sw_chunks_put_job(json_object_get(body, "env"), "SLIPWAY_JOB", plan, payload, arch, &limits,
                                       err) : -1;
}

/* ---- answer to observation ---------------------------------------------------------------------- */

static const struct sw_state_word words[] = {
    { "queued",   SW_PENDING,  "it waits for a free GPU" },
    { "starting", SW_PENDING,  NULL },
    { "running",  SW_RUNNING,  NULL },
    { "ended",    SW_COMPLETE, NULL },
    { "lost",     SW_ERROR,    NULL },
    { "stopped",  SW_CANCELED, NULL },               /* before it began */
};

static bool is_canceled(const json_t *job)
{
    return sw_text_same(sw_json_str(job, "stop"), SW_REASON_CANCELED);
}

static struct sw_rank read_rank(const json_t *job, const json_t *rank, const char **note)
{
    bool stopped = sw_json_bool(rank, "stopped", false);
    enum sw_state state = sw_state_lookup(words, SW_COUNT(words), sw_json_str(rank, "state"), note);

    if (state == SW_COMPLETE && (sw_json_int(rank, "exit_code", 0) != 0 || stopped))
        state = stopped && is_canceled(job) ? SW_CANCELED : SW_ERROR;
    return (struct sw_rank){
        .presence = SW_PRESENT, .state = state, .follows = stopped,
        .started_ms = sw_json_int(rank, "started", 0) / 1000000,
        .ended_ms = sw_json_int(rank, "ended", 0) / 1000000 };
}

/* The service keeps the end of a log with the rank: the runner's report is its last line. */
static void judge_end(const json_t *job, int number, struct sw_observation *seen)
{
    const json_t *rank = json_array_get(json_object_get(job, "ranks"), (size_t)number);
    const char *tail = sw_json_str(rank, "tail");
    struct sw_run_end end = SW_RUN_END_INIT;

    seen->runner = tail ? sw_report_in_log(tail, strlen(tail), seen->job.id, number) : NULL;
    end.exit_code = (int)sw_json_int(rank, "exit_code", SW_NO_EXIT_CODE);
    end.host_ended = sw_text_same(sw_json_str(rank, "state"), "lost");
    sw_run_end_report(&end, seen->runner);
    end.canceled |= is_canceled(job);
    sw_run_end_judge(&end, seen);
}

void rest_read(const json_t *job, struct sw_observation *seen)
{
    const json_t *list = json_object_get(job, "ranks");
    struct sw_rank ranks[RANKS_MAX];
    const char *note = NULL;
    struct sw_ranks sum;
    int count = 0;

    for (; count < RANKS_MAX && count < (int)json_array_size(list); count++)
        ranks[count] = read_rank(job, json_array_get(list, (size_t)count), &note);
    sw_ranks_count(&sum, ranks, count);
    sw_ranks_observe(&sum, seen);
    snprintf(seen->remote_id, sizeof seen->remote_id, "%s", sw_json_str(job, "name"));
    if (seen->state == SW_PENDING && note) {
        snprintf(seen->reason, sizeof seen->reason, SW_REASON_GPU_WAIT);
        snprintf(seen->message, sizeof seen->message, "%s", note);
    }
    if (sum.phase == SW_RANKS_OVER)
        judge_end(job, sum.first_failed > 0 ? sum.first_failed : 0, seen);
}

json_t *rest_read_replicas(const json_t *job)
{
    json_t *rows = json_array(), *rank;
    const char *note;
    size_t i;

    json_array_foreach(json_object_get(job, "ranks"), i, rank)
        json_array_append_new(rows, sw_json_object(
            SW_INT("rank", (json_int_t)i), SW_STR("node", "rest"),
            SW_STR("status", sw_state_name(read_rank(job, rank, &note).state)),
            SW_SUB_COPY("exit_code", json_object_get(rank, "exit_code"))));
    return rows;
}
