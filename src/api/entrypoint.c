/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entrypoint.c - what a job would run inside a container, and the same as one script.
 *
 * The script should work anywhere, so the static runners are looked for first; a development build
 * without them puts its own runner in and says that it needs this machine's libraries.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/file.h"
#include "base/proc.h"
#include "core/runner_image.h"
#include "plan/entrypoint.h"

enum { RUNNER_MAX = 64 * 1024 * 1024, RUNNERS = 2 };

struct found_runners {
    struct sw_runner_bytes items[RUNNERS];
    size_t count;
    char *own;                   /* this build's runner, when there is no other */
};

static void found_runners_auto(struct found_runners *found)
{
    free(found->own);
}

static int find_runners(struct sw_session *session, struct found_runners *found,
                        struct sw_error *err)
{
    static const char *const arches[RUNNERS] = { "x86_64", "aarch64" };
    sw_autofree char *path = NULL;
    size_t size = 0;

    for (size_t i = 0; i < RUNNERS; i++) {
        const void *bytes = sw_embedded_runner(arches[i], &size, NULL);

        if (bytes)
            found->items[found->count++] = (struct sw_runner_bytes){ arches[i], bytes, size };
    }
    if (found->count > 0)
        return 0;
    api_warn(session, "this build has no static runner: the script carries one that needs the "
                      "libraries of this machine ('make static' builds the others)");
    path = sw_helper_path("slipway-runner", err);
    found->own = path ? sw_file_read(path, RUNNER_MAX, &size, err) : NULL;
    if (!found->own)
        return -1;
    found->items[found->count++] = (struct sw_runner_bytes){ NULL, found->own, size };
    return 0;
}

char *sw_entrypoint(struct sw_session *session, const struct sw_request *request, bool script,
                    struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_auto(sw_bundle) struct sw_bundle code = { 0 };
    __attribute__((cleanup(found_runners_auto))) struct found_runners runners = { 0 };
    sw_auto(sw_buf) struct sw_buf steps = SW_BUF_INIT, text = SW_BUF_INIT, ca = SW_BUF_INIT;
    sw_autofree char *what = NULL;

    if (api_plan_think(session, request, false, &made, err) < 0)
        return NULL;
    sw_plan_open_profiles(made.plan);
    payload = sw_entrypoint_payload(made.plan, err);
    if (!payload || (made.plan->code &&
         sw_bundle_code(made.plan->code, made.plan->base_dir, &code, &what, err) < 0) ||
        sw_payload_take_ca(payload, sw_plan_ca(made.plan), &ca, err) < 0)
        return NULL;
    sw_entrypoint_describe(&steps, payload);
    if (script) {
        if (find_runners(session, &runners, err) < 0)
            return NULL;
        sw_entrypoint_script(&text, payload, runners.items, runners.count,
                             code.bytes ? &code : NULL, &ca);
    }
    return api_document("entrypoint", sw_json_object(
        SW_STR("id", made.plan->job_id),
        SW_STR("steps", sw_buf_text(&steps)), SW_SUB("payload", sw_payload_to_json(payload)),
        SW_STR_OPT("code", what), SW_STR_OPT("script", text.data)));
}
