/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_file.c - main() of the released program: slipway and its helpers in one static file.
 *
 * Which of them it is, it learns from the name it was called by, as busybox does. A helper is
 * started from SW_PROC_SELF, the image that is running, so a job goes on undisturbed when the
 * program's file is replaced by a newer one or removed.
 */
#include <string.h>
#include <sys/prctl.h>

#include "base/proc.h"
#include "base/text.h"
#include "cli/cli.h"
#include "core/runner_image.h"
#include "hook/hook.h"
#include "platform/local/supervisor.h"
#include "runner/runner.h"
#include "watcher/main.h"

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} helpers[] = {
    { "slipway-supervisor", supervisor_main },
    { "slipway-runner", runner_main },
    { "slipway-hook", hook_main },
    { "slipway-watcher", watcher_main },
};

/* From runner_images.S. */
extern const char sw_runner_x86_64[], sw_runner_x86_64_end[];
extern const char sw_runner_aarch64[], sw_runner_aarch64_end[];

static void show_what_is_inside(void)
{
    sw_helpers_inside();
    sw_runner_image_inside("x86_64", sw_runner_x86_64,
                           (size_t)(sw_runner_x86_64_end - sw_runner_x86_64));
    sw_runner_image_inside("aarch64", sw_runner_aarch64,
                           (size_t)(sw_runner_aarch64_end - sw_runner_aarch64));
}

int main(int argc, char **argv)
{
    const char *called = argc > 0 ? argv[0] : "", *slash = strrchr(called, '/');

    show_what_is_inside();
    for (size_t i = 0; i < SW_COUNT(helpers); i++) {
        if (!sw_text_same(slash ? slash + 1 : called, helpers[i].name))
            continue;
        prctl(PR_SET_NAME, helpers[i].name);     /* the kernel would call it "exe" */
        return helpers[i].main(argc, argv);
    }
    return cli_main(argc, argv);
}
