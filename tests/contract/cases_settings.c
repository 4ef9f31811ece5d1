/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_settings.c - the settings of this machine reach the job's data wherever it runs; and what a server
 * of data answers has one cause everywhere.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/text.h"
#include "bucket.h"
#include "cases.h"

static const char *const names[] = {
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_REGION",
    "AWS_PROFILE", "ACCESS_KEY", "SECRET_KEY",
};

static void forget_settings(void)
{
    for (size_t i = 0; i < SW_COUNT(names); i++)
        unsetenv(names[i]);
}

/* Where a container has a network of its own it is given this machine's. */
static struct sw_request *job_with(struct trial *here, const char *text)
{
    struct sw_request *made = sw_request_new();
    struct sw_error err = { 0 };

    expect_ok(sw_request_text(made, text, strlen(text), "yaml", "contract.yaml", &err), &err, "job file");
    set_common(here, made);
    set(made, "retry.max", "0");
    if (strcmp(here->fixture->name, "docker") == 0)
        set(made, "docker.network", "host");
    if (strcmp(here->fixture->name, "brev") == 0)
        set(made, "brev.network", "host");
    if (strcmp(here->fixture->name, "kubernetes") == 0)
        set(made, "kubernetes.host_network", "true");
    return made;
}

/* Variables by their names: some platforms keep the command itself in a variable. */
static const char both_ways[] =
    "name: settings\n"
    "command: tr a-z A-Z </data/in.txt >/results/made.txt; env | grep -c -e '^[A-Z_]*SECRET_ACCESS' "
    "-e '^[A-Z_]*SESSION_TOKEN' >/results/seen.txt || true\n"
    "inputs: {/data/in.txt: 's3://here/in.txt'}\n"
    "outputs: {/results: {to: 's3://here/out/'}}\n";

static void expect_object(struct bucket *bucket, const char *name, const char *content)
{
    sw_autofree char *found = bucket_object(bucket, name);

    if (!found)
        fail_msg("'%s' did not arrive", name);
    assert_string_equal(found, content);
}

static void expect_both_ways(struct trial *here, struct bucket *bucket, const char *job)
{
    if (wait_until_over(here, job) != 0) {
        struct log log = read_log(here, job, -1, false);

        fail_msg("the job failed: %s", log.bytes ? log.bytes : "");
    }
    expect_object(bucket, "out/made.txt", "HELLO\n");
    expect_object(bucket, "out/seen.txt", "0\n");
    assert_int_equal(bucket_refused(bucket), 0);
}

/* The session token is the canary: it may be nowhere but on the wire. */
static void variables_reach_the_data_of_every_attempt(void **state)
{
    struct trial *here = *state;
    struct bucket *bucket = bucket_open("AKIAHERE", "eu-test-7", canary_value(here->canary));
    struct sw_error err = { 0 };
    int attempt = 0;
    const char *job;

    setenv("AWS_ACCESS_KEY_ID", "AKIAHERE", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "signs-requests", 1);
    setenv("AWS_SESSION_TOKEN", canary_value(here->canary), 1);
    setenv("AWS_ENDPOINT_URL", bucket_address(bucket), 1);
    setenv("AWS_REGION", "eu-test-7", 1);
    job = send_request(here, job_with(here, both_ways));
    expect_both_ways(here, bucket, job);
    /* The next attempt goes to the same server, whatever the environment says by then. */
    setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9", 1);
    unsetenv("AWS_REGION");
    expect_ok(sw_retry(here->session, job, false, &attempt, &err), &err, "retry");
    expect_both_ways(here, bucket, job);
    forget_settings();
    bucket_close(bucket);
}

static void a_profile_reaches_the_data(void **state)
{
    struct trial *here = *state;
    struct bucket *bucket = bucket_open("AKIAPROFILE", "ap-test-1", "of-the-profile");
    sw_autofree char *folder = sw_format("%s/.aws", getenv("HOME"));
    sw_autofree char *keys = sw_format("%s/credentials", folder), *file = sw_format("%s/config", folder);
    sw_autofree char *config = sw_format("[profile team]\nregion = ap-test-1\nendpoint_url = %s\n",
                                         bucket_address(bucket));

    mkdir(folder, 0700);
    write_text(keys, "[team]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = x\n"
                     "aws_session_token = of-the-profile\n");
    write_text(file, config);
    setenv("AWS_PROFILE", "team", 1);
    expect_both_ways(here, bucket, send_request(here, job_with(here, both_ways)));
    forget_settings();
    bucket_close(bucket);
}

/* ---- what a server answers ----------------------------------------------------------------------- */

static void expect_cause(struct trial *here, const char *job, const char *cause, const char *says,
                         const char *advises)
{
    sw_autofree char *wanted = sw_format("\"cause\":\"%s\"", cause);
    sw_auto(json) json_t *seen = NULL;
    char *why;

    assert_int_equal(wait_until_over(here, job), 74);
    seen = status(here, job);
    if (!strstr(text_of(seen, "message"), says))
        fail_msg("%s: %s", says, text_of(seen, "message"));
    why = sw_failure_analysis(here->session, job, NULL);
    assert_non_null(why);
    if (!strstr(why, wanted) || !strstr(why, advises) || !strstr(why, "ERR_PROGRAM"))
        fail_msg("%s, %s: %s", cause, advises, why);
    sw_text_free(why);
}

static void what_a_data_server_refuses_has_one_cause(void **state)
{
    static const struct { const char *job, *key, *cause, *says, *advises; } rows[] = {
        { "inputs: {/x: 's3://here/none'}", "AKIAHERE", "user", "nothing at", "does not exist" },
        { "inputs: {/x: 's3://elsewhere/none'}", "AKIAHERE", "user", "NoSuchBucket", "does not exist" },
        { "inputs: {/x: 's3://here/in.txt'}", "AKIAOTHER", "user", "denied", "may read" },
        { "outputs: {/results: {to: 's3://elsewhere/x/'}}", "AKIAHERE", "storage", "NoSuchBucket",
          "'outputs:'" },
        { "outputs: {/results: {to: 's3://here/x/'}}", "AKIAOTHER", "storage", "AccessDenied",
          "may write there" },
    };
    struct trial *here = *state;
    struct bucket *bucket = bucket_open("AKIAHERE", "us-east-1", NULL);

    setenv("AWS_SECRET_ACCESS_KEY", "signs-requests", 1);
    setenv("AWS_ENDPOINT_URL", bucket_address(bucket), 1);
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *text = sw_format("name: settings\ncommand: echo x >/results/x\n%s\n",
                                           rows[i].job);

        setenv("AWS_ACCESS_KEY_ID", rows[i].key, 1);
        expect_cause(here, send_request(here, job_with(here, text)), rows[i].cause, rows[i].says,
                     rows[i].advises);
    }
    forget_settings();
    bucket_close(bucket);
}

/* ---- before a launch ------------------------------------------------------------------------------ */

/* The row of a report; fails without it. Borrowed. */
static const json_t *row_of(const json_t *report, const char *check)
{
    const json_t *each, *rows = json_object_get(report, "checks");
    size_t i;

    json_array_foreach(rows, i, each)
        if (strcmp(text_of(each, "check"), check) == 0)
            return each;
    fail_msg("no row '%s'", check);
    return NULL;
}

static json_t *preflight_there(struct trial *here, const char *text)
{
    struct sw_request *made = job_with(here, text);
    struct sw_error err = { 0 };
    char *said = sw_preflight_there(here->session, made, &err);
    json_t *report;

    sw_request_free(made);
    if (!said)
        fail_msg("preflight: %s", err.message);
    canary_heard(here->canary, "sw_preflight_there", said);
    report = json_loads(said, 0, NULL);
    sw_text_free(said);
    return report;
}

static void expect_no_job(struct trial *here)
{
    struct sw_error err = { 0 };
    char *said = sw_list(here->session, NULL, &err);
    sw_auto(json) json_t *list = said ? json_loads(said, 0, NULL) : NULL;

    sw_text_free(said);
    assert_int_equal(json_array_size(json_object_get(list, "jobs")), 0);
}

/* By a job there that is gone afterwards; one thing that is wrong hides no other. */
static void data_is_tried_from_where_a_job_will_run(void **state)
{
    static const struct { const char *check, *state, *says; } rows[] = {
        { "input s3://here/in.txt", "ok", "from where the job runs" },
        { "input s3://here/none", "failed", "nothing found" },
        { "output s3://here/out/", "ok", "from where the job runs" },
        { "output s3://elsewhere/x/", "failed", "NoSuchBucket" },
    };
    struct trial *here = *state;
    struct bucket *bucket = bucket_open("AKIAHERE", "us-east-1", canary_value(here->canary));
    sw_auto(json) json_t *report = NULL;

    setenv("AWS_ACCESS_KEY_ID", "AKIAHERE", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "signs-requests", 1);
    setenv("AWS_SESSION_TOKEN", canary_value(here->canary), 1);
    setenv("AWS_ENDPOINT_URL", bucket_address(bucket), 1);
    report = preflight_there(here,
        "name: settings\ncommand: echo ran >/results/made.txt\n"
        "inputs: {/data/in.txt: 's3://here/in.txt', /data/b: 's3://here/none'}\n"
        "outputs: {/results: {to: 's3://here/out/'}, /x: {to: 's3://elsewhere/x/'}}\n");
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        const json_t *row = row_of(report, rows[i].check);

        assert_string_equal(text_of(row, "state"), rows[i].state);
        if (!strstr(text_of(row, "message"), rows[i].says))
            fail_msg("%s: %s", rows[i].check, text_of(row, "message"));
    }
    assert_true(json_is_false(json_object_get(report, "ok")));
    assert_null(bucket_object(bucket, "out/made.txt"));
    expect_no_job(here);
    forget_settings();
    bucket_close(bucket);
}

const struct contract_case cases_settings[] = {
    CLAIM(data_is_tried_from_where_a_job_will_run, COMMANDS),
    CLAIM(variables_reach_the_data_of_every_attempt, COMMANDS),
    CLAIM(a_profile_reaches_the_data, COMMANDS),
    CLAIM(what_a_data_server_refuses_has_one_cause, COMMANDS),
    { 0 }
};
