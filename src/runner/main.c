/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - `slipway-runner MODE [options] PAYLOAD`: the program inside the job's container.
 *
 *     prepare   code, inputs, output folders, config file
 *     run       the user's command; exits with its code (128+n for signal n)
 *     collect   outputs to their destinations
 *     all       the three in one, as a container's first process
 *     verdict   what a failure was (verdict.c); has no payload
 *     list      what is in a folder (list.c); has no payload
 *     pack      a folder, or one thing in it, as a tar on standard output (pack.c); likewise
 *     place     a tar on standard input as a file or folder (place.c); likewise
 *     port      a connection to a port of this place (port.c); likewise
 *     wait      for ever, in a container that shows files (pack.c); likewise
 *     install   this file, as another one (main.c); likewise
 *     beside    a command that sees what the job sees (beside.c); has no payload
 *     relay     the log of a runner elsewhere, and its end as ours (relay.c); likewise
 *
 * `--under ray` says that no container ends with us (under_ray.c).
 *
 * The report is a small JSON file for our caller: an exit code cannot say whether 137
 * was the command's own or a signal's, and has no words (core/report.h).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "core/report.h"
#include "net/trust.h"
#include "runner/archive.h"
#include "runner/runner.h"

enum { PAYLOAD_MAX = 8 * 1024 * 1024, SELF_MAX = 16 * 1024 * 1024 };

struct runner_call {                          /* the command line */
    const struct runner_mode *mode;
    const char *report, *report_only, *secrets_file, *taken_secrets, *mounted_secrets, *cleanup, *payload;
    const char *under, *start_by, *sealed;
    int secrets_fd;
};

static int mode_prepare(struct runner *runner, struct runner_result *result,
                        struct sw_error *err)
{
    runner->alone = true;
    result->exit_code = runner_prepare(runner, err) < 0 || runner_probe(runner, err) < 0 ? RUNNER_IO : 0;
    if (runner->tally->probing)
        result->failed = "probe";
    return result->exit_code ? -1 : 0;
}

static int mode_run(struct runner *runner, struct runner_result *result, struct sw_error *err)
{
    runner->only_command = true;
    if (runner->payload->only_data)
        return result->exit_code = 0;
    return runner_load_prepared(runner, err) < 0 ? -1 : runner_run(runner, result, err);
}

/* Our caller knows how the command ended. */
static int mode_collect(struct runner *runner, struct runner_result *result,
                        struct sw_error *err)
{
    const char *code = getenv("SLIPWAY_EXIT_CODE");
    const struct runner_result ended = { .exit_code = code ? atoi(code) : 0 };

    runner->alone = true;
    if (runner->payload->only_data)
        return result->exit_code = 0;
    if (runner_load_prepared(runner, err) < 0)
        return -1;
    result->exit_code = 0;
    runner->scratch.rank = runner_rank_count();
    while (--runner->scratch.rank >= 0 && result->exit_code == 0)      /* all ranks are here, and over */
        result->exit_code = runner_sync(runner, &ended, 0, err) < 0 ? RUNNER_IO : 0;
    runner->scratch.rank = 0;
    return result->exit_code ? -1 : 0;
}

static const struct runner_mode {
    const char *name;
    int (*go)(struct runner *runner, struct runner_result *result, struct sw_error *err);
} modes[] = {
    { "prepare", mode_prepare },
    { "run", mode_run },
    { "collect", mode_collect },
    { "all", runner_all_phases },
};

/* The text of a payload in the environment, owned; the command does not see it. */
static char *take_variable(size_t *length, struct sw_error *err)
{
    char *text = sw_strdup(getenv(SW_PAYLOAD_VARIABLE));

    unsetenv(SW_PAYLOAD_VARIABLE);
    unsetenv(SW_PLAN_VARIABLE);
    if (!text)
        sw_fail(err, SW_E_USAGE, SW_PAYLOAD_VARIABLE " is not set");
    *length = text ? strlen(text) : 0;
    return text;
}

static struct sw_payload *read_payload(const char *path, struct sw_error *err)
{
    size_t length = 0;
    sw_autofree char *text = strcmp(path, SW_PAYLOAD_IN_VARIABLE) == 0
                                 ? take_variable(&length, err)
                                 : sw_file_read(path, PAYLOAD_MAX, &length, err);
    sw_auto(json) json_t *json = text ? sw_json_parse(text, length, path, err) : NULL;

    return json ? sw_payload_from_json(json, err) : NULL;
}

/* Before the payload was read we know no more about ourselves than this. */
static json_t *least_report(const struct runner_result *result, const struct sw_error *err)
{
    return sw_json_object(SW_INT("exit_code", result->exit_code), SW_INT("signal", result->signal),
                          SW_STR_OPT("message", err->code ? err->message : NULL),
                          SW_STR_OPT("error", err->code ? sw_code_name(err->code) : NULL));
}

static int usage(void)
{
    sw_auto(sw_buf) struct sw_buf codecs = SW_BUF_INIT;

    archive_codecs_describe(&codecs);
    fprintf(stderr,
            "usage: slipway-runner prepare|run|collect|all [--report FILE | --report-only FILE]\n"
            "                      [--secrets FILE | --take-secrets FILE | --mounted-secrets FILE |\n"
            "                       --secrets-fd NUMBER | --sealed-secrets wait]\n"
            "                      [--under ray] [--start-by MILLISECONDS]\n"
            "                      [--cleanup FOLDER] PAYLOAD\n"
            "       slipway-runner verdict [--exit CODE] [--reason WORD] [--gpus COUNT]\n"
            "                      [--on CAUSES] [--report FILE] [--log FILE:FROM]...\n"
            "       slipway-runner list FOLDER FILE|-\n"
            "       slipway-runner pack FOLDER [NAME]\n"
            "       slipway-runner place PATH NAME\n"
            "       slipway-runner port PORT\n"
            "       slipway-runner wait\n"
            "       slipway-runner install FILE\n"
            "       slipway-runner beside [TERM=NAME] NAME=VALUE COMMAND...\n"
            "       slipway-runner relay --report FILE JOB COMMAND...\n"
            "       slipway-runner --version\n"
            "archives: tar, zip; packed with %s\n", sw_buf_text(&codecs));
    return RUNNER_USAGE;
}

static int read_call(int argc, char **argv, struct runner_call *call)
{
    int i = 2;

    *call = (struct runner_call){ .secrets_fd = -1 };
    for (size_t m = 0; argc > 1 && m < SW_COUNT(modes); m++)
        if (strcmp(argv[1], modes[m].name) == 0)
            call->mode = &modes[m];
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "--report") == 0)
            call->report = argv[i + 1];
        else if (strcmp(argv[i], "--report-only") == 0)
            call->report = call->report_only = argv[i + 1];
        else if (strcmp(argv[i], "--secrets") == 0)
            call->secrets_file = argv[i + 1];
        else if (strcmp(argv[i], "--take-secrets") == 0)
            call->taken_secrets = argv[i + 1];
        else if (strcmp(argv[i], "--mounted-secrets") == 0)
            call->mounted_secrets = argv[i + 1];
        else if (strcmp(argv[i], "--cleanup") == 0)
            call->cleanup = argv[i + 1];
        else if (strcmp(argv[i], "--under") == 0)
            call->under = argv[i + 1];
        else if (strcmp(argv[i], "--start-by") == 0)
            call->start_by = argv[i + 1];
        else if (strcmp(argv[i], "--sealed-secrets") == 0)
            call->sealed = argv[i + 1];
        else if (strcmp(argv[i], "--secrets-fd") == 0)
            call->secrets_fd = atoi(argv[i + 1]);
        else
            return -1;
    }
    call->payload = i + 1 == argc ? argv[i] : NULL;
    return call->mode && call->payload ? 0 : -1;
}

/* The certificates that came with the job lie beside the payload. */
static int trust(const struct runner *runner, struct sw_error *err)
{
    sw_autofree char *path = runner->payload->ca
                                 ? sw_path_join(runner->payload_folder, runner->payload->ca) : NULL;

    return sw_trust_job(path, err);
}

static int go(const struct runner_call *call, struct runner_result *result, json_t **report,
              struct sw_error *err)
{
    struct sw_payload *payload = read_payload(call->payload, err);
    sw_auto(runner) struct runner *runner = payload ? runner_new(payload) : NULL;
    sw_autofd int taken = call->secrets_fd;      /* closed behind us: the command must not find it */
    int outcome;

    if (!runner)
        return -1;
    runner->payload_folder = runner_folder_of(call->payload);
    runner->report_in_log = !call->report_only;
    runner->report_file = call->mode->go == runner_all_phases ? call->report : NULL;
    if (runner_sees_ranks(runner) && !payload->peers && runner_rank_count() > 1)
        payload->peers = runner_folder_of(runner->report_file);
    if (call->taken_secrets && (taken = runner_open_secrets(call->taken_secrets, err)) < 0)
        return -1;
    if (call->mounted_secrets && (taken = open(call->mounted_secrets, O_RDONLY | O_CLOEXEC)) < 0)
        return sw_fail_errno(err, SW_E_CREDENTIAL, "cannot read the secrets in '%s'", call->mounted_secrets);
    if (runner_check_start(call->start_by, err) < 0 ||
        (call->sealed && (taken = runner_unseal_secrets(payload->job_id, err)) < 0))
        return -1;
    if (call->under)
        runner_begin_under_ray(call->start_by);
    if (runner_take_secrets(payload, call->secrets_file, taken, err) < 0 || trust(runner, err) < 0)
        return -1;
    if (taken >= 0) {
        close(taken);
        taken = -1;
    }
    outcome = call->mode->go(runner, result, err);
    if (outcome < 0 && !result->failed)
        result->failed = call->mode->name;
    if (call->report)
        *report = runner_report(runner, call->mode->go == runner_all_phases ? "over" : call->mode->name,
                                result, err);
    return outcome;
}

/* Where the platform alone knows the rank, SLIPWAY_RANK_FROM names its variable for it. */
static void take_rank(void)
{
    const char *from = getenv("SLIPWAY_RANK_FROM"), *rank = from ? getenv(from) : NULL;

    if (rank)
        setenv("NODE_RANK", rank, 1);
}

/* On both streams: a kubelet reads them independently, and either may come first. */
static void mark_beginning(void)
{
    static const char line[] = SW_REPORT_BEGIN "\n";

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        sw_write_all(fd, line, sizeof line - 1);
}

/* This very file, to where a container without it finds it. */
static int install(const char *to)
{
    size_t length = 0;
    sw_autofree char *own = sw_file_read("/proc/self/exe", SELF_MAX, &length, NULL);

    return own && sw_file_write(to, own, length, 0755, NULL) == 0 ? 0 : RUNNER_IO;
}

int runner_main(int argc, char **argv)
{
    struct runner_result result = { .exit_code = RUNNER_IO, .failed_peer = -1 };
    sw_auto(json) json_t *report = NULL;
    struct sw_error err = { 0 };
    struct runner_call call;

    if (argc > 1 && strcmp(argv[1], "verdict") == 0)
        return runner_verdict(argc, argv);
    if (argc == 4 && strcmp(argv[1], "list") == 0)
        return runner_list(argv[2], argv[3]);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "pack") == 0)
        return runner_pack(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "place") == 0)
        return runner_place(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "port") == 0)
        return runner_port(argv[2]);
    if (argc == 3 && strcmp(argv[1], "install") == 0)
        return install(argv[2]);
    if (argc == 2 && strcmp(argv[1], "wait") == 0)
        return runner_wait();
    if (argc > 3 && strcmp(argv[1], "beside") == 0)
        return runner_beside(argv[2], argv + 3);
    if (argc > 5 && strcmp(argv[1], "relay") == 0 && strcmp(argv[2], "--report") == 0) {
        mark_beginning();
        return runner_relay(argv[3], argv[4], argv + 5);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return puts("slipway-runner " SW_VERSION) < 0 ? RUNNER_IO : 0;
    if (read_call(argc, argv, &call) < 0)
        return usage();
    sw_secrets_guard();
    take_rank();
    signal(SIGXFSZ, SIG_IGN);            /* a file that grew too large is an error, not our end */
    if (call.mode->go == runner_all_phases)
        runner_block_signals();          /* as the first process we would miss them */
    if (call.report && strcmp(call.report, SW_REPORT_TO_KUBELET) == 0)
        mark_beginning();
    if (go(&call, &result, &report, &err) < 0) {
        runner_log("%s", err.message);
        if (err.hint[0])
            runner_log("%s", err.hint);
    }
    if (!report)
        report = least_report(&result, &err);
    if (call.report)
        runner_leave_report(call.report, report);
    if (call.cleanup)
        sw_remove_tree(call.cleanup, NULL);      /* what brought us here is not needed again */
    return result.exit_code;
}
