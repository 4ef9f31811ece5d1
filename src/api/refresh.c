/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.c - observe jobs and write down what was seen, then start the hooks that are due.
 */
#include "api/api_internal.h"

#include "monitor/hooks.h"

void api_run_hooks(struct sw_session *session)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;          /* the program will be missing every time */
    struct sw_error why = { 0 };

    if (!session->read_only && sw_hooks_run(session->store, &why) < 0 &&        /* they stay due */
        !atomic_flag_test_and_set(&warned))
        api_warn(session, why.message);
}

static struct sw_secrets *kept_secrets(void *context, const char *id)
{
    const struct sw_session *session = context;

    return api_kept_of(session->kept, id);
}

int api_refresh_within(struct sw_session *session, const char *const *ids, size_t count,
                       const struct sw_refresh_options *options, json_t *unreachable,
                       struct sw_error *err)
{
    struct sw_monitor monitor = {
        .connect = api_connect_place, .verify = api_verify_place,
        .context = session, .hold = api_hold, .release = api_release,
        .rules = api_rules, .warn = api_warn,
        .secrets = session && session->kept ? kept_secrets : NULL, .watcher = session && session->kept,
    };

    if (api_need(session, err) < 0)
        return -1;
    if (api_look_shared(session, ids, count, options, unreachable))
        return 0;
    sw_host_name(monitor.host);
    monitor.store = session->store;
    monitor.pool = session->pool;
    if (sw_refresh(&monitor, ids, count, options, unreachable, err) < 0 &&
        (!sw_store_make_room(session->store) ||
         sw_refresh(&monitor, ids, count, options, unreachable, err) < 0))
        return -1;
    if (options->act)
        api_run_hooks(session);
    return 0;
}

int api_refresh(struct sw_session *session, const char *const *ids, size_t count,
                json_t *unreachable, struct sw_error *err)
{
    const struct sw_refresh_options patient = { .deadline_ms = SW_REFRESH_PATIENT };

    return api_refresh_within(session, ids, count, &patient, unreachable, err);
}
