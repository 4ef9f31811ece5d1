/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.c - which hooks an event runs, and the process that runs them.
 *
 * The watcher runs no command itself: it starts slipway-hook in a session of its own, and that
 * claims the notice before it acts. So killing the watcher at any instant loses nothing (the
 * notice is still due) and doubles nothing (of several helpers one wins the claim). See
 * docs/internals/hooks.md.
 */
#include "monitor/hooks.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/proc.h"
#include "base/text.h"
#include "core/job_event.h"

enum {
    EVENTS_AT_ONCE = 256,
    PAGES_AT_ONCE = 16,            /* so that a refresh is not held up by a flood */
    HELPERS_AT_ONCE = 16,
};

/* Of `notify.on` when the job file does not say. */
static const char *const default_words[] = { "complete", "error", "canceled" };

static bool notify_wants(const json_t *notify, const char *word)
{
    const json_t *on = json_object_get(notify, "on");
    json_t *listed;
    size_t i;

    for (i = 0; !json_is_array(on) && i < SW_COUNT(default_words); i++)
        if (strcmp(default_words[i], word) == 0)
            return true;
    json_array_foreach(on, i, listed)
        if (sw_text_same(json_string_value(listed), word))
            return true;
    return false;
}

static void add_once(json_t *hooks, const char *name)
{
    json_t *known;
    size_t i;

    json_array_foreach(hooks, i, known)
        if (strcmp(json_string_value(known), name) == 0)
            return;
    json_array_append_new(hooks, json_string(name));
}

void sw_hooks_for(const json_t *plan, const char *kind, const json_t *data, json_t *hooks)
{
    const json_t *commands = json_object_get(plan, "hooks");
    const json_t *notify = json_object_get(plan, "notify");

    /* A new reason or message for the same state is no change of state. */
    if (strcmp(kind, "state") == 0 && sw_text_same(sw_json_str(data, "state"), sw_json_str(data, "was")))
        return;
    for (const struct sw_job_event *row = sw_job_events; row->kind; row++) {
        if (!sw_job_event_fits(row, kind, data))
            continue;
        if (row->hook && sw_json_str(commands, row->hook))
            add_once(hooks, row->hook);
        if (!notify_wants(notify, row->word))
            continue;
        if (sw_json_str(notify, "command"))
            add_once(hooks, "notify.command");
        if (sw_json_str(notify, "webhook"))
            add_once(hooks, "notify.webhook");
    }
}

static void look_up(void *context, const struct sw_job *job, int64_t event_seq, const char *kind,
                    const json_t *data, json_t *hooks)
{
    (void)context, (void)event_seq;
    sw_hooks_for(job->plan, kind, data, hooks);
}

/* ---- a process that runs it ----------------------------------------------------------------------- */

struct starting {
    char *program, *dir;
    int result;
    struct sw_error err;
};

static int start_helper(void *context, int64_t event_seq, const char *hook)
{
    struct starting *starting = context;
    sw_autofree char *event = sw_format("%lld", (long long)event_seq);
    char *argv[] = { (char *)"slipway-hook", starting->dir, event, (char *)hook, NULL };

    if (!starting->program)
        starting->program = sw_helper_path("slipway-hook", &starting->err);
    if (!starting->program) {
        starting->result = -1;
        return 1;
    }
    starting->result = sw_proc_detach(starting->program, argv, NULL, &starting->err);
    return starting->result < 0;
}

int sw_hooks_run(struct sw_store *store, struct sw_error *err)
{
    const char *path = sw_store_path(store), *slash = strrchr(path, '/');
    struct starting starting = {
        .dir = slash ? sw_strndup(path, (size_t)(slash - path)) : sw_strdup("."),
    };
    bool found = true;
    int result = 0;

    for (int page = 0; result == 0 && found && page < PAGES_AT_ONCE; page++)
        result = sw_store_due(store, EVENTS_AT_ONCE, look_up, NULL, &found, err);
    if (result == 0)
        result = sw_store_notices(store, HELPERS_AT_ONCE, start_helper, &starting, err);
    if (result == 0 && starting.result < 0) {
        result = -1;
        if (err)
            *err = starting.err;
    }
    free(starting.program);
    free(starting.dir);
    return result;
}
