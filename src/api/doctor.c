/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c - is all well on this machine? Each check is one function that says what it found.
 */
#include <string.h>
#include <sys/statvfs.h>

#include "api/api_internal.h"
#include "base/proc.h"
#include "base/text.h"
#include "base/units.h"
#include "core/finding.h"

static void check_store(struct sw_session *session, json_t *rows)
{
    sw_autofree char *problem = NULL;
    struct sw_error why = { 0 };
    bool good = sw_store_check(session->store, &problem, &why) == 0 && sw_text_empty(problem);

    sw_finding(rows, "job store", good,
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
    sw_finding(rows, "disk space", left > 256 * 1024 * 1024, message,
            "free some space, or choose another place with SLIPWAY_STATE_DIR");
}

static void check_helpers(json_t *rows)
{
    static const char *const helpers[] = { "slipway-supervisor", "slipway-runner",
                                           "slipway-hook", "slipway-watcher" };

    for (size_t i = 0; i < SW_COUNT(helpers); i++) {
        struct sw_error why = { 0 };
        sw_autofree char *path = sw_helper_path(helpers[i], &why);

        sw_finding(rows, helpers[i], path != NULL,
                !path ? why.message : sw_text_same(path, SW_PROC_SELF) ? "inside this program" : path,
                why.hint);
    }
}

static void check_profiles(struct sw_session *session, json_t *rows)
{
    struct sw_error why = { 0 };
    bool good = api_profiles(session, &why) != NULL;

    sw_finding(rows, "profiles and .env", good, good ? "readable" : why.message,
            why.hint[0] ? why.hint : "correct the file at the place named");
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
    sw_finding(rows, "watcher", running || off || (jobs + notices == 0 && sw_text_empty(problem)), message,
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
    api_ready_rows(session, rows);
    return api_checks("doctor", NULL, rows);
}
