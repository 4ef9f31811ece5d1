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
#include "core/runner_image.h"
#include "core/state.h"
#include "core/stop.h"
#include "plan/entrypoint.h"
#include "platform/kit/chunks.h"
#include "platform/kit/ranks.h"
#include "rest_platform.h"

/* ---- plan to body ------------------------------------------------------------------------------- */

struct rest_name rest_name(const char *id, int attempt)
{
    struct rest_name name;

    snprintf(name.text, sizeof name.text, "%s.%d", id, attempt > 1 ? attempt : 1);
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
        .worker_addrs = sw_buf_text(&workers), .results_root = "/results", .results_above = "/results",
        .results_dir = "/results" }, env);
    json_object_set_new(env, "SLIPWAY_TMP", json_string(REST_HOME));
    return env;
}

json_t *rest_render_body(const struct sw_plan *plan, int attempt, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    sw_autofree char *text = sw_json_dump(stored);
    struct rest_name name = rest_name(plan->job_id, attempt);

    if (plan->nodes > REST_RANKS_MAX) {
        sw_fail(err, SW_E_SPEC, "%d nodes are more than the %d of this service", plan->nodes, REST_RANKS_MAX);
        return NULL;
    }
    sw_buf_add(&command, "mkdir " REST_HOME "\n");
    sw_chunks_shell(&command, "SLIPWAY_JOB", REST_HOME "/job.sh");
    sw_buf_add(&command, "exec sh " REST_HOME "/job.sh\n");
    return sw_json_object(
        SW_STR("name", name.text), SW_INT("ranks", plan->nodes), SW_INT("gpus", plan->gpus),
        SW_STR("volume", plan->job_id), SW_STR("command", sw_buf_text(&command)),
        SW_SUB("env", environment(plan, attempt)), SW_STR("rank_variable", "NODE_RANK"),
        SW_INT("stop_seconds", (sw_stop_budget_ms(plan->grace_ms) + 999) / 1000),
        SW_SUB("labels", sw_json_object(SW_STR("id", plan->job_id), SW_INT("attempt", attempt),
                                        SW_STR("plan", text), SW_STR_OPT("signature", plan->signature))));
}

static struct sw_payload *payload_of(const struct sw_plan *plan, struct sw_error *err)
{
    struct sw_payload *payload = sw_entrypoint_payload(plan, err);

    if (!payload)
        return NULL;
    json_decref(sw_take(payload->env));              /* the job's process has it */
    payload->results_dir = sw_strdup("/results");
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
    sw_auto(sw_bundle) struct sw_bundle code = { 0 };
    sw_auto(sw_buf) struct sw_buf ca = SW_BUF_INIT, script = SW_BUF_INIT;
    struct sw_runner_bytes runner = { .arch = arch };

    if (!payload || sw_payload_take_ca(payload, sw_plan_ca(plan), &ca, err) < 0 ||
        (plan->code && sw_bundle_code(plan->code, plan->base_dir, &code, NULL, err) < 0) ||
        !(runner.bytes = sw_embedded_runner(arch, &runner.size, err)))
        return -1;
    sw_entrypoint_script(&script, payload, &runner, 1, code.bytes ? &code : NULL, &ca);
    return sw_chunks_put(json_object_get(body, "env"), "SLIPWAY_JOB", script.data, script.length, &limits,
                         err);
}

/* ---- answer to observation ---------------------------------------------------------------------- */

static const struct sw_state_word words[] = {
    { "queued",   SW_PENDING,  "it waits for a free GPU" },
    { "starting", SW_PENDING,  NULL },
    { "running",  SW_RUNNING,  NULL },
    { "ended",    SW_COMPLETE, NULL },
    { "lost",     SW_ERROR,    "its process is gone" },
    { "stopped",  SW_CANCELED, "canceled before it began" },
};

static struct sw_rank rank_of(const json_t *job, const json_t *rank)
{
    bool stopped = sw_json_bool(rank, "stopped", false);
    enum sw_state state = sw_state_lookup(words, SW_COUNT(words), sw_json_str(rank, "state"), NULL);

    if (state == SW_COMPLETE && (sw_json_int(rank, "exit_code", 0) != 0 || stopped))
        state = stopped && sw_text_same(sw_json_str(job, "stop"), SW_REASON_CANCELED) ? SW_CANCELED : SW_ERROR;
    return (struct sw_rank){
        .presence = SW_PRESENT, .state = state, .follows = stopped,
        .started_ms = sw_json_int(rank, "started", 0) / 1000000,
        .ended_ms = sw_json_int(rank, "ended", 0) / 1000000 };
}

static void judge_end(const json_t *job, int number, struct sw_observation *seen)
{
    const json_t *rank = json_array_get(json_object_get(job, "ranks"), (size_t)number);
    const char *tail = sw_json_str(rank, "tail");
    struct sw_run_end end = SW_RUN_END_INIT;

    seen->runner = tail ? sw_report_in_log(tail, strlen(tail), seen->job.id, number) : NULL;
    end.exit_code = (int)sw_json_int(rank, "exit_code", SW_NO_EXIT_CODE);
    end.host_ended = sw_text_same(sw_json_str(rank, "state"), "lost");
    sw_run_end_report(&end, seen->runner);
    end.canceled |= sw_text_same(sw_json_str(job, "stop"), SW_REASON_CANCELED);
    sw_run_end_judge(&end, seen);
}

void rest_observation(const json_t *job, struct sw_observation *seen)
{
    const json_t *list = json_object_get(job, "ranks");
    const char *first = sw_json_str(json_array_get(list, 0), "state"), *note = NULL;
    struct sw_rank ranks[REST_RANKS_MAX];
    struct sw_ranks sum;
    int count = 0;

    for (; count < REST_RANKS_MAX && count < (int)json_array_size(list); count++)
        ranks[count] = rank_of(job, json_array_get(list, (size_t)count));
    sw_ranks_count(&sum, ranks, count);
    sw_ranks_observe(&sum, seen);
    snprintf(seen->remote_id, sizeof seen->remote_id, "%s", sw_json_str(job, "name"));
    sw_state_lookup(words, SW_COUNT(words), first, &note);
    if (seen->state == SW_PENDING && note) {
        snprintf(seen->reason, sizeof seen->reason, SW_REASON_GPU_WAIT);
        snprintf(seen->message, sizeof seen->message, "%s", note);
    }
    if (sum.phase == SW_RANKS_OVER)
        judge_end(job, sum.first_failed > 0 ? sum.first_failed : 0, seen);
}

json_t *rest_replicas(const json_t *job)
{
    json_t *rows = json_array(), *rank;
    size_t i;

    json_array_foreach(json_object_get(job, "ranks"), i, rank)
        json_array_append_new(rows, sw_json_object(
            SW_INT("rank", (json_int_t)i), SW_STR("node", "rest"),
            SW_STR("status", sw_state_name(rank_of(job, rank).state)),
            SW_SUB_COPY("exit_code", json_object_get(rank, "exit_code"))));
    return rows;
}
