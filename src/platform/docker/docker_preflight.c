/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_preflight.c - can this plan run on this engine? A quick look before every submit, and a
 * thorough one when the user asks.
 *
 * The quick one costs the question that the submit's own connection begins with, and nothing else:
 * the steps themselves report what is missing.
 */
#include "base/folder.h"
#include "base/text.h"
#include "core/gpu.h"
#include "core/image_ref.h"
#include "platform/docker/docker_job.h"

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
    if (plan->launcher != SW_LAUNCHER_NONE && plan->launcher != SW_LAUNCHER_TORCHRUN) {
        sw_fail(err, SW_E_UNSUPPORTED, "of the launchers, docker has 'none' and 'torchrun' only");
        return sw_hint(err, "start mpirun or ray in the command: docs/use/platforms/docker.md shows how");
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
        json_array_append_new(rows, sw_json_object(
            SW_STR("check", "number of GPUs"), SW_BOOL("ok", false), SW_STR("message", why.message),
            SW_STR("fix", why.hint)));
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
