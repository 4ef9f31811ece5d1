/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c - is all well on this machine? Each check is one function that says what it found.
 */
#include <string.h>
#include <sys/statvfs.h>

#include "api/api_internal.h"
#include "base/buf.h"
#include "base/proc.h"
#include "base/text.h"
#include "base/units.h"

static void finding(json_t *rows, const char *check, bool good, const char *message,
                    const char *fix)
{
    json_array_append_new(rows, sw_json_object(
        SW_STR("check", check), SW_BOOL("ok", good), SW_STR("message", message),
        SW_STR("fix", good ? "" : fix)));
}

/* Nothing to repair: no job was ever sent there, and it does not answer or was never configured. `ok` is
 * neither true nor false. */
static void not_set_up(json_t *rows, const char *check, const struct sw_error *why)
{
    json_array_append_new(rows, sw_json_object(
        SW_STR("check", check), SW_NULL("ok"), SW_STR("message", why->message),
        SW_STR("fix", why->hint)));
}

static void check_store(struct sw_session *session, json_t *rows)
{
    sw_autofree char *problem = NULL;
    struct sw_error why = { 0 };
    bool good = sw_store_check(session->store, &problem, &why) == 0 && sw_text_empty(problem);

    finding(rows, "job store", good,
            good ? sw_store_path(session->store) : problem ? problem : why.message,
            "move the file away (it is not lost) and run again; see docs/internals/store.md");
}

static void check_space(struct sw_session *session, json_t *rows)
{
    struct statvfs space;
    char free_text[32];
    sw_autofree char *message = NULL;
    int64_t left;

    if (statvfs(session->state_dir, &space) < 0)
        return;
    left = (int64_t)space.f_bavail * (int64_t)space.f_frsize;
    sw_size_format(left, free_text);
    message = sw_format("%s free in %s", free_text, session->state_dir);
    finding(rows, "disk space", left > 256 * 1024 * 1024, message,
            "free some space, or choose another place with SLIPWAY_STATE_DIR");
}

static void check_helpers(json_t *rows)
{
    static const char *const helpers[] = { "slipway-supervisor", "slipway-runner",
                                           "slipway-hook", "slipway-watcher" };

    for (size_t i = 0; i < SW_COUNT(helpers); i++) {
        struct sw_error why = { 0 };
        sw_autofree char *path = sw_helper_path(helpers[i], &why);

        finding(rows, helpers[i], path != NULL,
                !path ? why.message : sw_text_same(path, SW_PROC_SELF) ? "inside this program" : path,
                why.hint);
    }
}

static void check_profiles(struct sw_session *session, json_t *rows)
{
    struct sw_error why = { 0 };
    bool good = api_profiles(session, &why) != NULL;

    finding(rows, "profiles and .env", good, good ? "readable" : why.message,
            why.hint[0] ? why.hint : "correct the file at the place named");
}

/* An inventory in a few words: "node vm, cpus 2, memory 23.5 GiB, gpus 0". */
static char *in_words(const json_t *inventory)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)inventory, key, value) {
        bool is_size = sw_text_ends(key, "_bytes");
        char size[32];

        if (json_is_null(value) || json_is_object(value))
            continue;
        sw_buf_addf(&out, "%s%.*s ", out.length ? ", " : "",
                    (int)(strlen(key) - (is_size ? strlen("_bytes") : 0)), key);
        if (is_size) {
            sw_size_format(json_integer_value(value), size);
            sw_buf_add(&out, size);
        } else if (json_is_array(value)) {
            sw_buf_addf(&out, "%zu", json_array_size(value));
        } else if (json_is_string(value)) {
            sw_buf_add(&out, json_string_value(value));
        } else {
            sw_autofree char *text = sw_json_dump(value);

            sw_buf_add(&out, text);
        }
    }
    return sw_buf_steal(&out);
}

static void check_platforms(struct sw_session *session, json_t *rows)
{
    const struct sw_platform *platform;

    for (size_t i = 0; (platform = sw_platform_at(i)); i++) {
        struct sw_error why = { 0 };
        struct sw_connection *conn = api_connect(session, platform, NULL, &why);
        sw_auto(json) json_t *here = conn && platform->inventory
                                         ? platform->inventory(conn, &why) : NULL;
        sw_autofree char *seen = here ? in_words(here) : NULL;
        sw_autofree char *title = sw_format("platform %s", platform->name);
        bool good = conn && (here || !platform->inventory);

        if (!good && api_is_idle(session, platform, &why))
            not_set_up(rows, title, &why);
        else
            finding(rows, title, good, !good ? why.message : seen ? seen : "ready", why.hint);
    }
}

static void check_watcher(struct sw_session *session, json_t *rows)
{
    struct sw_error why = { 0 };
    char *text = sw_watcher(session, &why);
    sw_auto(json) json_t *status = text ? json_loads(text, 0, NULL) : NULL;
    bool running = sw_json_bool(status, "running", false), off = sw_json_bool(status, "off", false);
    long long jobs = sw_json_int(status, "jobs", 0), notices = sw_json_int(status, "notices", 0);
    const char *problem = status ? sw_json_str(status, "problem") : why.message;
    sw_autofree char *message = running ? sw_format("watching %lld job%s", jobs, sw_text_plural(jobs))
        : jobs + notices == 0 ? sw_strdup("not running, and no job needs it")
        : sw_format("not running: %s", sw_text_empty(problem) ? sw_json_str(status, "missed") : problem);

    sw_text_free(text);
    finding(rows, "watcher", running || off || (jobs + notices == 0 && sw_text_empty(problem)), message,
            "slipway watcher start");
}

char *sw_doctor(struct sw_session *session, struct sw_error *err)
{
    json_t *rows = json_array();

    (void)err;
    check_store(session, rows);
    check_space(session, rows);
    check_helpers(rows);
    check_profiles(session, rows);
    check_watcher(session, rows);
    check_platforms(session, rows);
    return api_checks("doctor", NULL, rows);
}
