/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gc.c - remove what belongs to no job, and jobs past their keep time.
 */
#include "api/api_internal.h"
#include "base/file.h"

static bool is_known(void *session, const char *id)
{
    return api_knows(session, id);
}

static void sweep_platform(struct sw_session *session, const struct sw_platform *platform,
                           const struct sw_sweep *sweep, json_t *rows)
{
    struct sw_error why = { 0 };
    struct sw_connection *conn = api_connect(session, platform, session->profile, &why);
    sw_auto(json) json_t *found = conn ? platform->orphans(conn, sweep, &why) : NULL;
    json_t *leftover;
    size_t i;

    if (!found && api_is_idle(session, platform, &why))
        return;
    if (!found) {
        sw_autofree char *text = sw_format("%s was not checked: %s", platform->name,
                                           why.message);

        api_warn(session, text);
        return;
    }
    json_array_foreach(found, i, leftover) {
        json_object_set_new(leftover, "platform", json_string(platform->name));
        if (!json_object_get(leftover, "removed"))
            json_object_set_new(leftover, "removed", json_boolean(sweep->remove));
        json_array_append(rows, leftover);
    }
}

/* Clones of repositories that jobs share; one that is not over may have them mounted. */
static void sweep_clones(struct sw_session *session, bool remove, json_t *rows)
{
    const struct sw_job_filter active = { .active_only = true };
    sw_autofree char *folder = sw_path_join(session->state_dir, "git");
    int64_t count = 0;

    if (!sw_file_exists(folder) ||
        sw_store_count(session->store, &active, &count, NULL) < 0 || count > 0)
        return;
    json_array_append_new(rows, sw_json_object(
        SW_STR("what", "cache"), SW_STR("where", folder), SW_STR("job", ""),
        SW_STR("platform", ""),
        SW_BOOL("removed", remove && sw_remove_tree(folder, NULL) == 0)));
}

char *sw_gc_with(struct sw_session *session, const struct sw_gc_options *options,
                 struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *rows = api_expired(session, options->remove, &why);
    const struct sw_sweep sweep = {
        .known = is_known, .context = session, .store_id = sw_store_id(session->store),
        .remove = options->remove, .results = options->results, .caches = options->caches,
    };
    const struct sw_platform *platform;

    if (!rows)
        return sw_null(sw_pass(err, &why));
    for (size_t i = 0; (platform = sw_platform_at(i)); i++)
        if (platform->orphans)
            sweep_platform(session, platform, &sweep, rows);
    if (options->caches)
        sweep_clones(session, options->remove, rows);
    return api_document("gc", sw_json_object(SW_SUB("leftovers", sw_take(rows))));
}

char *sw_gc(struct sw_session *session, bool remove, struct sw_error *err)
{
    const struct sw_gc_options options = { .size = sizeof options, .remove = remove };

    return sw_gc_with(session, &options, err);
}
