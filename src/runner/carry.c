/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carry.c - one copy of the transfer engine, counted while it goes, so that whoever reads the heartbeat
 * sees how much of a large input is here.
 */
#include "runner/runner.h"

struct carried {
    struct runner *runner;
    const struct sw_copy_rules *rules;        /* the caller's */
    enum runner_way way;
    int64_t *bytes, before;
};

static int count(void *context, const struct sw_copy_progress *progress)
{
    const struct carried *carried = context;

    *carried->bytes = carried->before + progress->bytes_done;
    if (carried->runner->alone)               /* else the first process beats for us */
        runner_beat(carried->runner, carried->way == RUNNER_IN ? "prepare" : "collect");
    return 0;
}

static int moved(void *context, enum sw_moved_how how, const char *relative,
                 const struct sw_object *object, const struct sw_error *why)
{
    const struct carried *carried = context;

    return carried->rules->moved(carried->rules->context, how, relative, object, why);
}

int runner_carry(struct runner *runner, enum runner_way way, const char *from, const char *to,
                 const struct sw_copy_rules *rules, struct sw_copy_report *report,
                 struct sw_error *err)
{
    struct runner_tally *tally = runner->tally;
    struct carried carried = {
        runner, rules, way, way == RUNNER_IN ? &tally->bytes_in : &tally->bytes_out, 0 };
    struct sw_copy_rules counted = *rules;
    int result;

    carried.before = *carried.bytes;
    counted.progress = count;
    counted.moved = rules->moved ? moved : NULL;
    counted.context = &carried;
    result = sw_mover_copy(runner->mover, from, to, &counted, report, err);
    *carried.bytes = carried.before + report->bytes;
    *(way == RUNNER_IN ? &tally->files_in : &tally->files_out) += report->files;
    return result;
}
