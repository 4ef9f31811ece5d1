/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_checks.c - everything a job needs from an engine, looked at one by one, each with its fix; and the
 * quick look before every submit.
 *
 * Nothing is changed on the engine. Whether a folder is visible there is asked by a container that
 * cannot be made: its image does not exist, and the engine looks at the folder first.
 */
#include <ctype.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/folder.h"
#include "base/proc.h"
#include "base/text.h"
#include "base/units.h"
#include "core/finding.h"
#include "core/gpu.h"
#include "core/image_ref.h"
#include "net/http.h"
#include "net/ssh_dialer.h"
#include "platform/docker/docker_job.h"

#define GIB               (1024LL * 1024 * 1024)
#define DISK_LEAST        (1 * GIB)
#define DISK_FOR_AN_IMAGE (2 * GIB)
#define SAID_MAX          200
#define NO_IMAGE          "sha256:0000000000000000000000000000000000000000000000000000000000000000"
#define TOOLKIT_FIX       "install the NVIDIA Container Toolkit on the engine's machine, then: " \
                          "sudo nvidia-ctk runtime configure --runtime=docker && " \
                          "sudo systemctl restart docker"

/* ---- the engine's machine -------------------------------------------------------------------
 * What the Engine API does not tell: asked here when it is this machine, over ssh when that is the way to it,
 * not known otherwise. */

/* The script reads one line: a path, which is never part of a command. */
char *docker_ask_machine(struct docker_api *api, const char *script, const char *line)
{
    struct sw_ssh *ssh = sw_ssh_dialer_ssh(api->dialer);
    sw_autofree char *input = sw_format("%s\n", line);
    const struct sw_ssh_piece piece = { .bytes = input, .length = strlen(input) };
    const struct sw_ssh_call call = { .script = script, .input = &piece, .input_count = 1,
                                      .output_limit = 65536, .repeatable = true };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (!ssh || sw_ssh_run(ssh, &call, &reply, NULL) < 0 || reply.exit_code != 0)
        return NULL;
    return sw_buf_steal(&reply.output);
}

static int64_t free_bytes_there(struct docker_api *api, const char *folder)
{
    sw_autofree char *said = docker_ask_machine(api, "read -r folder && df -Pk -- \"$folder\" | "
                                          "{ read -r head; read -r disk all used left rest; "
                                          "echo \"$left\"; }", folder);
    long long kib = said && isdigit((unsigned char)*said) ? strtoll(said, NULL, 10) : -1;

    return kib < 0 || kib > INT64_MAX / 1024 ? -1 : (int64_t)kib * 1024;
}

/* The first line, harmless on a terminal. */
static char *first_line(const char *said)
{
    size_t length = said ? strcspn(said, "\r\n") : 0;

    return length ? sw_text_printable(said, length < SAID_MAX ? length : SAID_MAX) : NULL;
}

static char *program_version(struct docker_api *api, const char *path)
{
    char *const argv[] = { (char *)path, (char *)"--version", NULL };
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    sw_autofree char *far = NULL;
    int status = -1;

    if (api->endpoint.way != DOCKER_UNIX) {
        far = docker_ask_machine(api, "read -r path && \"$path\" --version", path);
        return first_line(far);
    }
    if (sw_proc_ask(argv, "", &said, &status, NULL) < 0 || status != 0)
        return NULL;
    return first_line(sw_buf_text(&said));
}

/* ---- the engine --------------------------------------------------------------------------------- */

static void check_engine(const struct docker_api *api, const json_t *info, const char *version,
                         json_t *rows)
{
    const struct docker_endpoint *endpoint = &api->endpoint;
    const char *server = sw_json_str(info, "ServerVersion"), *os = sw_json_str(info, "OSType");
    sw_autofree char *message = sw_format("version %s at %s (%s)", server ? server : "?",
                                          endpoint->text, endpoint->origin);
    sw_autofree char *warning = docker_endpoint_warning(endpoint);

    sw_finding(rows, "engine", true, message, NULL);
    sw_finding(rows, "API version", true, version, NULL);
    if (warning)
        sw_finding(rows, "connection", false, warning, "use ssh:// or TLS");
    if (os && strcmp(os, "linux") != 0)
        sw_finding(rows, "containers", false, "the engine does not run Linux containers",
                   "switch it to Linux containers");
}

/* ---- disk --------------------------------------------------------------------------------------- */

/* Free bytes where the engine keeps its images; -1: cannot be seen from here. */
static int64_t free_bytes(struct docker_api *api, const char *folder)
{
    struct statvfs disk;

    if (api->endpoint.way == DOCKER_UNIX)
        return statvfs(folder, &disk) == 0 ? (int64_t)disk.f_bavail * (int64_t)disk.f_frsize : -1;
    return free_bytes_there(api, folder);
}

static void check_disk(struct docker_api *api, const json_t *info, bool needs_image, json_t *rows)
{
    const char *folder = sw_json_str(info, "DockerRootDir");
    int64_t left = folder ? free_bytes(api, folder) : -1;
    int64_t least = needs_image ? DISK_FOR_AN_IMAGE : DISK_LEAST;
    char text[32], wanted[32];
    sw_autofree char *message = NULL;

    sw_size_format(left, text);
    sw_size_format(least, wanted);
    if (left < 0)
        message = sw_strdup("cannot be seen from here");
    else if (left < least)
        message = sw_format("%s free in %s; at least %s is recommended%s", text, folder, wanted,
                            needs_image ? " to pull an image" : "");
    else
        message = sw_format("%s free in %s", text, folder);
    sw_finding(rows, "disk", left < 0 || left >= least, message,
               "`docker system prune` on the engine's machine removes what is not used");
}

/* ---- GPUs --------------------------------------------------------------------------------------- */

/* Without a runtime of that name: device requests work as well when the toolkit's hook is there. */
static const char *hook_here(const struct docker_api *api)
{
    static const char *const hooks[] = { "/usr/bin/nvidia-container-runtime-hook",
                                         "/usr/local/bin/nvidia-container-runtime-hook" };

    for (size_t i = 0; api->endpoint.way == DOCKER_UNIX && i < SW_COUNT(hooks); i++)
        if (access(hooks[i], X_OK) == 0)
            return hooks[i];
    return NULL;
}

static bool has_cdi_gpus(const json_t *info)
{
    const json_t *device;
    size_t i;

    json_array_foreach(json_object_get(info, "DiscoveredDevices"), i, device) {
        const char *id = sw_json_str(device, "ID");

        if (id && sw_text_starts(id, "nvidia.com/gpu="))
            return true;
    }
    return false;
}

static void add_runtime(struct docker_api *api, const char *name, const char *path, json_t *rows)
{
    sw_autofree char *version = sw_text_empty(path) ? NULL : program_version(api, path);
    sw_autofree char *message = sw_format("runtime %s, %s", name,
                                          version ? version : "version unknown");

    sw_finding(rows, "GPUs", true, message, NULL);
}

static void check_gpus(struct docker_api *api, const json_t *info, const struct docker_needs *needs,
                       json_t *rows)
{
    const char *name = needs->runtime ? needs->runtime : "nvidia";
    const json_t *runtime = json_object_get(json_object_get(info, "Runtimes"), name);
    const char *hook = hook_here(api), *kernel = sw_json_str(info, "KernelVersion");
    bool tegra = kernel && strstr(kernel, "tegra");

    if (runtime)
        add_runtime(api, name, sw_json_str(runtime, "path"), rows);
    else if (needs->runtime)
        sw_finding(rows, "GPUs", false, "the engine has no runtime of that name",
                   "leave `runtime` out, or add it to the engine's daemon.json");
    else if (!tegra && has_cdi_gpus(info))
        sw_finding(rows, "GPUs", true, "CDI devices of NVIDIA", NULL);
    else if (!tegra && hook)
        add_runtime(api, "by device request", hook, rows);
    else
        sw_finding(rows, "GPUs", !needs->gpus, "the engine has no NVIDIA runtime", TOOLKIT_FIX);
}

/* ---- mounts --------------------------------------------------------------------------- */

int docker_sees(struct docker_api *api, const json_t *mount, struct sw_error *err)
{
    sw_auto(json) json_t *body = sw_json_object(
        SW_STR("Image", NO_IMAGE),
        SW_SUB("HostConfig", sw_json_object(SW_SUB("Mounts", json_pack("[O]", mount)))));
    const struct sw_rest_call call = { .method = "POST", .path = "/containers/create",
                                       .json = body };
    struct sw_error why = { 0 };

    docker_ask(api, &call, NULL, &why);
    if (why.code == SW_E_NOT_FOUND)
        return 1;
    sw_pass(err, &why);
    return api->refusal == DOCKER_NO_BIND_SOURCE ? 0 : -1;
}

static void check_mount(struct docker_api *api, const json_t *mount, json_t *rows)
{
    const char *source = sw_json_str(mount, "Source");
    sw_autofree char *check = sw_format("mount %s", source ? source : "?");
    sw_autofree char *fix = sw_format("create it on the machine of %s, or use another",
                                      api->endpoint.text);
    struct sw_error why = { 0 };

    if (docker_sees(api, mount, &why) > 0)
        sw_finding(rows, check, true, "visible to the engine", NULL);
    else
        sw_finding(rows, check, false, why.message, fix);
}

/* What the engine says of an image; owned; NULL: it does not have it. */
static json_t *inspect(struct docker_api *api, const char *text)
{
    sw_auto(sw_image_ref) struct sw_image_ref image = { 0 };
    sw_autofree char *name = sw_image_ref_parse(text, &image, NULL) == 0 ? sw_image_ref_text(&image) : NULL;

    return name ? docker_inspect_image(api, name, NULL) : NULL;
}

static void check_clock(const json_t *info, json_t *rows)
{
    const char *told = sw_json_str(info, "SystemTime");
    int64_t theirs_ms = told ? sw_http_date(told) : -1;

    if (theirs_ms > 0)
        sw_finding_clock(rows, "the engine's machine", theirs_ms, sw_now_ms());
}

/* ---- all of them -------------------------------------------------------------------------------- */

json_t *docker_checks(struct docker_api *api, const struct docker_needs *needs)
{
    sw_auto(json) json_t *info = NULL;
    sw_auto(json) json_t *image = NULL;
    json_t *rows = json_array();
    struct sw_error why = { 0 };
    const char *version = docker_api_version(api, &why);
    json_t *mount;
    size_t i;

    if (!version || !(info = docker_get(api, sw_rest_path("/info"), &why))) {
        sw_finding_error(rows, "engine", &why);
        return rows;
    }
    check_engine(api, info, version, rows);
    check_clock(info, rows);
    if (needs->image)
        image = inspect(api, needs->image);
    check_disk(api, info, needs->image && !image, rows);
    check_gpus(api, info, needs, rows);
    if (needs->image)
        docker_check_image(api, info, needs, image, rows);
    json_array_foreach(needs->mounts, i, mount)
        if (sw_text_same(sw_json_str(mount, "Type"), "bind"))
            check_mount(api, mount, rows);
    return rows;
}

/* ---- can this plan run on this engine? -----------------------------------------------------------
 * The quick look before every submit costs the question that the submit's own connection begins with, and
 * nothing else: the steps themselves report what is missing. */

/* Only of this machine is it known what it has without another question. */
static void say_gpus(const struct sw_connection *conn, const struct sw_plan *plan)
{
    sw_autofree char *text = docker_of(conn)->warn && docker_is_local(conn) && sw_plan_gpus_unsaid(plan)
                                 ? sw_gpu_unasked() : NULL;

    if (text)
        docker_of(conn)->warn(docker_of(conn)->warn_context, text);
}

/* The engine itself refuses too many CPUs, and takes any memory. Asked only when the job names some. */
static int check_room(struct docker_api *api, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *info = NULL;

    if (plan->cpus <= 0 && plan->memory_bytes <= 0)
        return 0;
    info = docker_get(api, sw_rest_path("/info"), err);
    return !info ? -1 : sw_plan_fits(plan, "the engine", (double)sw_json_int(info, "NCPU", 0),
                        sw_json_int(info, "MemTotal", 0), err);
}

/* Folders of this machine that outputs go to are made by the submit. */
static int check_outputs(const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *folders = docker_output_folders(plan);
    size_t i;
    json_t *folder;

    json_array_foreach(folders, i, folder)
        if (sw_folder_may_make(json_string_value(folder), err) < 0)
            return sw_wrap(err, "output");
    return 0;
}

int docker_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = NULL;
    sw_auto(sw_image_ref) struct sw_image_ref image = { 0 };

    if (sw_text_empty(plan->image)) {
        sw_fail(err, SW_E_SPEC, "a job on docker needs an image");
        return sw_hint(err, "add `image: NAME:TAG` to the job file, or --image");
    }
    if (plan->launcher == SW_LAUNCHER_MPI) {
        sw_fail(err, SW_E_UNSUPPORTED, "launcher 'mpi' is not available on docker");
        return sw_hint(err, "start mpirun in the command: docs/use/platforms/docker.md shows how");
    }
    if (sw_image_ref_parse(plan->image, &image, err) < 0 || !(api = docker_borrow(conn, err)) ||
        !docker_api_version(api, err) || (docker_is_local(conn) && check_outputs(plan, err) < 0))
        return -1;
    say_gpus(conn, plan);
    return check_room(api, plan, err);
}

/* A repository is cloned when the job is sent, and folders for outputs are made then; there is nothing to
 * look at before. */
static void leave_out(json_t *mounts)
{
    for (size_t i = json_array_size(mounts); i-- > 0;) {
        const json_t *mount = json_array_get(mounts, i);
        const char *source = sw_json_str(mount, "Source");

        if ((source && sw_text_starts(source, "git+")) ||
            sw_text_starts(sw_json_str(mount, "Target"), DOCKER_HOME "/output-"))
            json_array_remove(mounts, i);
    }
}

/* As many GPUs as the job asks for, used by other jobs or not. */
static void add_gpus(struct docker_api *api, const struct sw_plan *plan, json_t *rows)
{
    struct sw_error why = { 0 };

    if (plan->gpus > 0 && docker_gpu_enough(api, plan, &why) < 0)
        sw_finding_error(rows, "number of GPUs", &why);
}

json_t *docker_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    struct docker_site site = { .attempt = 1, .local = docker_is_local(conn) };
    sw_auto(json) json_t *mounts = api ? docker_mounts(plan, &site, err) : NULL;
    json_t *rows;
    struct docker_job_options options = docker_job_options(plan->options);
    struct docker_needs needs = { .image = plan->image, .policy = options.pull, .gpus = plan->gpus != 0,
                                .runtime = options.runtime };

    if (!mounts)
        return NULL;
    leave_out(mounts);
    needs.mounts = mounts;
    rows = docker_checks(api, &needs);
    add_gpus(api, plan, rows);
    return rows;
}
