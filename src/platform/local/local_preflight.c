/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_preflight.c - can this plan run on this machine at all? Asked before anything is
 * remembered or made, so that a typing mistake costs a message and nothing else. And what
 * `slipway preflight` checks besides: things that do not keep a job from being started, and make
 * it fail at once.
 */
#include "platform/local/local_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "base/units.h"
#include "core/finding.h"
#include "platform/local/local_gpu.h"
#include "platform/local/local_room.h"

#define DISK_LEAST (INT64_C(256) << 20)
#define PATHS_FIX  "it must exist on this machine; a relative path begins at the job file's folder"

static int check_launcher(const struct sw_plan *plan, struct sw_error *err)
{
    if (plan->launcher != SW_LAUNCHER_MPI)
        return 0;
    sw_fail(err, SW_E_UNSUPPORTED, "launcher 'mpi' is not available on local");
    return sw_hint(err, "use 'torchrun' or 'ray', or 'none' and start it in the command");
}

static int check_workdir(const struct sw_plan *plan, const char *path, struct sw_error *err)
{
    sw_autofree char *where = sw_plan_where(plan, "workdir");
    struct stat info;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return 0;
    if (stat(path, &info) < 0)
        sw_fail_errno(err, SW_E_SPEC, "%sworkdir '%s'", where, path);
    else
        sw_fail(err, SW_E_SPEC, "%sworkdir '%s' is not a folder", where, path);
    return sw_hint(err, PATHS_FIX);
}

/* The inputs of the payload are those of the plan, in its order. */
static int check_inputs(const struct sw_plan *plan, const struct sw_payload *payload,
                        struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(payload->inputs, i, entry) {
        const char *from = sw_json_str(entry, "from");
        const char *path = sw_json_str(json_array_get(plan->inputs, i), "path");
        sw_autofree char *where = NULL;
        struct stat info;

        if (strstr(from, "://") || stat(from, &info) == 0)
            continue;
        where = sw_plan_where_input(plan, path ? path : "");
        sw_fail(err, SW_E_SPEC, "%s'%s' cannot be read: %s", where, from, strerror(errno));
        return sw_hint(err, PATHS_FIX);
    }
    return 0;
}

/* "/q/b", "/a/b" and "/a_b": the second and the third would be one folder. */
static int check_collisions(const struct sw_plan *plan, const struct sw_payload *payload,
                            struct sw_error *err)
{
    for (size_t i = 0; i < json_array_size(payload->outputs); i++)
        for (size_t j = 0; j < i; j++)
            if (sw_text_same(sw_json_str(json_array_get(payload->outputs, i), "path"),
                             sw_json_str(json_array_get(payload->outputs, j), "path")))
                return sw_fail(err, SW_E_SPEC, "outputs '%s' and '%s' would be the same folder",
                               sw_json_str(json_array_get(plan->outputs, j), "path"),
                               sw_json_str(json_array_get(plan->outputs, i), "path"));
    return 0;
}

static int check_venv(const char *venv, struct sw_error *err)
{
    sw_autofree char *config = sw_path_join(venv, "pyvenv.cfg");
    sw_autofree char *program = sw_path_join(venv, "bin/python");

    if (sw_file_exists(config) && access(program, X_OK) == 0)
        return 0;
    sw_fail(err, SW_E_SPEC, "'%s' is not a virtual environment", venv);
    return sw_hint(err, "it needs pyvenv.cfg and bin/python: `python3 -m venv %s` makes one", venv);
}

static int check_python(const struct sw_plan *plan, struct sw_error *err)
{
    const char *asked = sw_json_str(plan->python, "venv");
    sw_autofree char *venv = NULL, *script = NULL;

    if (!plan->python)
        return 0;
    venv = asked ? local_source_path(asked, plan->base_dir, err) : NULL;
    if (asked && (!venv || check_venv(venv, err) < 0))
        return -1;
    script = local_source_path(sw_json_str(plan->python, "script"), plan->base_dir, err);
    if (!script)
        return -1;
    if (access(script, R_OK) < 0)
        return sw_fail_errno(err, SW_E_SPEC, "python.script '%s'", script);
    return 0;
}

/* "0 NVIDIA A100, 1 NVIDIA A100" */
static void name_gpus(const struct sw_gpu *gpus, int count, struct sw_buf *out)
{
    for (int i = 0; i < count; i++)
        sw_buf_addf(out, "%s%d %s", i ? ", " : "", gpus[i].index, gpus[i].name);
}

static int check_gpus(const struct local_job *job, struct sw_error *err)
{
    const struct sw_plan *plan = &job->plan;
    struct sw_gpu gpus[SW_GPU_MAX];
    sw_auto(sw_buf) struct sw_buf here = SW_BUF_INIT;
    int64_t wanted = (int64_t)plan->gpus * plan->nodes;
    char shares[64] = "";
    int count, fitting = 0;

    if (wanted <= 0)
        return 0;
    count = sw_gpu_list(gpus, SW_GPU_MAX);
    for (int i = 0; i < count; i++)
        fitting += gpu_fits(&gpus[i], plan->gpu_type, job->options.gpu_ids);
    if (wanted <= fitting)
        return 0;
    name_gpus(gpus, count, &here);
    if (plan->nodes > 1)
        snprintf(shares, sizeof shares, " (%d for each of %d nodes)", plan->gpus, plan->nodes);
    sw_fail(err, SW_E_REFUSED, "the job needs %lld GPU%s%s; this machine has %s%.0d%s%s", (long long)wanted,
            sw_text_plural((double)wanted), shares, fitting ? "" : "none", fitting,
            fitting < count ? " that fit 'gpus' and 'gpu_ids': " : count ? ": " : "", sw_buf_text(&here));
    return sw_hint(err, count == 0 ? "no NVIDIA driver found; `gpus: 0` runs on CPUs"
                                   : "`slipway inventory local` shows what is here");
}

/* All nodes of a job share this machine. */
static int check_room(const struct sw_plan *plan, struct sw_error *err)
{
    struct room machine = room_of_machine();
    struct sw_plan whole = *plan;

    whole.cpus *= plan->nodes;
    whole.memory_bytes *= plan->nodes;
    return sw_plan_fits(&whole, "this machine", machine.cpus, machine.memory_bytes, err);
}

/* Where results are to be put: a folder that cannot be made there would be found out after the run. */
static int check_outputs(const struct sw_payload *payload, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(payload->outputs, i, entry) {
        const char *to = sw_json_str(entry, "to");

        if (!sw_text_empty(to) && !strstr(to, "://") && sw_folder_may_make(to, err) < 0)
            return sw_wrap(err, "output '%s'", sw_json_str(entry, "path"));
    }
    return 0;
}

static int check_shell(const char *shell, struct sw_error *err)
{
    if (sw_text_empty(shell) || access(shell, X_OK) == 0)
        return 0;
    sw_fail_errno(err, SW_E_SPEC, "local.shell '%s'", shell);
    return sw_hint(err, "name a shell of this machine by its path, such as /bin/sh");
}

static void warn_of_unused(const struct local_connection *here, const struct sw_plan *plan)
{
    sw_autofree char *gpus = here->warn && sw_plan_gpus_unsaid(plan) ? sw_gpu_unasked() : NULL;

    if (gpus)
        here->warn(here->warn_context, gpus);
    if (here->warn && plan->shm_bytes)
        here->warn(here->warn_context,
                   "shm: /dev/shm is this machine's own on local, and keeps its size");
    if (here->warn && plan->image)
        here->warn(here->warn_context, "local runs the command on this machine, not in the image");
}

int local_preflight(struct sw_connection *conn, const struct sw_plan *given, struct sw_error *err)
{
    sw_auto(local_job) struct local_job job = { 0 };
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    const struct sw_plan *plan = &job.plan;

    if (given->nodes > LOCAL_REPLICAS_MAX)
        return sw_fail(err, SW_E_REFUSED, "%d nodes are too many for one machine (at most %d)",
                       given->nodes, LOCAL_REPLICAS_MAX);
    if (local_job_init(&job, conn, given, 1, LOCAL_MOUNTS_CHECK, err) < 0 ||
        !(payload = local_payload(&job, err)))
        return -1;
    if (check_launcher(plan, err) < 0 || check_python(plan, err) < 0 ||
        check_shell(job.options.shell, err) < 0 ||
        (!plan->code && check_workdir(plan, payload->command_dir, err) < 0) ||
        check_inputs(plan, payload, err) < 0 || check_collisions(plan, payload, err) < 0 ||
        check_outputs(payload, err) < 0 || check_room(plan, err) < 0 || check_gpus(&job, err) < 0)
        return -1;
    warn_of_unused(local_of(conn), plan);
    return 0;
}

/* ---- the report ----------------------------------------------------------------------------- */

static void add_machine(json_t *rows)
{
    struct room machine = room_of_machine();
    sw_autofree char *message = NULL;
    char memory[32];

    sw_size_format(machine.memory_bytes, memory);
    message = sw_format("%g CPU%s, %s of memory", machine.cpus, machine.cpus == 1 ? "" : "s", memory);
    sw_finding(rows, "machine", true, message, NULL);
}

/* Log, scratch files and results go there. */
static void add_disk(json_t *rows, const char *folder)
{
    struct statvfs disk;
    int64_t left;
    char text[32];
    sw_autofree char *message = NULL;

    if (statvfs(folder, &disk) < 0)
        return;
    left = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    sw_size_format(left, text);
    message = sw_format("%s free in %s", text, folder);
    sw_finding(rows, "disk", left >= DISK_LEAST, message,
               "free some space, or choose another place with SLIPWAY_STATE_DIR");
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
    sw_finding(rows, "program", found != NULL, found ? found : message,
        "check its name; a path is relative to `workdir:`, else to the job file's folder");
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
    add_disk(rows, local_of(conn)->state_dir);
    add_program(rows, plan, payload);
    return rows;
}
