/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_fixture.c - the fixture of local_fixture.h. Every wait has a deadline; closing cancels what
 * still runs, sweeps what carries the mark, and fails the test if anything is left.
 */
#include "local_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/id.h"
#include "platform/local/local_internal.h"

enum { DEADLINE_MS = 60000 };

int fixture_open(void **state)
{
    struct fixture *here = sw_new(struct fixture);
    struct sw_connect_options config = { 0 };

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-test-XXXXXX");
    if (!mkdtemp(here->folder))
        return -1;
    setenv("SLIPWAY_GPU_LEASE_DIR", here->folder, 1);
    config.state_dir = here->folder;
    here->conn = sw_platform_local.open(&config, NULL);
    here->plan = sw_new(struct sw_plan);
    here->plan->name = sw_strdup("test");
    here->plan->platform = sw_strdup("local");
    here->plan->base_dir = sw_strdup(here->folder);
    here->plan->nodes = 1;
    here->plan->grace_ms = 3000;
    here->plan->env = json_object();
    here->plan->secrets = json_array();
    here->plan->inputs = json_array();
    here->plan->outputs = json_array();
    here->plan->options = json_object();
    here->secrets = sw_secrets_new();
    *state = here;
    return 0;
}

static int end_job(struct fixture *here, const char *id)
{
    int left = 0;

    for (int attempt = local_newest_attempt(here->conn, id); attempt > 0; attempt--) {
        sw_autofree char *folder = local_attempt_folder(here->conn, id, attempt);
        struct sw_jobref job = { .id = id, .attempt = attempt };

        sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL);
        left += !local_tree_sweep(folder, 0);
    }
    return left;
}

int fixture_close(void **state)
{
    struct fixture *here = *state;
    DIR *jobs = opendir(local_of(here->conn)->root);
    int left = 0;

    for (struct dirent *entry; jobs && (entry = readdir(jobs));)
        if (sw_id_valid(entry->d_name))
            left += end_job(here, entry->d_name);
    if (jobs)
        closedir(jobs);
    sw_remove_tree(here->folder, NULL);
    sw_platform_local.close(here->conn);
    sw_plan_free(here->plan);
    sw_secrets_free(here->secrets);
    sw_observation_done(&here->seen);
    free(here);
    return left ? -1 : 0;
}

void fixture_command(struct fixture *here, const char *command)
{
    free(here->plan->command);
    here->plan->command = sw_strdup(command);
    snprintf(here->plan->job_id, sizeof here->plan->job_id, "test-job%05d", ++here->jobs);
}

void fixture_submit(struct fixture *here)
{
    struct sw_submission receipt = { 0 };
    struct sw_error err = { 0 };

    if (sw_platform_local.submit(here->conn, here->plan, 1, here->secrets, &receipt, &err) < 0)
        fail_msg("submit: %s", err.message);
    json_decref(receipt.details);
    free(receipt.results_dir);
}

const char *fixture_launch(struct fixture *here, const char *command)
{
    fixture_command(here, command);
    fixture_submit(here);
    memcpy(here->id, here->plan->job_id, sizeof here->id);
    return here->id;
}

struct sw_jobref fixture_ref(const char *id)
{
    return (struct sw_jobref){ .id = id, .attempt = 1 };
}

void fixture_evidence(struct fixture *here, const struct sw_jobref *job, struct sw_evidence *out)
{
    struct sw_observation seen = here->seen;
    const struct sw_observation *const known = &seen;

    seen.job = *job;
    *out = sw_evidence_of(&seen);
    sw_platform_local.evidence(here->conn, &known, out, 1, SW_NO_DEADLINE);
}

struct sw_observation *fixture_look(struct fixture *here, const char *id)
{
    sw_observation_done(&here->seen);
    here->seen = (struct sw_observation){ .job = fixture_ref(id), .exit_code = SW_NO_EXIT_CODE,
                                       .failed_replica = -1 };
    assert_int_equal(sw_platform_local.observe(here->conn, &here->seen, 1, NULL), 0);
    sw_platform_local.reconcile(here->conn, &here->seen, 1);
    return &here->seen;
}

void fixture_wait_state(struct fixture *here, const char *id, enum sw_state state)
{
    int64_t deadline = sw_monotonic_ms() + DEADLINE_MS;

    while (fixture_look(here, id)->state != state) {
        if (sw_monotonic_ms() > deadline || sw_state_is_final(here->seen.state))
            fail_msg("%s is %s (%s: %s), not %s", id, sw_state_name(here->seen.state),
                     here->seen.reason, here->seen.message, sw_state_name(state));
        sw_sleep_ms(5);
    }
}

void fixture_wait_over(struct fixture *here, const char *id)
{
    int64_t deadline = sw_monotonic_ms() + DEADLINE_MS;

    while (!sw_state_is_final(fixture_look(here, id)->state)) {
        if (sw_monotonic_ms() > deadline)
            fail_msg("%s does not end: %s (%s)", id, sw_state_name(here->seen.state),
                     here->seen.message);
        sw_sleep_ms(5);
    }
}

void fixture_wait_file(const char *path)
{
    int64_t deadline = sw_monotonic_ms() + DEADLINE_MS;

    while (!sw_file_exists(path)) {
        if (sw_monotonic_ms() > deadline)
            fail_msg("'%s' never appears", path);
        sw_sleep_ms(5);
    }
}

char *fixture_log(struct fixture *here, const char *id, int rank)
{
    struct sw_jobref job = fixture_ref(id);
    char *text = sw_alloc(1 << 20);

    if (sw_platform_local.log_read(here->conn, &job, rank, 0, text, (1 << 20) - 1, NULL) < 0)
        fail_msg("cannot read the log of %s", id);
    return text;
}

char *fixture_file(struct fixture *here, const char *id, const char *name)
{
    return sw_format("%s/local/%s/%s", here->folder, id, name);
}

int fixture_marked(struct fixture *here, const char *id)
{
    sw_autofree char *folder = local_attempt_folder(here->conn, id, 1);
    sw_auto(local_processes) struct local_processes alive = { 0 };

    local_tree_marked(folder, &alive);
    return (int)alive.count;
}

void fixture_option(struct fixture *here, const char *key, json_t *value)
{
    json_object_set_new(here->plan->options, key, value);
}
