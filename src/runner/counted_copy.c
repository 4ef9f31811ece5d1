/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted_copy.c - one copy by the transfer engine, counted while it goes, so that the heartbeat shows
 * how much of a large input is here.
 */
#include "runner/runner.h"

#include <assert.h>

struct runner_copy {
    struct runner *runner;
    const struct sw_copy_rules *rules;        /* the caller's */
    enum runner_way way;
    int64_t *bytes, before;
};

static int count(void *context, const struct sw_copy_progress *progress)
{
    const struct runner_copy *copy = context;

    *copy->bytes = copy->before + progress->bytes_done;
    if (copy->runner->alone)               /* else the first process beats for us */
        runner_beat(copy->runner, copy->way == RUNNER_IN ? "prepare" : "collect");
    return 0;
}

static int moved(void *context, enum sw_moved_how how, const char *relative,
                 const struct sw_object *object, const struct sw_error *why)
{
    const struct runner_copy *copy = context;

    return copy->rules->moved(copy->rules->context, how, relative, object, why);
}

int runner_copy_counted(struct runner *runner, enum runner_way way, const char *from, const char *to,
                        const struct sw_copy_rules *rules, struct sw_copy_report *report,
                        struct sw_error *err)
{
    struct runner_tally *tally = runner->tally;
    struct runner_copy copy = {
        runner, rules, way, way == RUNNER_IN ? &tally->bytes_in : &tally->bytes_out, 0 };
    struct sw_copy_rules counted = *rules;
    int result;

    assert(runner->client);
    copy.before = *copy.bytes;
    counted.progress = count;
    counted.moved = rules->moved ? moved : NULL;
    counted.context = &copy;
    result = sw_transfer_copy(runner->client, from, to, &counted, report, err);
    *copy.bytes = copy.before + report->bytes;
    *(way == RUNNER_IN ? &tally->files_in : &tally->files_out) += report->files;
    return result;
}
