/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_preflight_report.c - what `slipway preflight` checks besides local_preflight.c: things
 * that do not keep a
 * job from being started, and make it fail at once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "platform/local/local_internal.h"

static void add(json_t *rows, const char *check, bool ok, const char *message, const char *fix)
{
    json_array_append_new(rows, sw_json_object(SW_STR("check", check), SW_BOOL("ok", ok),
                                               SW_STR("message", message),
                                               SW_STR_OPT("fix", ok ? NULL : fix)));
}

static void add_machine(json_t *rows)
{
    struct sysinfo info = { 0 };
    sw_autofree char *message = NULL;
    char memory[32];

    if (sysinfo(&info) < 0)
        return;
    sw_size_format((int64_t)info.totalram * info.mem_unit, memory);
    message = sw_format("%ld CPUs, %s of memory", sysconf(_SC_NPROCESSORS_ONLN), memory);
    add(rows, "machine", true, message, NULL);
}

static bool is_program(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* As execvp() will look for it: a name with a slash from the command's folder, others along PATH. Owned. */
static char *find_program(const char *name, const char *folder, const char *path)
{
    sw_autofree char *copy = sw_strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
    char *rest = copy;

    if (strchr(name, '/')) {
        sw_autofree char *place = sw_path_absolute(name, folder);

        return is_program(place) ? sw_take(place) : NULL;
    }
    for (char *each; (each = strsep(&rest, ":"));) {
        sw_autofree char *where = sw_path_absolute(*each ? each : ".", folder);
        sw_autofree char *place = sw_path_join(where, name);

        if (is_program(place))
            return sw_take(place);
    }
    return NULL;
}

/* A shell's text is not parsed, nor is a program that travels with the code or is an input. */
static void add_program(json_t *rows, const struct sw_plan *plan, const struct sw_payload *payload)
{
    const char *name = json_string_value(json_array_get(plan->argv, 0));
    const char *path = sw_json_str(plan->env, "PATH");
    sw_autofree char *found = NULL, *message = NULL;

    if (!name || plan->code || plan->launcher != SW_LAUNCHER_NONE ||
        !sw_text_same(name, json_string_value(json_array_get(payload->argv, 0))))
        return;
    found = find_program(name, payload->command_dir, path ? path : getenv("PATH"));
    message = found ? NULL : sw_format("'%s' is not a program that can be started%s", name,
                                       strchr(name, '/') ? "" : ": it is not in PATH");
    add(rows, "program", found != NULL, found ? found : message,
        "check its name; a path is meant from `workdir:`, else from the job file's folder");
}

json_t *local_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(local_job) struct local_job job = { 0 };
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    json_t *rows;

    if (local_job_init(&job, conn, plan, 1, LOCAL_MOUNTS_CHECK, err) < 0 ||
        !(payload = local_payload(&job, err)))
        return NULL;
    rows = json_array();
    add_machine(rows);
    add_program(rows, plan, payload);
    return rows;
}
