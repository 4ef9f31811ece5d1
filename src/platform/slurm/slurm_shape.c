/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_shape.c - nodes, GPUs, CPUs and time of a plan, in Slurm's terms.
 *
 * As many GPUs as a node has, or more, means whole nodes: 16 GPUs where a node has 8 are two nodes.
 * Slurm counts time in minutes and kills without asking; so the exact limit is kept by the job's own
 * script, which ends the command early enough for it to save its work, and Slurm's limit lies behind. All
 * of the time between is for the command's save and, where there are outputs, for bringing them: a command
 * that is done early leaves them the rest.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/slurm_time.h"
#include "core/stop.h"

enum { CPUS_PER_GPU = 16, END_S = 5, AHEAD_MOST_S = 65535, REPLICAS_MOST = 100000 };

static void shape_gpus(const struct sw_plan *plan, const struct slurm_job_options *options,
                       struct slurm_shape *shape)
{
    int most = options->max_gpus_per_node;

    shape->nodes = plan->nodes;
    shape->gpus = plan->gpus;
    shape->exclusive = options->exclusive;
    if (plan->gpus >= most && most > 0 && plan->gpus > 0) {
        int nodes = (plan->gpus + most - 1) / most;

        shape->nodes = plan->nodes > nodes ? plan->nodes : nodes;
        shape->gpus = most;
        shape->exclusive = true;
    }
}

/* What the job says; else the option, else 16 for each GPU of a single node and 16 otherwise. */
static void shape_cpus(const struct sw_plan *plan, const struct slurm_job_options *options,
                       struct slurm_shape *shape)
{
    int64_t said = options->cpus_per_task, most = options->max_cpus_per_task;
    int64_t cpus = plan->cpus > 0 ? (int64_t)ceil(plan->cpus / shape->tasks_per_node) : said;

    if (plan->cpus <= 0 && shape->gpus > 0) {
        int64_t each = said > 0 ? said : CPUS_PER_GPU;
        bool alone = shape->nodes == 1 && shape->gpus > 1 && shape->tasks_per_node == 1 &&
                     !options->cosmos;

        cpus = alone ? each * shape->gpus : each;
        cpus = alone && cpus > most ? most : cpus;
    }
    shape->cpus = (int)cpus;
}

static int64_t minutes_above(int64_t seconds)
{
    return (seconds + 59) / 60;
}

bool slurm_has_outputs(const struct sw_plan *plan)
{
    return json_array_size(plan->outputs) > 0 || json_array_size(plan->config_outputs) > 0;
}

/* What is kept of the time before Slurm's end for the outputs, and for the end itself. */
static int64_t kept_s(const struct sw_plan *plan)
{
    return END_S + (slurm_has_outputs(plan) ? sw_collect_ms(plan->grace_ms) / 1000 : 0);
}

/* `signal_ahead`, and never less than the grace and the outputs need. */
static int64_t ahead_of(const struct sw_plan *plan, const struct slurm_job_options *options)
{
    int64_t said_s = options->signal_ahead / 1000;
    int64_t least_s = (plan->grace_ms + 999) / 1000 + kept_s(plan);

    if (said_s > 0 && said_s < least_s)
        said_s = least_s;
    return said_s < AHEAD_MOST_S ? said_s : AHEAD_MOST_S;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* `time:`. A short one is all the command's, and Slurm's limit lies as far behind as the end needs; a long
 * one is what Slurm is asked for, and the command ends before it. Both limits grow with `asked_s`. */
static void shape_asked_time(int64_t asked_s, int64_t end_s, struct slurm_shape *shape)
{
    int64_t whole_s = asked_s < 2 * end_s ? asked_s : 2 * end_s;
    int64_t latest_s;

    shape->limit_minutes = greater(minutes_above(asked_s), minutes_above(whole_s + end_s));
    latest_s = 60 * shape->limit_minutes - end_s;
    shape->soft_s = asked_s < latest_s ? asked_s : latest_s;
}

static int shape_time(const struct sw_plan *plan, const struct slurm_job_options *options,
                      struct slurm_shape *shape, struct sw_error *err)
{
    int64_t ahead_s = ahead_of(plan, options), asked_s = (plan->time_ms + 999) / 1000, slack_ms;
    int64_t end_s = ahead_s > 0 ? ahead_s : (plan->grace_ms + 999) / 1000 + kept_s(plan);
    bool is_short = plan->time_ms > 0 && asked_s < 2 * end_s;       /* its end is the grace alone */

    if (plan->time_ms > 0) {
        shape_asked_time(asked_s, end_s, shape);
    } else {
        asked_s = (int64_t)(options->time_hours * 3600);
        shape->limit_minutes = minutes_above(asked_s);
        shape->soft_s = greater(asked_s - ahead_s, asked_s / 2);
    }
    if (asked_s <= 0)
        return sw_fail(err, SW_E_SPEC, "slurm.time_hours must be above 0");
    shape->ahead_s = ahead_s;
    shape->time_grace_ms = plan->grace_ms;
    slack_ms = is_short ? 0 : 1000 * (lesser(60 * shape->limit_minutes - shape->soft_s, ahead_s) -
                                      kept_s(plan));
    if (!options->use_timeout && (plan->time_ms <= 0 || shape->soft_s < asked_s)) {   /* Slurm's own signal */
        shape->soft_s = 0;
        slack_ms = ahead_s > 0 ? 1000 * (ahead_s - kept_s(plan)) : 0;
    }
    shape->time_grace_ms = greater(shape->time_grace_ms, slack_ms);
    if (options->timeout_hours > 0) {
        int64_t soft_s = (int64_t)(options->timeout_hours * 3600);

        if (!shape->soft_s || soft_s < shape->soft_s)
            shape->soft_s = soft_s;
    }
    return 0;
}

static int check_cosmos(const struct slurm_cosmos *cosmos, const struct slurm_shape *shape,
                        struct sw_error *err)
{
    int policy = cosmos->policy_nodes;
    int rollout = cosmos->rollout_nodes >= 0 ? cosmos->rollout_nodes : shape->nodes - policy;

    if (policy > 0 && policy + rollout != shape->nodes)
        return sw_fail(err, SW_E_SPEC, "slurm.cosmos has %d nodes, the job %d", policy + rollout,
                       shape->nodes);
    return 0;
}

int slurm_shape_of(const struct sw_plan *plan, const struct slurm_job_options *options,
                   const struct slurm_cosmos *cosmos, struct slurm_shape *shape, struct sw_error *err)
{
    *shape = (struct slurm_shape){ .tasks_per_node = 1 };
    shape_gpus(plan, options, shape);
    if (plan->launcher == SW_LAUNCHER_MPI && shape->gpus > 0)
        shape->tasks_per_node = shape->gpus;
    shape_cpus(plan, options, shape);
    if (shape_time(plan, options, shape, err) < 0)
        return -1;
    return check_cosmos(cosmos, shape, err);
}

int slurm_job_init(struct slurm_job *job, const struct sw_plan *plan, const char *base, const char *prefix,
                   int attempt, struct sw_error *err)
{
    *job = (struct slurm_job){ .plan = plan, .prefix = prefix, .attempt = attempt };
    if (slurm_base_check(base, err) < 0 || slurm_job_options_fill(plan->options, &job->options, err) < 0 ||
        slurm_cosmos_fill(&job->options, &job->cosmos, err) < 0 ||
        slurm_shape_of(plan, &job->options, &job->cosmos, &job->shape, err) < 0)
        return -1;
    slurm_names_init(&job->names, base, prefix, plan->job_id, attempt);
    return 0;
}

void slurm_time_text(int64_t minutes, char out[32])
{
    snprintf(out, 32, "%02lld:%02lld:00", (long long)(minutes / 60), (long long)(minutes % 60));
}

bool slurm_time_parse(const char *text, int64_t *minutes)
{
    int64_t ms = 0;

    if (!strcasecmp(text, "infinite") || !strcasecmp(text, "unlimited")) {
        *minutes = -1;
        return true;
    }
    if (!sw_slurm_time_parse(text, &ms))
        return false;
    *minutes = ms / 60000;
    return true;
}

/* "0-15:4%4", "1,3,5": the highest number in it, and one more. */
static int array_size(const char *array)
{
    long highest = 0;

    for (const char *at = array; *at && *at != '%';) {
        size_t skip = strcspn(at, "0123456789:%");

        at += skip;
        if (*at == ':') {                         /* a step is no number of a task */
            at += 1 + strspn(at + 1, "0123456789");
        } else if (*at && *at != '%') {
            char *end = NULL;
            long number = strtol(at, &end, 10);

            highest = number > highest && number < REPLICAS_MOST ? number : highest;
            at = end;
        }
    }
    return (int)highest + 1;
}

int slurm_replica_count(const struct slurm_job *job)
{
    return job->options.array ? array_size(job->options.array) : job->shape.nodes * job->shape.tasks_per_node;
}
