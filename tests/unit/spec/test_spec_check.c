/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec_check.c - every kind of mistake, with its place, its key and the way out. */
#include "fixture.h"

/* What the user wrote, and the whole message that comes back. */
static const struct { const char *job, *message; } mistakes[] = {
    /* unknown keys */
    { "gpu: 1\n", "job.yaml:1:1: unknown key 'gpu' (did you mean 'gpus'?)" },
    { "slrum: {}\n", "job.yaml:1:1: unknown key 'slrum' (did you mean 'slurm'?)" },
    { "partition: x\n", "job.yaml:1:1: unknown key 'partition' (did you mean 'slurm.partition'? "
                        "slipway help job slurm.partition)" },
    { "accelerators: H100:8\n", "job.yaml:1:1: unknown key 'accelerators' (use 'gpus': slipway help job "
                                "gpus)" },
    { "run: ls\n", "job.yaml:1:1: unknown key 'run' (use 'command': slipway help job command)" },
    { "envs: {A: 1}\nnum_nodes: 2\n",
      "job.yaml:1:1: unknown key 'envs' (use 'env': slipway help job env)\n"
      "job.yaml:2:1: unknown key 'num_nodes' (use 'nodes': slipway help job nodes)" },
    { "resources: {gpu: 1}\n", "job.yaml:1:1: unknown key 'resources' (gpus, cpus and memory are keys of "
                               "their own here: slipway help job gpus)" },
    { "file_mounts: {}\n", "job.yaml:1:1: unknown key 'file_mounts' (use 'inputs': slipway help job "
                           "inputs)" },
    { "image_id: x\n", "job.yaml:1:1: unknown key 'image_id' (use 'image': slipway help job image)" },
    { "commands: [x]\n", "job.yaml:1:1: unknown key 'commands' (use 'command': slipway help job command)" },
    { "ntasks: 8\n", "job.yaml:1:1: unknown key 'ntasks' (the command starts once on each node, and "
                     "'launcher' starts more: slipway help job launcher)" },
    { "network_arch: dino\n",
      "job.yaml:1:1: unknown key 'network_arch' (use 'model': slipway help job model)" },
    { "model: dino\n", "job.yaml:1:1: 'model' needs 'action', too: together they choose image and command "
                       "(`slipway models` lists both)" },
    { "zzzzzzzz: 1\n", "job.yaml:1:1: unknown key 'zzzzzzzz'" },
    { "retry: {maxx: 1}\n", "job.yaml:1:9: unknown key 'retry.maxx' (did you mean 'max'?)" },
    { "slurm: {partion: a}\n",
      "job.yaml:1:9: unknown key 'slurm.partion' (did you mean 'partition'?)" },
    { "slurm: {gpus: 1}\n",
      "job.yaml:1:9: unknown key 'slurm.gpus' (it belongs at the top level of the job file)" },
    { "inputs:\n  /a: {form: b}\n",
      "job.yaml:2:8: unknown key 'inputs./a.form' (did you mean 'from'?)\n"
      "job.yaml:2:3: inputs./a: 'from' is required" },
    /* variables that would be overridden */
    { "env: {WORLD_SIZE: 4}\n",
      "job.yaml:1:7: env.WORLD_SIZE: Slipway sets it and would override a value here" },
    { "env: {SLIPWAY_JOB_ID: x}\n",
      "job.yaml:1:7: env.SLIPWAY_JOB_ID: Slipway sets it and would override a value here" },
    { "env: {CUDA_VISIBLE_DEVICES: 3}\n",
      "job.yaml:1:7: env.CUDA_VISIBLE_DEVICES: the GPUs that a job sees follow from 'gpus' (and "
      "local.gpu_ids), so a value here would be overridden" },
    /* wrong types */
    { "- a\n", "job.yaml:1:1: a job is a mapping of keys such as 'command: ...'" },
    { "name: 3\n",
      "job.yaml:1:1: name: expected a string, found a whole number (quote it if you mean a string)" },
    { "command: [a]\n", "job.yaml:1:1: command: expected a string, found a list" },
    { "nodes: two\n", "job.yaml:1:1: nodes: expected a whole number, found a string" },
    { "nodes: 1.5\n", "job.yaml:1:1: nodes: expected a whole number, found a number" },
    { "cpus: many\n", "job.yaml:1:1: cpus: expected a number, found a string" },
    { "retry: {avoid_bad_nodes: 1}\n",
      "job.yaml:1:9: retry.avoid_bad_nodes: expected true or false, found a whole number" },
    { "retry: 3\n", "job.yaml:1:1: retry: expected a mapping, found a whole number" },
    { "env: [A]\n", "job.yaml:1:1: env: expected a mapping of strings, found a list" },
    { "env:\n  A: [1]\n", "job.yaml:2:3: env.A: expected a string, found a list" },
    { "secrets: [~]\n", "job.yaml:1:11: secrets[0]: has no value (write \"\" for an empty string)" },
    { "memory: 64\n", "job.yaml:1:1: memory: 64 is 64 bytes, expected 1 MiB or more; did you mean 64GiB?" },
    { "shm: 4KiB\n", "job.yaml:1:1: shm: 4KiB is 4096 bytes, expected 1 MiB or more" },
    { "secrets: {A: 1}\n", "job.yaml:1:1: secrets: expected a list of strings, found a mapping" },
    { "inputs: [/a]\n", "job.yaml:1:1: inputs: expected a mapping, found a list" },
    { "outputs: {/a: 3}\n",
      "job.yaml:1:11: outputs./a: expected a string, found a whole number (quote it if you mean a string)" },
    { "slurm: 3\n", "job.yaml:1:1: slurm: expected a mapping, found a whole number" },
    { "time: {h: 1}\n", "job.yaml:1:1: time: expected a duration such as 90s, 30m, 12h or 2d, "
                        "found a mapping" },
    /* values that do not parse, or are out of range */
    { "time: soon\n", "job.yaml:1:1: time: 'soon' is not a duration such as 90s, 30m, 12h or 2d" },
    { "time: 0s\n", "job.yaml:1:1: time: out of range, expected 1s or more" },
    { "grace: 2d\n", "job.yaml:1:1: grace: out of range, expected 0s to 1d" },
    { "memory: 3 cows\n", "job.yaml:1:1: memory: '3 cows' is not a size such as 512MiB or 64GB" },
    { "memory: 99999999999999999999GB\n",
      "job.yaml:1:1: memory: '99999999999999999999GB' is too large" },
    { "gpus: H100\n", "job.yaml:1:1: gpus: 'H100' is not a number of GPUs such as 8 or H100:8" },
    { "gpus: -1\n", "job.yaml:1:1: gpus: '-1' is not a number of GPUs such as 8 or H100:8" },
    { "nodes: 0\n", "job.yaml:1:1: nodes: out of range, expected 1 to 4096" },
    { "nodes: 4097\n", "job.yaml:1:1: nodes: out of range, expected 1 to 4096" },
    { "cpus: 0\n", "job.yaml:1:1: cpus: '0' is not greater than 0" },
    { "cpus: -0.5\n", "job.yaml:1:1: cpus: '-0.5' is not greater than 0" },
    { "retry: {max: -1}\n", "job.yaml:1:9: retry.max: out of range, expected 0 to 1000" },
    { "launcher: torchrn\n", "job.yaml:1:1: launcher: 'torchrn' is not one of none, torchrun, "
                             "mpi, ray (did you mean 'torchrun'?)" },
    { "retry: {on: [node, bug]}\n",
      "job.yaml:1:20: retry.on[1]: 'bug' is not one of node, gpu, network, preempted, image, "
      "memory, time, storage, user, unknown" },
    /* what a type cannot say */
    { "command: '  '\n", "job.yaml:1:1: command: '  ' is not a command" },
    { "secrets: [HF-TOKEN]\n", "job.yaml:1:11: secrets: 'HF-TOKEN' is not the name of an "
                               "environment variable (names only, never values)" },
    { "env: {1A: x}\n", "job.yaml:1:7: env: '1A' is not the name of an environment variable" },
    { "labels: {a=b: x}\n",
      "job.yaml:1:10: labels: 'a=b' is not a label: letters, digits, and . _ / - inside" },
    { "outputs: [../up]\n", "job.yaml:1:11: outputs: '../up' is not a path without '..'" },
    { "retry: {wait: 10m..30s}\n", "job.yaml:1:9: retry.wait: '10m..30s' is not a duration such "
                                   "as 30s, or a range such as 30s..10m" },
    { "python: {venv: v}\n", "job.yaml:1:10: python: 'script' is required" },
    { "command: x\npython: {script: y}\n",
      "job.yaml:2:1: 'command' and 'python' both set what to run: keep one" },
    /* secrets, platforms, contradictions */
    { "secrets: [A]\nenv: {A: hidden}\n",
      "job.yaml:2:7: env.A: A is one of the secrets, and a secret has no value here" },
    { "platform: [slurm, kubernets]\n", "job.yaml:1:1: unknown platform 'kubernets'" },
    { "platform: slrm\n", "job.yaml:1:1: unknown platform 'slrm' (did you mean 'slurm'?)" },
    { "platform: lepton\n",
      "lepton: 'node_group' is required (or set LEPTON_NODE_GROUP)" },
    { "time: 1h\nslurm: {time: 2h}\n",
      "job.yaml:2:9: slurm.time contradicts 'time': a platform block may only add to the "
      "portable part" },
    { "slurm: {time: 0s}\n", "job.yaml:1:9: slurm.time: out of range, expected 1s or more" },
    { "slurm: {env: {1A: x}}\n",
      "job.yaml:1:15: slurm.env: '1A' is not the name of an environment variable" },
    { "platform: local\nslurm: {qos: hih}\n",
      "job.yaml:2:9: slurm.qos: 'hih' is not one of normal, high (did you mean 'high'?)" },
};

static void each_mistake_is_reported_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(mistakes); i++) {
        const char *message = must_fail(&(struct given){ .job = mistakes[i].job });

        assert_string_equal(message, mistakes[i].message);
    }
}

static void all_mistakes_are_reported_at_once_and_in_order(void **state)
{
    const char *message = must_fail(&(struct given){
        .job = "gpu: 1\nnodes: 0\nenv: {A: [1]}\nslurm: {qos: x}\n" });

    (void)state;
    assert_string_equal(message,
        "job.yaml:1:1: unknown key 'gpu' (did you mean 'gpus'?)\n"
        "job.yaml:2:1: nodes: out of range, expected 1 to 4096\n"
        "job.yaml:3:7: env.A: expected a string, found a list\n"
        "job.yaml:4:9: slurm.qos: 'x' is not one of normal, high");
}

static void flags_file_profile_and_environment_are_reported_together(void **state)
{
    const char *message = must_fail(&(struct given){
        .job = "platform: slurm\nnodes: 0\n",
        .profiles = "[slurm]\npartitoin = \"x\"\n",
        .environment = (const char *const[]){ "SLURM_TIME=soon", NULL } });

    (void)state;
    assert_string_equal(message,
        "job.yaml:2:1: nodes: out of range, expected 1 to 4096\n"
        "env.toml:2:1: unknown key 'partitoin' in profile [slurm] (did you mean 'partition'?)\n"
        "environment SLURM_TIME: time: 'soon' is not a duration such as 90s, 30m, 12h or 2d");
}

static void a_hundred_mistakes_are_counted_not_listed(void **state)
{
    sw_auto(sw_buf) struct sw_buf job = SW_BUF_INIT;
    const char *message, *at;
    int lines = 1;

    (void)state;
    for (int i = 0; i < 100; i++)
        sw_buf_addf(&job, "unknownunknown%d: 1\n", i);
    message = must_fail(&(struct given){ .job = job.data });
    for (at = message; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, SPEC_PROBLEMS_SHOWN + 1);
    assert_non_null(strstr(message, "\n... and 88 more"));
}

static void an_error_points_to_the_schema(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    assert_null(resolve(&(struct given){ .job = "gpu: 1\n" }, &err));
    assert_int_equal(err.code, SW_E_SPEC);
    assert_non_null(strstr(err.hint, "slipway help job KEY"));
}

static void odd_words_are_shown_harmlessly(void **state)
{
    const char *message = must_fail(&(struct given){
        .job = "\"a\\e[31m\\nb\": 1\n" });

    (void)state;
    assert_null(strchr(message, '\033'));
    assert_null(strchr(message, '\n'));
}

static void everything_of_the_design_is_accepted(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){ .job =
        "name: dino-train\nimage: nvcr.io/nvidia/tao/tao-toolkit:6.26.3-pyt\n"
        "command: dino train -e {config_path}\ngpus: H100:8\nnodes: 2\ncpus: 64\n"
        "memory: 512GiB\nshm: 64GiB\ntime: 12h\nlauncher: none\nworld_size: ranks\n"
        "env: {NCCL_DEBUG: INFO}\nsecrets: [NGC_KEY, HF_TOKEN]\n"
        "inputs:\n  /data/train.json: s3://bucket/coco/train.json\n  /model: hf_model://org/name\n"
        "config:\n  dataset: {train: 's3://bucket/coco/'}\nconfig_format: yaml\n"
        "outputs:\n  /results: {to: 's3://bucket/runs/{id}/', every: 10m, exclude: ['*.tmp']}\n"
        "checkpoint: {dir: /results/ckpt, resume: auto}\n"
        "code: {root: ., include: [src], exclude: [tests]}\n"
        "retry: {max: 10, on: [node, gpu, network, preempted, image], wait: 30s..10m, "
        "avoid_bad_nodes: true}\n"
        "guard: {no_output: 45m, idle_gpu: 30m}\nlabels: {team: vision}\n"
        "platform: [slurm, lepton]\nslurm: {partition: batch, account: edgeai}\n"
        "lepton: {node_group: train}\nkeep: 7d\nworkdir: /w\n" });

    (void)state;
    expect_json(spec->options, "{\"partition\":\"batch\",\"account\":\"edgeai\","
                               "\"qos\":\"normal\",\"time\":\"12h\","
                               "\"env\":{\"NCCL_DEBUG\":\"INFO\"}}");
    assert_null(json_object_get(spec->job, "slurm"));
    assert_null(json_object_get(spec->job, "lepton"));
    expect_json(json_object_get(json_object_get(spec->job, "outputs"), "/results"),
                "{\"to\":\"s3://bucket/runs/{id}/\",\"every\":\"10m\",\"exclude\":[\"*.tmp\"]}");
}

static void a_bare_number_is_seconds_wherever_a_duration_is_and_no_value_is_none_given(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "command: x\nretry: {wait: 5}\nenv: {A: , B: b}\nlabels: {team: }\n" });

    (void)state;
    assert_string_equal(sw_json_str(json_object_get(spec->job, "retry"), "wait"), "5");
    expect_json(json_object_get(spec->job, "env"), "{\"B\":\"b\"}");
    assert_int_equal(json_object_size(json_object_get(spec->job, "labels")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_reported_with_its_place),
        cmocka_unit_test(all_mistakes_are_reported_at_once_and_in_order),
        cmocka_unit_test(flags_file_profile_and_environment_are_reported_together),
        cmocka_unit_test(a_hundred_mistakes_are_counted_not_listed),
        cmocka_unit_test(an_error_points_to_the_schema),
        cmocka_unit_test(odd_words_are_shown_harmlessly),
        cmocka_unit_test(everything_of_the_design_is_accepted),
        cmocka_unit_test(a_bare_number_is_seconds_wherever_a_duration_is_and_no_value_is_none_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
