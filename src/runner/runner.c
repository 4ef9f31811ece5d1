/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner.c - the job as the phases see it: payload, place, and the storage client when it is needed.
 */
#include "runner/runner.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"

static const char *from_environment(const char *name)
{
    return getenv(name);
}

struct runner *runner_new(struct sw_payload *payload)
{
    struct runner *runner = sw_new(struct runner);

    runner->payload = payload;
    runner->config = payload->config ? json_deep_copy(payload->config) : NULL;
    runner->args = payload->args ? json_deep_copy(payload->args) : NULL;
    runner->staged = json_object();
    runner->only_collect = getenv("SLIPWAY_COLLECT_ONLY") != NULL;
    runner_scratch_init(&runner->scratch, payload, from_environment);
    /* Shared with the processes of the phases: they add, the first process reports. */
    runner->tally = mmap(NULL, sizeof *runner->tally, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (runner->tally == MAP_FAILED)
        abort();
    return runner;
}

void runner_free(struct runner *runner)
{
    if (!runner)
        return;
    sw_transfer_close(runner->client);
    sw_payload_free(runner->payload);
    runner_scratch_done(&runner->scratch);
    munmap(runner->tally, sizeof *runner->tally);
    json_decref(runner->config);
    json_decref(runner->args);
    json_decref(runner->outputs);
    json_decref(runner->argv);
    json_decref(runner->staged);
    free(runner->transfer_state);
    free(runner->payload_folder);
    free(runner->config_path);
    free(runner->command);
    free(runner->resume_from);
    free(runner);
}

/* What the plan says about its data counts before what this place says. */
static const char *setting(void *settings, const char *name)
{
    const char *sent = sw_json_str(settings, name);

    return sent ? sent : getenv(name);
}

struct sw_transfer_client *runner_transfers(struct runner *runner, struct sw_error *err)
{
    if (runner->client)
        return runner->client;
    if (!runner->transfer_state)
        runner->transfer_state = sw_path_join(runner->scratch.work_dir, ".slipway");
    runner->client = sw_transfer_open(
        &(struct sw_transfer_options){ .state_dir = runner->transfer_state,
                                    .storage = { .env = setting,
                                                 .env_context = runner->payload->settings } }, err);
    return runner->client;
}

char *runner_state_path(const struct runner *runner, const char *name)
{
    return sw_format("%s/.slipway/%s", runner->scratch.work_dir, name);
}

char *runner_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return sw_strdup(".");
    return slash != path ? sw_strndup(path, (size_t)(slash - path)) : sw_strdup("/");
}

char *runner_code_folder(const struct runner *runner)
{
    const char *to = sw_json_str(runner->payload->code, "to");

    return to ? sw_strdup(to) : sw_path_join(runner->scratch.work_dir, "code");
}

/* With code the command runs where the code is, or below. */
char *runner_command_folder(const struct runner *runner)
{
    const char *workdir = runner->payload->command_dir;
    sw_autofree char *code = NULL;

    if (!runner->payload->code)
        return sw_strdup(workdir);
    code = runner_code_folder(runner);
    return workdir ? sw_path_absolute(workdir, code) : sw_take(code);
}
