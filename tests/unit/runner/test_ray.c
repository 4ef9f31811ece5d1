/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ray.c - ports, words and answers of a job's Ray cluster.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/job_env.h"
#include "runner/ray.h"

static void the_blocks_of_a_job_are_all_blocks_once_and_spare_the_master_port(void **state)
{
    char key[SW_DIGEST_HEX], other[SW_DIGEST_HEX];
    bool seen[RAY_BLOCKS] = { 0 };

    (void)state;
    ray_key("token", "job-1", "1", key);
    for (int nth = 0; nth < RAY_BLOCKS; nth++) {
        int block = ray_block(key, nth), number = (block - RAY_FIRST) / RAY_BLOCK;

        assert_int_equal((block - RAY_FIRST) % RAY_BLOCK, 0);
        assert_in_range(number, 0, RAY_BLOCKS - 1);
        assert_false(seen[number]);
        assert_false(block <= SW_MASTER_PORT && SW_MASTER_PORT < block + RAY_BLOCK);
        assert_true(block + RAY_BLOCK <= 32768);           /* where kernels begin to give out ports */
        seen[number] = true;
    }
    ray_key("token", "job-1", "2", other);
    assert_string_not_equal(key, other);
    ray_key("another", "job-1", "1", other);
    assert_string_not_equal(key, other);
}

static void the_name_of_a_socket_fits_wherever_the_folder_is(void **state)
{
    static const char *const tmpdirs[] = { NULL, "/tmp", "/local/scratch", "relative",
                                           "/scratch/local/users/ann/jobs/12345678/tmp" };
    char key[SW_DIGEST_HEX];

    (void)state;
    ray_key("token", "job-1", "1", key);
    for (size_t i = 0; i < SW_COUNT(tmpdirs); i++) {
        sw_autofree char *folder = ray_folder(key, 4095, tmpdirs[i]);
        sw_autofree char *name =
            sw_format("%s" RAY_TEMP "/session_2026-11-18_15-52-43_424480_4194304/sockets/plasma_store",
                      folder);

        assert_int_equal(folder[0], '/');
        assert_true(strlen(name) <= 107);
        assert_null(strstr(folder, "token"));
    }
}

static bool has(char **words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static void every_port_of_a_node_is_named_and_the_dashboard_is_on_loopback(void **state)
{
    struct ray_node node = { .rank = 0, .ip = "10.0.0.1", .block = 12000, .head = "10.0.0.1:12001",
                             .folder = "/tmp/x", .gpus = 0, .cpus = 4 };
    sw_auto(ray_words) char **head = ray_start_words(&node, "ray");
    static const char *const expected[] = {
        "ray", "start", "--block", "--head", "--node-ip-address=10.0.0.1", "--port=12001",
        "--ray-client-server-port=12004", "--dashboard-port=12005", "--node-manager-port=12002",
        "--object-manager-port=12003", "--dashboard-agent-listen-port=12006",
        "--dashboard-agent-grpc-port=12007", "--runtime-env-agent-port=12008", "--metrics-export-port=12009",
        "--min-worker-port=12020", "--max-worker-port=12499", "--include-dashboard=true",
        "--dashboard-host=127.0.0.1", "--temp-dir=/tmp/x/r", "--num-gpus=0", "--num-cpus=4",
        "--disable-usage-stats",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(expected); i++)
        assert_string_equal(head[i], expected[i]);
    assert_null(head[SW_COUNT(expected)]);
}

static void a_worker_has_no_option_of_the_head_and_ray_counts_its_gpus(void **state)
{
    struct ray_node node = { .rank = 2, .ip = "10.0.0.3", .block = 13000, .head = "10.0.0.1:12001",
                             .folder = "/tmp/x", .gpus = 8 };
    sw_auto(ray_words) char **words = ray_start_words(&node, "ray");

    (void)state;
    assert_true(has(words, "--address=10.0.0.1:12001"));
    assert_true(has(words, "--node-ip-address=10.0.0.3"));
    for (char **word = words; *word; word++) {
        assert_int_not_equal(strncmp(*word, "--port", 6), 0);       /* `ray start` would refuse it */
        assert_int_not_equal(strncmp(*word, "--include-dashboard", 19), 0);
        assert_int_not_equal(strncmp(*word, "--num-gpus", 10), 0);
        assert_int_not_equal(strncmp(*word, "--num-cpus", 10), 0);
    }
}

static void ranks_of_one_machine_have_loopback_addresses_of_their_own(void **state)
{
    char ip[16];

    (void)state;
    ray_loopback(0, ip);
    assert_string_equal(ip, "127.1.0.1");
    ray_loopback(255, ip);
    assert_string_equal(ip, "127.1.1.0");
    assert_true(ray_is_loopback(ip));
    assert_false(ray_is_loopback("10.127.0.1"));
}

static void two_jobs_on_one_machine_never_have_the_same_block(void **state)
{
    char key[SW_DIGEST_HEX];
    struct ray_ports first = RAY_PORTS_INIT, second = RAY_PORTS_INIT, third = RAY_PORTS_INIT;

    (void)state;
    ray_key("token", "job-1", "1", key);
    assert_int_equal(ray_ports_take(key, &first, NULL), 0);
    assert_int_equal(ray_ports_take(key, &second, NULL), 0);
    assert_int_not_equal(first.block, second.block);
    close(first.lock);                                     /* as when its keeper ends, however it does */
    assert_int_equal(ray_ports_take(key, &third, NULL), 0);
    assert_int_equal(third.block, first.block);
    close(second.lock);
    close(third.lock);
}

static void a_block_with_a_port_in_use_is_not_taken(void **state)
{
    char key[SW_DIGEST_HEX];
    struct ray_ports ports = RAY_PORTS_INIT, next = RAY_PORTS_INIT;
    int listener;

    (void)state;
    ray_key("token", "job-2", "1", key);
    assert_int_equal(ray_ports_take(key, &ports, NULL), 0);
    close(ports.lock);
    listener = ray_link_listen("127.0.0.1", ports.block + 77, NULL);
    assert_true(listener >= 0);
    assert_int_equal(ray_ports_take(key, &next, NULL), 0);
    assert_int_not_equal(next.block, ports.block);
    close(next.lock);
    close(listener);
}

static void the_dashboard_tells_nodes_and_the_first_with_too_few_gpus(void **state)
{
    sw_auto(json) json_t *answer = json_loads(
        "{\"result\": true, \"data\": {\"result\": {\"total\": 3, \"result\": ["
        "{\"node_ip\": \"10.0.0.1\", \"state\": \"ALIVE\", \"resources_total\": {\"GPU\": 8.0}},"
        "{\"node_ip\": \"10.0.0.2\", \"state\": \"DEAD\", \"resources_total\": {\"GPU\": 8.0}},"
        "{\"node_ip\": \"10.0.0.3\", \"state\": \"ALIVE\", \"resources_total\": {\"GPU\": 2.0}}]}}}",
        0, NULL);
    struct ray_seen seen;

    (void)state;
    assert_int_equal(ray_read_nodes(answer, 8, &seen), 0);
    assert_int_equal(seen.nodes, 2);
    assert_int_equal(seen.gpus, 10);
    assert_string_equal(seen.without_gpus, "10.0.0.3");
    assert_int_equal(seen.found_gpus, 2);
    assert_int_equal(ray_read_nodes(answer, 0, &seen), 0);
    assert_string_equal(seen.without_gpus, "");
    assert_int_equal(ray_read_nodes(json_object_get(answer, "data"), 0, &seen), -1);
    assert_int_equal(ray_read_nodes(NULL, 0, &seen), -1);
}

static void a_cluster_is_busy_while_a_job_runs_or_holds_anything(void **state)
{
    static const struct {
        const char *jobs, *cluster;
        bool busy;
    } rows[] = {
        { "[]", "{}", false },
        { "[{\"status\": \"SUCCEEDED\"}, {\"status\": \"STOPPED\"}]", "{}", false },
        { "[{\"status\": \"SUCCEEDED\"}, {\"type\": \"DRIVER\", \"status\": \"RUNNING\"}]", "{}", true },
        { "[{\"status\": \"PENDING\"}]", "{}", true },
        { "[]", "{\"data\": {\"clusterStatus\": {\"loadMetricsReport\": {\"usage\": {\"CPU\": [0.0, 4.0], "
                "\"memory\": [5.0, 9.0]}}}}}", false },
        { "[]", "{\"data\": {\"clusterStatus\": {\"loadMetricsReport\": {\"usage\": {\"CPU\": [1.0, 4.0]}"
                "}}}}", true },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *jobs = json_loads(rows[i].jobs, 0, NULL);
        sw_auto(json) json_t *cluster = json_loads(rows[i].cluster, 0, NULL);

        assert_int_equal(ray_read_busy(jobs, cluster), rows[i].busy);
    }
}

static void a_proof_is_of_its_word_nonce_rank_and_token(void **state)
{
    char proof[SW_DIGEST_HEX], other[SW_DIGEST_HEX];

    (void)state;
    ray_proof("t", "join", "aa", 1, proof);
    ray_proof("t", "join", "aa", 1, other);
    assert_string_equal(proof, other);
    ray_proof("t", "welcome", "aa", 1, other);
    assert_string_not_equal(proof, other);
    ray_proof("t", "join", "ab", 1, other);
    assert_string_not_equal(proof, other);
    ray_proof("t", "join", "aa", 2, other);
    assert_string_not_equal(proof, other);
    ray_proof("u", "join", "aa", 1, other);
    assert_string_not_equal(proof, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_blocks_of_a_job_are_all_blocks_once_and_spare_the_master_port),
        cmocka_unit_test(the_name_of_a_socket_fits_wherever_the_folder_is),
        cmocka_unit_test(every_port_of_a_node_is_named_and_the_dashboard_is_on_loopback),
        cmocka_unit_test(a_worker_has_no_option_of_the_head_and_ray_counts_its_gpus),
        cmocka_unit_test(ranks_of_one_machine_have_loopback_addresses_of_their_own),
        cmocka_unit_test(two_jobs_on_one_machine_never_have_the_same_block),
        cmocka_unit_test(a_block_with_a_port_in_use_is_not_taken),
        cmocka_unit_test(the_dashboard_tells_nodes_and_the_first_with_too_few_gpus),
        cmocka_unit_test(a_cluster_is_busy_while_a_job_runs_or_holds_anything),
        cmocka_unit_test(a_proof_is_of_its_word_nonce_rank_and_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
