/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_data.c - what goes into a job and what comes out of it; and that nothing stays behind.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/json.h"
#include "cases.h"

static char *results_of(struct trial *here, const char *job)
{
    struct sw_error err = { 0 };
    char *dir = here->fixture->results ? here->fixture->results(job)
                                       : sw_results_dir(here->session, job, &err);

    if (!dir)
        fail_msg("results of '%s': %s", job, err.message);
    canary_heard(here->canary, "sw_results_dir", dir);
    return dir;
}

static void expect_result(struct trial *here, const char *job, const char *name, const char *text)
{
    sw_autofree char *dir = results_of(here, job);
    sw_autofree char *path = sw_path_join(dir, name);
    sw_autofree char *found = read_text(path);

    if (!found)
        fail_msg("'%s' did not land in the results", name);
    assert_string_equal(found, text);
}

static void the_environment_of_a_job_file_reaches_the_command(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here, "printf %%s \"$ODD\" >{results_dir}/odd");
    const char *job;

    set(made, "env.ODD", "a 'b' \"c\" $d `e` \\ {f}");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 0);
    expect_result(here, job, "odd", "a 'b' \"c\" $d `e` \\ {f}");
}

static void a_job_knows_its_id(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "test \"$TAO_JOB_ID\" = {job_id} && "
                                   "test \"$SLIPWAY_JOB_ID\" = {job_id} && "
                                   "printf %%s {job_id} >{results_dir}/id");

    assert_int_equal(wait_until_over(here, job), 0);
    expect_result(here, job, "id", job);
}

static void every_rank_sees_the_right_rendezvous(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here,
        "echo \"$NNODES $WORLD_SIZE $NODE_RANK ${MASTER_ADDR:+addr} ${MASTER_PORT:+port} "
        "${WORKER_ADDRS:+workers}\" >{results_dir}/rank-$NODE_RANK; "
        "echo \"$MASTER_ADDR:$MASTER_PORT\" >{results_dir}/master-$NODE_RANK");
    sw_autofree char *dir = NULL;
    sw_autofree char *first = NULL;
    const char *job;

    set(made, "nodes", "3");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 0);
    dir = results_of(here, job);
    for (int rank = 0; rank < 3; rank++) {
        sw_autofree char *name = sw_format("rank-%d", rank);
        sw_autofree char *text = sw_format("3 3 %d addr port workers\n", rank);
        sw_autofree char *path = sw_format("%s/master-%d", dir, rank);
        sw_autofree char *master = read_text(path);

        expect_result(here, job, name, text);
        assert_non_null(master);
        if (!first)
            first = sw_strdup(master);
        assert_string_equal(master, first);
    }
}

static void the_first_rank_that_fails_is_named(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here,
        "if [ $NODE_RANK = 1 ]; then exit 3; else sleep 30; fi");
    sw_auto(json) json_t *seen = NULL;
    const char *job;

    set(made, "nodes", "2");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 3);
    seen = status(here, job);
    assert_int_equal(number_of(seen, "failed_replica"), 1);
}

static void there_is_one_replica_per_node(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, EXITS, 0);
    struct sw_error err = { 0 };
    sw_auto(json) json_t *document = NULL;
    const json_t *replicas;
    const char *job;
    char *text;

    set(made, "nodes", "3");
    job = send_request(here, made);
    wait_until_over(here, job);
    text = sw_replicas(here->session, job, &err);
    if (!text)
        fail_msg("replicas: %s", err.message);
    canary_heard(here->canary, "sw_replicas", text);
    document = json_loads(text, 0, NULL);
    replicas = json_object_get(document, "replicas");
    sw_text_free(text);
    assert_int_equal(json_array_size(replicas), 3);
    for (size_t rank = 0; rank < 3; rank++) {
        json_t *replica = json_array_get(replicas, rank);

        assert_int_equal(number_of(replica, "rank"), rank);
        assert_string_equal(text_of(replica, "status"), "Complete");
    }
}

static struct sw_request *yaml_request(struct trial *here, const char *text)
{
    struct sw_request *made = sw_request_new();
    struct sw_error err = { 0 };

    expect_ok(sw_request_text(made, text, strlen(text), "yaml", "contract.yaml", &err), &err,
              "job file");
    set_common(here, made);
    set(made, "secrets", CANARY_NAME);
    return made;
}

static void inputs_arrive_and_outputs_land(void **state)
{
    struct trial *here = *state;
    sw_autofree char *input = path_in(here, "input.txt");
    sw_autofree char *home = path_in(here, "landed");
    sw_autofree char *landed = sw_format("%s/made.txt", home);
    sw_autofree char *text = sw_format(
        "name: data\n"
        "command: tr a-z A-Z </data/in.txt >/results/made.txt\n"
        "inputs: {/data/in.txt: '%s'}\n"
        "outputs: {/results: {to: '%s'}}\n", input, home);
    sw_autofree char *found = NULL;
    const char *job;

    write_text(input, "hello\n");
    job = send_request(here, yaml_request(here, text));
    if (wait_until_over(here, job) != 0) {
        struct log log = read_log(here, job, -1, false);

        fail_msg("the job failed: %s", log.bytes ? log.bytes : "");
    }
    found = read_text(landed);
    if (!found)
        fail_msg("nothing landed at %s", landed);
    assert_string_equal(found, "HELLO\n");
}

static void an_input_that_does_not_exist_fails_before_the_command_runs(void **state)
{
    struct trial *here = *state;
    sw_autofree char *mark = path_in(here, "ran");
    sw_autofree char *text = sw_format(
        "name: data\ncommand: echo ran >'%s'\ninputs: {/data/in.txt: '%s/no-such-file'}\n",
        mark, here->dir);
    struct sw_request *made = yaml_request(here, text);
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];

    /* Refused at once, or ended in Error: a platform may learn of it only later. */
    if (sw_submit(here->session, made, id, &err) == 0)
        assert_int_not_equal(wait_until_over(here, id), 0);
    assert_false(sw_file_exists(mark));
    sw_request_free(made);
}

/* Nothing listens at port 9, here or in a container. */
static void a_data_server_that_does_not_answer_is_a_failure_of_the_network(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = yaml_request(here, "name: data\ncommand: 'true'\nretry: {max: 0}\n"
                                                 "inputs: {/data/x: 'http://127.0.0.1:9/x'}\n");
    const char *job;
    char *why;

    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 74);
    expect_reason(here, job, "prepare");
    why = sw_failure_analysis(here->session, job, NULL);
    assert_non_null(why);
    if (!strstr(why, "\"cause\":\"network\"") || !strstr(why, "\"err_class\":\"ERR_INFRA\""))
        fail_msg("%s", why);
    sw_text_free(why);
}

static void the_config_is_written_where_the_command_finds_it(void **state)
{
    struct trial *here = *state;
    const char *job = send_request(here, yaml_request(here,
        "name: data\n"
        "command: cp {config_path} {results_dir}/config.json\n"
        "config: {train: {epochs: 3, name: 'no'}, list: [1, 2.5]}\n"
        "config_format: json\n"));
    sw_autofree char *dir = NULL;
    sw_autofree char *path = NULL;
    sw_auto(json) json_t *config = NULL;

    assert_int_equal(wait_until_over(here, job), 0);
    dir = results_of(here, job);
    path = sw_path_join(dir, "config.json");
    config = json_load_file(path, 0, NULL);
    assert_non_null(config);
    assert_int_equal(number_of(json_object_get(config, "train"), "epochs"), 3);
    assert_string_equal(text_of(json_object_get(config, "train"), "name"), "no");
}

static void results_can_be_brought_home(void **state)
{
    struct trial *here = *state;
    sw_autofree char *home = path_in(here, "brought");
    sw_autofree char *copy = sw_format("%s/deep/model.bin", home);
    const char *job = launch_shell(here, "mkdir -p {results_dir}/deep && "
                                   "echo weights >{results_dir}/deep/model.bin");
    struct sw_error err = { 0 };
    sw_autofree char *found = NULL;
    char *text;

    assert_int_equal(wait_until_over(here, job), 0);
    text = sw_get_results(here->session, job, home, &err);
    if (!text)
        fail_msg("get: %s", err.message);
    sw_text_free(text);
    found = read_text(copy);
    assert_non_null(found);
    assert_string_equal(found, "weights\n");
}

/* What a job leaves: links of all kinds, and a pipe that must not keep us waiting. */
static const char made_of_links[] =
    "cd {results_dir} && mkdir -p deep/er && echo weights >deep/er/model.bin && "
    "ln -s deep/er/model.bin latest && ln -s ../er/model.bin deep/er/same && "
    "ln -s /etc/hostname absolute && ln -s /proc/self/environ environ && ln -s /etc folder && "
    "ln -s ../../../../../../../../etc/hostname climbs && ln -s deep/../../../etc indirect && "
    "mkfifo pipe";

static void links_of_results_stay_links_and_lead_nowhere_else(void **state)
{
    static const char *const outside[] = { "absolute", "environ", "folder", "climbs", "indirect",
                                           "pipe" };
    struct trial *here = *state;
    sw_autofree char *home = path_in(here, "brought-links");
    sw_autofree char *latest = sw_format("%s/latest", home), *found = NULL;
    const char *job = launch_shell(here, "%s", made_of_links);
    struct sw_error err = { 0 };
    char target[64] = "";
    char *text;

    assert_int_equal(wait_until_over(here, job), 0);
    for (int round = 0; round < 2; round++) {          /* into the same folder once more */
        text = sw_get_results(here->session, job, home, &err);
        if (!text)
            fail_msg("get: %s", err.message);
        sw_text_free(text);
        assert_int_equal(readlink(latest, target, sizeof target - 1), strlen("deep/er/model.bin"));
        assert_string_equal(target, "deep/er/model.bin");
        for (size_t i = 0; i < SW_COUNT(outside); i++) {
            sw_autofree char *path = sw_format("%s/%s", home, outside[i]);
            struct stat info;

            if (lstat(path, &info) == 0)
                fail_msg("'%s' was brought home", outside[i]);
        }
    }
    found = read_text(latest);
    assert_non_null(found);
    assert_string_equal(found, "weights\n");
}

static void results_of_a_failed_job_are_kept(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "echo half >{results_dir}/half; exit 3");

    assert_int_equal(wait_until_over(here, job), 3);
    expect_result(here, job, "half", "half\n");
}

static void paths_are_seen_as_the_platform_sees_them(void **state)
{
    struct trial *here = *state;
    sw_autofree char *folder = path_in(here, "project");
    sw_autofree char *file = sw_format("%s/data.csv", folder);
    sw_autofree char *nothing = sw_format("%s/nothing", folder);
    struct sw_error err = { 0 };
    bool exists = false;
    char *names;

    write_text(file, "1,2\n");
    expect_ok(sw_check_path(here->session, here->fixture->name, file, &exists, &err), &err, "check");
    assert_true(exists);
    expect_ok(sw_check_path(here->session, here->fixture->name, nothing, &exists, &err), &err,
              "check");
    assert_false(exists);
    names = sw_list_path(here->session, here->fixture->name, folder, &err);
    assert_non_null(names);
    assert_non_null(strstr(names, "data.csv"));
    sw_text_free(names);
    assert_null(sw_list_path(here->session, here->fixture->name, nothing, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

static int count_job_files(void *context, const char *relative, const struct stat *info)
{
    struct { const char *id; int count; } *search = context;

    (void)info;
    search->count += strstr(relative, search->id) != NULL;
    return 0;
}

static int files_of(struct trial *here, const char *job)
{
    struct { const char *id; int count; } search = { job, 0 };

    sw_walk(here->dir, count_job_files, &search, NULL);
    return search.count;
}

static void a_removed_job_leaves_nothing(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    const char *job = launch(here, PRINTS, 10);
    struct log log;

    wait_until_over(here, job);
    log = read_log(here, job, -1, false);      /* results may lie elsewhere: the log is here now */
    log_done(&log);
    assert_true(files_of(here, job) > 0);
    expect_ok(sw_remove(here->session, job, false, &err), &err, "rm");
    assert_int_equal(files_of(here, job), 0);
    assert_null(sw_status(here->session, job, SW_LOOK_STORED, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

static void a_running_job_is_not_removed(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    const char *job = launch(here, SLEEPS, 60000);

    wait_until(here, job, SW_RUNNING);
    assert_int_equal(sw_remove(here->session, job, false, &err), -1);
    assert_int_equal(err.code, SW_E_CONFLICT);
    expect_state(here, job, SW_RUNNING);
}

static void the_id_of_a_removed_job_can_be_used_again(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };

    for (int i = 0; i < 2; i++) {
        struct sw_request *made = request(here, EXITS, 0);

        set_id(made, "used-again");
        send_request(here, made);
        assert_int_equal(wait_until_over(here, "used-again"), 0);
        expect_ok(sw_remove(here->session, "used-again", false, &err), &err, "rm");
    }
}

const struct contract_case cases_data[] = {
    CLAIM(the_environment_of_a_job_file_reaches_the_command, COMMANDS),
    CLAIM(a_job_knows_its_id, COMMANDS),
    CLAIM(every_rank_sees_the_right_rendezvous, COMMANDS | RANKS),
    CLAIM(the_first_rank_that_fails_is_named, COMMANDS | RANKS),
    CLAIM(there_is_one_replica_per_node, RANKS),
    CLAIM(inputs_arrive_and_outputs_land, COMMANDS | OWN_FILES),
    CLAIM(a_data_server_that_does_not_answer_is_a_failure_of_the_network, COMMANDS),
    CLAIM(an_input_that_does_not_exist_fails_before_the_command_runs, COMMANDS),
    CLAIM(the_config_is_written_where_the_command_finds_it, COMMANDS),
    CLAIM(results_can_be_brought_home, COMMANDS | RESULTS),
    CLAIM(links_of_results_stay_links_and_lead_nowhere_else, COMMANDS | RESULTS),
    CLAIM(results_of_a_failed_job_are_kept, COMMANDS),
    CLAIM(paths_are_seen_as_the_platform_sees_them, PATHS),
    CLAIM(a_removed_job_leaves_nothing, 0),
    CLAIM(a_running_job_is_not_removed, 0),
    CLAIM(the_id_of_a_removed_job_can_be_used_again, 0),
    { 0 }
};
