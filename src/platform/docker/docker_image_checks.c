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

void docker_gpu_arch_row(json_t *rows, const struct sw_gpu_archs *machine, const struct sw_gpu_archs *image)
{
    sw_auto(sw_buf) struct sw_buf here = SW_BUF_INIT, built = SW_BUF_INIT, without = SW_BUF_INIT;
    struct sw_gpu_archs lacks = { 0 };
    bool fits = sw_gpu_archs_fit(machine, image, &lacks);
    sw_autofree char *message = NULL;

    sw_gpu_archs_text(machine, &here);
    sw_gpu_archs_text(image, &built);
    sw_gpu_archs_text(&lacks, &without);
    if (image->count == 0 || machine->count == 0) {
        sw_finding_open(rows, "GPU architecture", SW_STATE_NOT_CHECKED,
                        image->count == 0 ? "the image has no TORCH_CUDA_ARCH_LIST, so what it is built for "
                                            "is unknown"
                                          : "nvidia-smi does not answer on the engine's machine", NULL);
        return;
    }
    message = fits ? sw_format("%s: the image is built for %s", sw_buf_text(&here), sw_buf_text(&built))
                   : sw_format("the image is built for %s, and the machine has %s", sw_buf_text(&built),
                               sw_buf_text(&without));
    sw_finding(rows, "GPU architecture", fits, message, "use an image that is built for these GPUs");
}

static void check_gpus(struct docker_api *api, const json_t *image, json_t *rows)
{
    const json_t *config = json_object_get(image, "Config");
    struct sw_gpu_archs machine = { 0 }, built = { 0 };

    machine_archs(api, &machine);
    sw_gpu_archs_of_image(&built, json_object_get(config, "Env"));
    docker_gpu_arch_row(rows, &machine, &built);
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
