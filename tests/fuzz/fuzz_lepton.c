/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_lepton.c - any JSON as what Lepton answers: a job, a page of a log, lists of groups, shapes and
 * nodes; and any bytes as a saved login. One of our states, every text ended, lines in order.
 */
#include <string.h>

#include "fuzz.h"
#include "core/state.h"
#include "platform/kit/log_pages.h"
#include "platform/lepton/lepton_internal.h"

static void read_job(const json_t *given)
{
    struct sw_observation seen = { .job = { .id = "j", .attempt = 1 } };

    lepton_read(given, &seen);
    CLAIM(seen.presence == SW_PRESENT);
    CLAIM(strnlen(seen.message, sizeof seen.message) < sizeof seen.message);
    CLAIM(strnlen(seen.reason, sizeof seen.reason) < sizeof seen.reason);
    CLAIM(strnlen(seen.node, sizeof seen.node) < sizeof seen.node);
    CLAIM(seen.state != SW_COMPLETE || seen.exit_code == 0);
    (void)lepton_stuck_reason(&seen, 1, INT64_MAX / 2);
    sw_observation_done(&seen);
}

static void read_page(const json_t *given)
{
    size_t count = 0;
    sw_autofree struct sw_log_line *lines = sw_log_page_lines(given, &count);
    sw_auto(json) json_t *reports = sw_log_page_reports(given, "j");
    int64_t lost, next;

    for (size_t i = 0; i < count; i++)
        CLAIM(lines[i].text && lines[i].at_ns > 0 && (i == 0 || lines[i - 1].at_ns <= lines[i].at_ns));
    next = sw_log_page_next(lines, count, 2, &lost);
    CLAIM((count < 2) == (next == 0));
    CLAIM(!lost || next == lost + 1);
    CLAIM(json_is_object(reports));
}

static void choose(const json_t *given)
{
    struct sw_plan plan = { .gpus = 1, .nodes = 1 };
    sw_auto(json) json_t *nodes = lepton_nodes_but(given, given, given, NULL);
    sw_auto(json) json_t *mount = NULL;
    const json_t *shape = lepton_shape_of(given, &plan, "g", NULL), *volume;

    CLAIM(!shape || lepton_meta(shape, "id"));
    CLAIM(!nodes || json_array_size(nodes) > 0);
    (void)lepton_group_of(given, "g", NULL);
    (void)lepton_arch_of(given);
    (void)lepton_replica(given, "j", 0);
    volume = lepton_volume_of(given);
    if (volume)
        mount = lepton_mount_of(volume, given, &(struct lepton_wanted){ 0 }, NULL);
    CLAIM(!mount || sw_json_str(mount, "mount_path"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(json) json_t *given = json_loadb((const char *)data, size, 0, NULL);
    sw_auto(sw_secret) struct sw_secret *token = NULL;
    sw_auto(json) json_t *login = lepton_saved_login((const char *)data, size, NULL, &token);

    CLAIM(login || !token);
    if (given) {
        read_job(given);
        read_page(given);
        choose(given);
    }
    return 0;
}
