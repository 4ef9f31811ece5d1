/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_image_checks.c - an image before it is used: is it there or could it be pulled, was it built for
 * the engine's processor, and for the GPUs of its machine?
 *
 * What an image is built for is known once the engine has it; of one that would be pulled, the registry
 * tells the processors alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "base/text.h"
#include "core/finding.h"
#include "core/gpu_arch.h"
#include "platform/docker/docker_job.h"
#include "storage/image.h"

/* ---- GPUs ---------------------------------------------------------------------------------------- */

static void machine_archs(struct docker_api *api, struct sw_gpu_archs *out)
{
    char *const argv[] = { (char *)"nvidia-smi", (char *)"--query-gpu=compute_cap",
                           (char *)"--format=csv,noheader",
                           NULL };
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    sw_autofree char *far = NULL;
    int status = -1;

    if (api->endpoint.way != DOCKER_UNIX) {
        far = docker_ask_machine(api, "nvidia-smi --query-gpu=compute_cap --format=csv,noheader", "");
        sw_gpu_archs_add(out, far);
    } else if (sw_proc_ask(argv, "", &said, &status, NULL) == 0 && status == 0) {
        sw_gpu_archs_add(out, sw_buf_text(&said));
    }
}

static void check_gpus(struct docker_api *api, const json_t *image, json_t *rows)
{
    const json_t *config = json_object_get(image, "Config");
    struct sw_gpu_archs machine = { 0 }, built = { 0 };

    machine_archs(api, &machine);
    sw_gpu_archs_of_image(&built, json_object_get(config, "Env"));
    sw_gpu_arch_row(rows, &machine, &built, SW_GPU_ARCH_ALL,
                    "nvidia-smi does not answer on the engine's machine");
}

/* ---- the image ------------------------------------------------------------------------------------ */

/* As the registry lists them: of one image its own. Owned. */
static json_t *platforms_of(const json_t *inspected)
{
    return json_pack("[o]", sw_json_object(SW_STR("architecture", sw_json_str(inspected, "Architecture")),
                                           SW_STR("os", sw_json_str(inspected, "Os"))));
}

void docker_check_image(struct docker_api *api, const json_t *info, const struct docker_needs *needs,
                        const json_t *inspected, json_t *rows)
{
    const char *machine = sw_json_str(info, "Architecture");
    bool used = inspected && needs->policy != DOCKER_PULL_ALWAYS;
    bool missing = !used && needs->policy == DOCKER_PULL_NEVER;
    sw_auto(json) json_t *platforms = used ? platforms_of(inspected) : NULL;
    sw_autofree char *message = sw_format(
        "%s %s", needs->image, used ? "is there" : missing ? "is missing, and may not be pulled"
                                                           : "can be pulled");
    struct sw_error why = { 0 };

    if (!used && !missing && docker_image_reachable(api, needs->image, &platforms, &why) < 0) {
        sw_finding_error(rows, "image", &why);
        return;
    }
    sw_finding(rows, "image", !missing, message, "pull it there yourself, or use `pull: missing`");
    sw_image_processor_row(rows, needs->image, platforms, machine);
    if (needs->gpus && used)
        check_gpus(api, inspected, rows);
    else if (needs->gpus && !missing)
        sw_finding_open(rows, "GPU architecture", SW_STATE_NOT_CHECKED,
                        "the engine does not have the image yet: what it is built for is known after the "
                        "pull", NULL);
}
