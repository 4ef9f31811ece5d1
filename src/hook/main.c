/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - slipway-hook STATE_DIR EVENT HOOK: run one hook for one event, once.
 *
 * The watcher starts it detached, so that it outlives the watcher. It claims the notice in
 * the store (of several helpers one wins), says "started" on the disk, and only then acts. Dying
 * before "started" leaves the notice to the next helper; dying after it never repeats anything.
 * Never run by hand; says nothing, except in the store.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/secret.h"
#include "hook/hook.h"

/* The text of a hook: "on_error" is in hooks, "notify.command" in notify. */
static const char *text_of(const json_t *plan, const char *hook)
{
    const char *dot = strchr(hook, '.');

    return dot ? sw_json_str(json_object_get(plan, "notify"), dot + 1)
               : sw_json_str(json_object_get(plan, "hooks"), hook);
}

static int act(const struct sw_notice *notice, const char *hook, char **output)
{
    const char *text = text_of(notice->job.plan, hook);

    if (!text) {
        *output = sw_strdup("the job has no such hook");
        return 127;
    }
    return strcmp(hook, "notify.webhook") == 0 ? hook_webhook(notice, text, output)
                                               : hook_command(notice, text, output);
}

int hook_main(int argc, char **argv)
{
    sw_auto(sw_store) struct sw_store *store = NULL;
    sw_auto(sw_notice) struct sw_notice notice = { 0 };
    sw_auto(json) json_t *result = NULL;
    sw_autofree char *output = NULL;
    struct sw_error err = { 0 };
    int64_t event;
    bool won = false;
    int status;

    if (argc != 4)
        return sw_code_exit_status(SW_E_USAGE);
    sw_secrets_guard();
    event = strtoll(argv[2], NULL, 10);
    store = sw_store_open_existing(argv[1], &err);
    if (!store || sw_store_notice_claim(store, event, argv[3], &won, &notice, &err) < 0)
        return sw_code_exit_status(err.code);
    if (!won)
        return 0;
    if (sw_store_notice_started(store, event, argv[3], &err) < 0)
        return sw_code_exit_status(err.code);
    status = act(&notice, argv[3], &output);
    result = sw_json_object(SW_STR("hook", argv[3]), SW_INT("of_event", event),
                            SW_INT("exit_status", status), SW_STR_OPT("output", output));
    if (sw_store_notice_done(store, event, argv[3], status, result, &err) < 0)
        return sw_code_exit_status(err.code);
    return 0;
}
