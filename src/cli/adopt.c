/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.c - `slipway adopt ID|URI...`: take over jobs that this store never saw.
 *
 * A job's URI is PLATFORM://PROFILE/ID. The profile says which of several places of that platform
 * is meant and may be empty: local:///train-k3v9q2xa. As the id is unique everywhere, it may also
 * be all that follows the slashes: rehearsal://train-k3v9q2xa.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/cli_generic_table.h"

struct adopt_options {
    const char *platform;
    bool trust_plan, list;
};

static const struct cli_flag adopt_flags[] = {
    { "platform", 'p', "NAME", "where it runs; a URI names it itself", cli_apply_text,
      offsetof(struct adopt_options, platform) },
    { "trust-plan", 0, NULL, "accept its plan although you did not sign it",
      cli_apply_bool, offsetof(struct adopt_options, trust_plan) },
    { "list", 0, NULL, "show the jobs that can be adopted, and change nothing", cli_apply_bool,
      offsetof(struct adopt_options, list) },
    { 0 }
};

/* A job's address taken apart; owned. */
struct adopt_address {
    char *platform, *profile, *id;
};

static void address_auto(struct adopt_address *address)
{
    free(address->platform);
    free(address->profile);
    free(address->id);
}

static int read_address(const char *text, const char *platform, struct adopt_address *out,
                        struct sw_error *err)
{
    const char *place = strstr(text, "://"), *id;

    if (!place) {
        out->platform = sw_strdup(platform);
        out->id = sw_strdup(text);
    } else {
        id = strrchr(place + 3, '/');
        out->platform = sw_strndup(text, (size_t)(place - text));
        if (id && id > place + 3)
            out->profile = sw_strndup(place + 3, (size_t)(id - place - 3));
        out->id = sw_strdup(id ? id + 1 : place + 3);
    }
    if (sw_text_empty(out->platform)) {
        sw_fail(err, SW_E_USAGE, "where does '%s' run?", text);
        return sw_hint(err, "name the platform: slipway adopt %s -p local", text);
    }
    if (sw_text_empty(out->id))
        return sw_fail(err, SW_E_USAGE, "'%s' is not a job URI (PLATFORM://PROFILE/ID)", text);
    if (platform && !sw_text_same(platform, out->platform))
        return sw_fail(err, SW_E_USAGE, "'%s' is a job of %s, not of %s", text, out->platform,
                       platform);
    return 0;
}

/* A session belongs to one profile: another one needs another session. */
static int choose_profile(struct cli *cli, const struct adopt_address *address, struct sw_error *err)
{
    if (address->profile && !sw_text_same(cli->profile, address->profile)) {
        if (cli->session) {
            sw_fail(err, SW_E_USAGE, "'%s' belongs to another profile than the jobs before it",
                    address->id);
            return sw_hint(err, "adopt it with a separate command");
        }
        cli->profile = address->profile;
    }
    return cli_session(cli, err) ? 0 : -1;
}

static int adopt_one(struct cli *cli, const struct adopt_address *address, bool trust,
                     struct sw_error *err)
{
    sw_auto(json) json_t *job = NULL;

    if (choose_profile(cli, address, err) < 0)
        return -1;
    if ((trust ? sw_adopt_trusting : sw_adopt)(cli->session, address->platform, address->id, err) < 0)
        return sw_wrap(err, "cannot adopt '%s'", address->id);
    job = cli_document(sw_status(cli->session, address->id, SW_LOOK_REFRESH, NULL), NULL);
    cli_say_job(cli, address->id, "adopted from %s: %s", address->platform,
                sw_state_name(cli_job_state(job)));
    cli_printf("%s\n", address->id);
    return 0;
}

static int list_them(struct cli *cli, const char *platform, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *document = NULL;
    const json_t *jobs;

    if (!cli_session(cli, err))
        return -1;
    document = cli_document(sw_adoptable(cli->session, platform, err), err);
    if (!document)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    jobs = json_object_get(document, "jobs");
    if (json_array_size(jobs) == 0) {
        cli_say(cli, "every job found is already in this store");
        return 0;
    }
    cli_generic_table(&out, cli, jobs);
    cli_print(sw_buf_text(&out));
    return 0;
}

static int adopt_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct adopt_options *options = args->options;

    if (options->list && args->word_count == 0)
        return list_them(cli, options->platform, err);
    if (options->list || args->word_count == 0) {
        sw_fail(err, SW_E_USAGE, options->list ? "--list takes no job" : "no job given");
        return sw_hint(err, "'slipway adopt --list' shows the jobs; 'slipway adopt ID -p PLATFORM' "
                            "imports one");
    }
    for (size_t i = 0; i < args->word_count; i++) {
        __attribute__((cleanup(address_auto))) struct adopt_address address = { 0 };
        const char *profile = cli->profile;
        int rc = read_address(args->words[i], options->platform, &address, err);

        if (rc == 0)
            rc = adopt_one(cli, &address, options->trust_plan, err);
        cli->profile = profile;
        if (rc < 0)
            return -1;
    }
    return 0;
}

const struct command command_adopt = {
    .name = "adopt",
    .args = "[ID|URI...]",
    .summary = "import jobs submitted from elsewhere",
    .description =
        "Import a job into this store as if it had been submitted from here: status, logs, cancel and "
        "results work. --list shows the jobs of a platform (-p; otherwise of all that are set up) "
        "that this store does not know. A job is found on its platform by its id alone, from any "
        "machine with the same credentials. A URI is PLATFORM://PROFILE/ID; the profile may be empty "
        "(local:///ID) or left out (rehearsal://ID). A job that is already known stays as it is. The "
        "plan a job was submitted with is stored where it runs, so it is used only if you signed it "
        "(~/.config/slipway/plan.key): otherwise its hooks, secrets and paths of this machine are "
        "dropped and it is not retried, unless --trust-plan is given.",
    .example = "slipway adopt --list -p slurm\n"
               "slipway adopt train-k3v9q2xa -p local\nslipway adopt local:///train-k3v9q2xa",
    .flags = adopt_flags,
    .options_size = sizeof(struct adopt_options),
    .shared = { cli_output_document },
    .max_args = CLI_MANY,
    .run = adopt_run,
};
