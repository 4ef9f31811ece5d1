/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slurm_site.c - what a cluster says about itself, counted and put into words.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/slurm/slurm_internal.h"

static void gpus_are_counted_in_every_spelling(void **state)
{
    static const struct { const char *gres; int64_t count; } cases[] = {
        { "gpu:8", 8 }, { "gpu:a100:8", 8 }, { "gpu:a100:4(S:0-1),gpu:h100:2", 6 }, { "gpu", 1 },
        { "nic:4,gpu:2(IDX:0,3)", 2 }, { "gpu:0", 0 }, { "(null)", 0 }, { NULL, 0 }, { "", 0 },
        { "gpus:3", 0 }, { "gpu:x:99999999999999999999", 0 },
        { "shard:8,gpu:tesla:1(S:0),", 1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        assert_int_equal(slurm_gres_gpus(cases[i].gres, NULL), cases[i].count);
}

static const char partitions[] =
    "PartitionName=batch AllowAccounts=ALL Default=YES DefaultTime=NONE MaxNodes=4 MaxTime=1-00:00:00 "
    "Nodes=n[1-3] State=UP TotalNodes=3\n"
    "PartitionName=old AllowAccounts=a,b Default=NO DefaultTime=00:30:00 MaxNodes=UNLIMITED "
    "MaxTime=UNLIMITED State=DOWN\n";
static const char nodes[] =
    "NodeName=n1 CPUAlloc=4 CPUTot=64 Gres=gpu:h100:8 GresUsed=gpu:h100:3(IDX:0-2) "
    "OS=Linux 5 Name=x RealMemory=1000  State=MIXED Partitions=batch,old  BootTime=x\n"
    "NodeName=n2 CPUAlloc=0 CPUTot=64 Gres=gpu:h100:8 GresUsed=gpu:h100:0(IDX:N/A) RealMemory=2000 "
    "State=IDLE Partitions=batch \n"
    "NodeName=n3 CPUAlloc=0 CPUTot=64 Gres=gpu:a100:8 GresUsed=gpu:0 RealMemory=2000 "
    "State=IDLE+DRAIN Partitions=batch Reason=State=IDLE they said [root@now]\n";

static void partitions_count_their_nodes_and_what_is_free(void **state)
{
    sw_auto(json) json_t *site = slurm_site(partitions, nodes);
    const json_t *list = json_object_get(site, "partitions"), *batch = json_array_get(list, 0);
    const json_t *old = json_array_get(list, 1);

    (void)state;
    assert_int_equal(json_array_size(list), 2);
    assert_true(sw_json_bool(batch, "default", false));
    assert_int_equal(sw_json_int(batch, "time_limit_minutes", 0), 1440);
    assert_int_equal(sw_json_int(batch, "max_nodes", 0), 4);
    assert_int_equal(sw_json_int(batch, "nodes", 0), 3);
    assert_int_equal(sw_json_int(batch, "nodes_up", 0), 2);
    assert_int_equal(sw_json_int(batch, "nodes_idle", 0), 1);
    assert_int_equal(sw_json_int(batch, "gpus_total", 0), 24);
    assert_int_equal(sw_json_int(batch, "gpus_free", 0), 13);
    assert_int_equal(sw_json_int(json_object_get(batch, "gpu_types"), "h100", 0), 16);
    assert_int_equal(sw_json_int(batch, "cpus_free", 0), 124);
    assert_int_equal(sw_json_int(batch, "node_memory_bytes", 0), 2000 * 1048576LL);
    assert_true(json_is_null(json_object_get(old, "time_limit_minutes")));
    assert_int_equal(sw_json_int(old, "default_time_minutes", 0), 30);
    assert_string_equal(sw_json_str(old, "accounts"), "a,b");
    assert_int_equal(sw_json_int(old, "gpus_free", 0), 5);
    assert_int_equal(sw_json_int(site, "gpus_total", 0), 24);
}

/* A node that claims more than there is adds nothing; a product of its numbers would be none. */
static void numbers_that_no_machine_has_count_as_none(void **state)
{
    sw_auto(json) json_t *site = slurm_site("PartitionName=p MaxNodes=99999999999999999999\n",
        "NodeName=a CPUTot=1125899906842624 RealMemory=1125899906842624 State=IDLE Partitions=p\n"
        "NodeName=b CPUTot=8 RealMemory=1024 State=IDLE Partitions=p\n");

    (void)state;
    assert_int_equal(sw_json_int(site, "node_memory_bytes", 0), INT64_C(1) << 30);
    assert_int_equal(sw_json_int(site, "cpus_total", 0), 8);
}

static const json_t *found(const json_t *rows, const char *check)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
        if (sw_text_same(sw_json_str(row, "check"), check))
            return row;
    fail_msg("nothing is said about '%s'", check);
    return NULL;
}

static void every_answer_becomes_a_finding_with_its_fix(void **state)
{
    static const struct { const char *line, *check; bool ok; const char *message, *fix; } cases[] = {
        { "slurm\tyes\tslurm-wlm 22.05.8", "slurm", true, "22.05.8", "" },
        { "slurm\tno\tsh: sbatch: not found", "slurm", false, "not found", "~/.bashrc" },
        { "accounting\tskip\tdisabled", "accounting", true, "Slipway's own records", "" },
        { "partition\tno\tthere is no x, but: a b ", "partition", false, "but: a b", "slurm.partition" },
        { "limit\tshort\t10:00", "time limit of short", true, "240 minutes", "" },
        { "refused\tlimit\tshort 10:00", "time", false, "short 10:00", "less `time:`" },
        { "refused\timage\t/x.sqsh", "image", false, "/x.sqsh", "squashfs" },
        { "refused\trefused\tno; GPUs of its nodes: gpu:8", "Slurm", false, "gpu:8", "inventory slurm" },
        { "limit\tlong\tinfinite", "time limit of long", true, "infinite", "" },
        { "space\t100\t/x", "space", false, "100 KiB free on /x", "slipway gc" },
        { "space\t999999999\t/x", "space", true, "free on /x", "" },
        { "pyxis\tno\tsrun does not know it", "pyxis", false, "srun", "container: none" },
        { "credential\tmissing\tr.test\t/h/.credentials", "credentials for r.test", false, "none in",
          "machine r.test login" },
        { "credential\topen\tr.test\t/h/.credentials", "credentials for r.test", false, "others can read",
          "chmod 600 /h/.credentials" },
        { "credential\tok\tr.test\t/h/.credentials", "credentials for r.test", true, "/h/", "" },
        { "nodepaths\tno\tn1: missing /data/x", "paths on a node", false, "missing /data/x", "shared file" },
        { "clock\t1", "clock", false, "behind this machine", "time server" },
        { "node\tno\tn1 does not see /b", "shared folder", false, "n1", "slurm.base_dir" },
    };
    const struct slurm_checked job = { .minutes = 240, .secret_named = true };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(json) json_t *rows = json_array();
        const json_t *row;

        slurm_check_text(rows, &job, cases[i].line);
        row = found(rows, cases[i].check);
        assert_int_equal(sw_json_bool(row, "ok", !cases[i].ok), cases[i].ok);
        assert_non_null(strstr(sw_json_str(row, "message"), cases[i].message));
        assert_non_null(strstr(cases[i].ok ? "" : sw_json_str(row, "fix"), cases[i].fix));
    }
}

static void a_node_that_was_not_free_leaves_the_question_open(void **state)
{
    sw_auto(json) json_t *rows = json_array();
    const struct slurm_checked job = { 0 };

    (void)state;
    slurm_check_text(rows, &job, "node\tskip\tbusy");
    assert_true(json_is_null(json_object_get(found(rows, "shared folder"), "ok")));
    assert_string_equal(sw_json_str(found(rows, "shared folder"), "state"), "not checked");
}

static void records_of_unknown_kinds_are_passed_over(void **state)
{
    sw_auto(json) json_t *rows = json_array();
    const struct slurm_checked job = { 0 };

    (void)state;
    slurm_check_text(rows, &job, "Welcome!\n\t\t\t\nspace\tx\ty\nlimit\ta\tb\ncredential\t\n"
                                  "credential\tx\nnews\tyes\ta\nslurm\tyes\n");
    assert_int_equal(json_array_size(rows), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_counted_in_every_spelling),
        cmocka_unit_test(partitions_count_their_nodes_and_what_is_free),
        cmocka_unit_test(numbers_that_no_machine_has_count_as_none),
        cmocka_unit_test(every_answer_becomes_a_finding_with_its_fix),
        cmocka_unit_test(a_node_that_was_not_free_leaves_the_question_open),
        cmocka_unit_test(records_of_unknown_kinds_are_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
