/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site.c - fitness, inventory and paths of a real cluster (runs inside tests/slurm/cluster).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/platform.h"

#define BASE "/media/lustre/ann/here"

extern const struct sw_platform sw_platform_slurm;

static struct sw_connection *open_connection(json_t *more)
{
    sw_auto(json) json_t *options = sw_json_object(
        SW_SUB("hostname", json_pack("[s, s]", "login1", "login2")), SW_STR("user", "ann"),
        SW_STR("identity", getenv("SSH_KEY_PATH")), SW_STR("base_dir", BASE),
        SW_STR("connect_timeout", "5s"));
    const struct sw_connect_options config = { .state_dir = "/media/state-of-ours", .options = options };
    struct sw_error err = { 0 };
    struct sw_connection *link;

    json_object_update(options, more);
    json_decref(more);
    link = sw_platform_slurm.open(&config, &err);
    if (!link)
        fail_msg("%s", err.message);
    return link;
}

static void control(const char *words)
{
    sw_autofree char *command = sw_format("cluster-control %s", words);

    assert_int_equal(system(command), 0);
}

static json_t *checks(struct sw_connection *link, struct sw_plan *plan)
{
    struct sw_error err = { 0 };
    json_t *rows = sw_platform_slurm.preflight_report(link, plan, &err);

    if (!rows)
        fail_msg("%s", err.message);
    return rows;
}

/* The finding, and that it says this. */
static void expect(const json_t *rows, const char *check, bool ok, const char *message,
                   const char *fix)
{
    sw_autofree char *all = sw_json_dump(rows);
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) {
        const char *said = sw_json_str(row, "fix");

        if (sw_text_same(sw_json_str(row, "check"), check) && sw_json_bool(row, "ok", !ok) == ok &&
            strstr(sw_json_str(row, "message"), message) && strstr(said ? said : "", fix))
            return;
    }
    fail_msg("'%s' is not %s with '%s': %s", check, ok ? "good" : "wrong", message, all);
}

static struct sw_plan plan_with(json_t *options)
{
    struct sw_plan plan = { .nodes = 1, .gpus = 1, .time_ms = 4 * 3600000LL, .options = options };

    strcpy(plan.job_id, "check-abcdefgh");
    return plan;
}

static void everything_in_order_is_said_so(void **state)
{
    struct sw_connection *link = open_connection(json_object());
    struct sw_plan plan = plan_with(json_pack("{s:[s], s:s}", "partition", "batch", "account", "research"));
    sw_auto(json) json_t *rows = NULL;
    size_t i;
    json_t *row;

    (void)state;
    rows = checks(link, &plan);
    json_array_foreach(rows, i, row)
        if (!sw_json_bool(row, "ok", false))
            fail_msg("%s: %s", sw_json_str(row, "check"), sw_json_str(row, "message"));
    expect(rows, "ssh login1", true, "answers", "");
    expect(rows, "ssh login2", true, "answers", "");
    expect(rows, "slurm", true, "22.05", "");
    expect(rows, "partition", true, "batch", "");
    expect(rows, "account", true, "research", "");
    expect(rows, "base folder", true, BASE, "");
    expect(rows, "shared folder", true, "sees it", "");
    expect(rows, "shared folder on login2", true, "the same", "");
    expect(rows, "space", true, "free on", "");
    assert_int_equal(system("[ -z \"$(ls -A " BASE ")\" ]"), 0);       /* and nothing is left */
    json_decref(plan.options);
    sw_platform_slurm.close(link);
}

static void each_thing_that_is_wrong_is_named_with_its_fix(void **state)
{
    struct sw_connection *link = open_connection(json_pack("{s:s}", "base_dir", "/media/lustre/not-ours"));
    struct sw_plan plan = plan_with(json_pack("{s:[s, s, s], s:s}", "partition", "short", "closed", "none",
                                              "account", "other"));
    sw_auto(json) json_t *rows = NULL;

    (void)state;
    control("cut login2");
    rows = checks(link, &plan);
    expect(rows, "ssh login1", true, "answers", "");
    expect(rows, "ssh login2", false, "refused", "sshd");
    expect(rows, "partition", false, "closed is down", "slurm.partition");
    expect(rows, "partition", false, "there is no none, but: ", "slurm.partition");
    expect(rows, "time limit of short", true, "240 minutes requested, 10:00", "");   /* another may do */
    expect(rows, "account", false, "may not use other, but: research", "SLURM_ACCOUNT");
    expect(rows, "base folder", false, "cannot be", "slurm.base_dir");
    control("mend login2");
    json_decref(plan.options);
    sw_platform_slurm.close(link);
}

static void a_bundle_is_looked_at_when_slurm_is_to_run_it(void **state)
{
    struct sw_connection *link = open_connection(json_object());
    struct sw_plan plan = plan_with(sw_json_object(SW_STR("container", "oci")));
    sw_auto(json) json_t *missing = NULL, *there = NULL;

    (void)state;
    plan.image = (char *)"/media/lustre/ann/box";
    missing = checks(link, &plan);
    expect(missing, "OCI bundle", false, "there is no /media/lustre/ann/box/config.json", "oci.conf");
    assert_int_equal(system("as-ann sh -c 'mkdir /media/lustre/ann/box; "
                            "echo {} > /media/lustre/ann/box/config.json'"), 0);
    there = checks(link, &plan);
    expect(there, "OCI bundle", true, "/media/lustre/ann/box", "");
    json_decref(plan.options);
    sw_platform_slurm.close(link);
}

static void containers_are_looked_at_when_there_is_an_image(void **state)
{
    struct sw_connection *link = open_connection(json_object());
    struct sw_plan plan = plan_with(json_object());
    sw_auto(json) json_t *rows = NULL, *none = NULL;

    (void)state;
    plan.image = (char *)"registry.test/team/net:1";
    rows = checks(link, &plan);
    expect(rows, "pyxis", true, "--container-image", "");
    expect(rows, "credentials for registry.test", true, "public images only", "");
    assert_int_equal(system("as-ann sh -c 'mkdir -p .config/enroot; umask 022; "
                            "echo machine registry.test login a password b "
                            "> .config/enroot/.credentials'"), 0);
    none = checks(link, &plan);
    expect(none, "credentials for registry.test", false, "others can read", "chmod 600");
    json_decref(plan.options);
    sw_platform_slurm.close(link);
}

static void the_controller_being_away_is_said(void **state)
{
    struct sw_connection *link = open_connection(json_object());
    struct sw_plan plan = plan_with(json_object());
    sw_auto(json) json_t *rows = NULL;
    struct sw_error err = { 0 };

    (void)state;
    control("stop-controller");
    rows = checks(link, &plan);
    expect(rows, "controller", false, "DOWN", "wait");
    assert_null(sw_platform_slurm.inventory(link, &err));
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    control("start-controller");
    json_decref(plan.options);
    sw_platform_slurm.close(link);
}

static void the_inventory_counts_gpus_in_use(void **state)
{
    struct sw_connection *link = open_connection(json_object());
    struct sw_error err = { 0 };
    sw_auto(json) json_t *site = NULL;
    const json_t *batch;

    (void)state;
    assert_int_equal(system("as-ann sh -c 'sbatch -Q --gres=gpu:3 --wrap \"sleep 60\" && "
                            "until squeue -h -t R | grep -q .; do sleep 0.1; done'"), 0);
    site = sw_platform_slurm.inventory(link, &err);
    if (!site)
        fail_msg("%s", err.message);
    batch = json_array_get(json_object_get(site, "partitions"), 0);
    assert_string_equal(sw_json_str(site, "cluster"), "bed");
    assert_string_equal(sw_json_str(batch, "name"), "batch");
    assert_int_equal(sw_json_int(batch, "gpus_total", 0), 16);
    assert_int_equal(sw_json_int(batch, "gpus_free", 0), 13);
    assert_int_equal(sw_json_int(batch, "node_gpus", 0), 8);
    assert_int_equal(sw_json_int(json_array_get(json_object_get(site, "partitions"), 1),
                                 "time_limit_minutes", 0), 10);
    assert_string_equal(json_string_value(json_array_get(json_object_get(site, "accounts"), 0)),
                        "research");
    assert_int_equal(system("as-ann scancel -u ann"), 0);
    sw_platform_slurm.close(link);
}

static void paths_are_the_clusters_own(void **state)
{
    struct sw_connection *link = open_connection(json_object());
    static const struct { const char *path; bool there; } cases[] = {
        { "/media/lustre", true }, { "lustre:///media/lustre", true }, { "slurm://media/lustre", true },
        { "/media/nowhere", false }, { "/etc/passwd/x", false }, { "/media/lustre/ann/a b'c", true },
    };
    struct sw_error err = { 0 };
    sw_auto(json) json_t *names = NULL;
    sw_autofree char *text = NULL;
    bool there = false;

    (void)state;
    assert_int_equal(system("as-ann sh -c 'cd /media/lustre/ann && mkdir -p dir && : > \"a b'\\''c\" && "
                            ": > dir/two && : > \"dir/on\ne\" && : > dir/.hidden'"), 0);
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        assert_int_equal(sw_platform_slurm.check_path(link, cases[i].path, &there, &err), 0);
        assert_int_equal(there, cases[i].there);
    }
    assert_int_equal(sw_platform_slurm.check_path(link, "relative", &there, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
    assert_int_equal(sw_platform_slurm.check_path(link, "/media/home/root/x", &there, &err), -1);
    assert_int_equal(err.code, SW_E_REFUSED);
    names = sw_platform_slurm.list_path(link, "lustre:///media/lustre/ann/dir", &err);
    text = names ? sw_json_dump(names) : sw_strdup(err.message);
    assert_string_equal(text, "[\".hidden\",\"on\\ne\",\"two\"]");
    assert_null(sw_platform_slurm.list_path(link, "/media/nowhere", &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    sw_platform_slurm.close(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_in_order_is_said_so),
        cmocka_unit_test(each_thing_that_is_wrong_is_named_with_its_fix),
        cmocka_unit_test(containers_are_looked_at_when_there_is_an_image),
        cmocka_unit_test(a_bundle_is_looked_at_when_slurm_is_to_run_it),
        cmocka_unit_test(the_controller_being_away_is_said),
        cmocka_unit_test(the_inventory_counts_gpus_in_use),
        cmocka_unit_test(paths_are_the_clusters_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
