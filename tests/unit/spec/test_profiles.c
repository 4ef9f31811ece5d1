/* SPDX-License-Identifier: Apache-2.0 */
/* test_profiles.c - sections, what they inherit, shared sections, and mistakes in them. */
#include "fixture.h"

#include "base/file.h"

static const char family[] =
    "[lepton]\n"
    "node_group = \"base\"\n"
    "gpus = \"H100:8\"\n"
    "time = \"1h\"\n"
    "\n"
    "[lepton.env]\n"
    "A = \"base\"\n"
    "B = \"base\"\n"
    "\n"
    "[lepton_sft]\n"
    "inherit = [\"first\", \"second\"]\n"
    "time = \"2h\"\n"
    "env = { A = \"sft\" }\n"
    "\n"
    "[first]\n"
    "nodes = 2\n"
    "\n"
    "[second]\n"
    "nodes = 3\n"
    "memory = \"8GiB\"\n";

static void a_section_inherits_by_name_and_on_request(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec =
        must_resolve(&(struct given){ .profiles = family, .profile = "lepton_sft" });
    const json_t *env = json_object_get(spec->job, "env");

    (void)state;
    assert_string_equal(spec->platform, "lepton");
    assert_string_equal(sw_json_str(spec->job, "time"), "2h");
    assert_string_equal(sw_json_str(spec->job, "gpus"), "H100:8");
    assert_int_equal(sw_json_int(spec->job, "nodes", 0), 2);
    assert_string_equal(sw_json_str(spec->job, "memory"), "8GiB");
    assert_string_equal(sw_json_str(spec->options, "node_group"), "base");
    assert_string_equal(sw_json_str(env, "A"), "sft");
    assert_string_equal(sw_json_str(env, "B"), "base");
    assert_int_equal(json_object_size(env), 2);           /* inherited sections are not shared */
    assert_string_equal(sw_json_str(spec->sources, "nodes"), "profile [first] env.toml:16");
    assert_string_equal(sw_json_str(spec->sources, "lepton.node_group"),
                        "profile [lepton] env.toml:2");
}

static void without_a_choice_the_section_of_the_platform_counts(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec =
        must_resolve(&(struct given){ .job = "platform: lepton\n", .profiles = family });

    (void)state;
    assert_string_equal(sw_json_str(spec->job, "time"), "1h");
    assert_int_equal(sw_json_int(spec->job, "nodes", 0), 1);
}

static void shared_sections_become_variables_of_every_job(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "env: {WANDB_MODE: online}\n",
        .profiles = "[wandb]\nproject = \"x\"\nmode = \"offline\"\nretries = 3\n"
                    "WANDB_ENTITY = \"team\"\n\n[my-tool]\nlog-level = \"info\"\n\n[prices]\nH100 = 2.5\n" });

    (void)state;
    expect_json(json_object_get(spec->job, "env"),
                "{\"WANDB_MODE\":\"online\",\"WANDB_PROJECT\":\"x\",\"WANDB_RETRIES\":\"3\","
                "\"WANDB_ENTITY\":\"team\",\"MY_TOOL_LOG_LEVEL\":\"info\"}");
    assert_string_equal(sw_json_str(spec->sources, "env.WANDB_PROJECT"),
                        "profile [wandb] env.toml:2");
}

static void a_credential_in_a_profile_earns_a_warning(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .profile = "lepton",
        .profiles = "[lepton]\nnode_group = \"a\"\nworkspace_token = \"hunter2\"\n"
                    "[wandb]\napi_key = \"hunter2\"\n" });
    sw_autofree char *all = sw_json_dump(spec->warnings);

    (void)state;
    assert_int_equal(json_array_size(spec->warnings), 2);
    assert_non_null(strstr(all, "env.toml:3:1: 'workspace_token' looks like a credential"));
    assert_non_null(strstr(all, "env.toml:5:1: env.WANDB_API_KEY looks like a credential"));
    assert_null(strstr(all, "hunter2"));
}

/* ---- NeMo-Run's words --------------------------------------------------------------------------- */

static const struct sw_option cluster_options[] = {
    { "hostname", SW_TEXTS, SW_CONNECTION }, { "transport", SW_TEXT, SW_CONNECTION }, { "user", SW_TEXT },
    { "identity", SW_TEXT, SW_CONNECTION }, { "base_dir", SW_TEXT, SW_CONNECTION }, { "partition", SW_TEXTS },
    { "account", SW_TEXT }, { "setup_lines", SW_TEXTS }, { "container_mounts", SW_TEXTS }, { "mem", SW_TEXT },
    { "cpus_per_task", SW_WHOLE }, { "exclusive", SW_FLAG }, { 0 }
};
static const struct sw_option volume_fields[] = { { "source", SW_TEXT, .required = true }, { 0 } };
static const struct sw_option node_group_options[] = {
    { "workspace", SW_TEXT, SW_CONNECTION }, { "node_group", SW_TEXT }, { "resource_shape", SW_TEXT },
    { "volumes", SW_MAP_OF, .fields = volume_fields }, { "reservation", SW_TEXT },
    { "image_pull_secret", SW_TEXT }, { 0 }
};
static const struct sw_option project_options[] = {
    { "base_url", SW_TEXT, SW_CONNECTION }, { "kube_apiserver_url", SW_TEXT, SW_CONNECTION },
    { "project_name", SW_TEXT, SW_CONNECTION }, { "client_id", SW_TEXT }, { "client_secret", SW_TEXT },
    { "app_id", SW_TEXT }, { "app_secret", SW_TEXT }, { "dgxcloud_max_args_chars", SW_WHOLE },
    { "volumes", SW_MAP_OF, .fields = volume_fields }, { 0 }
};
static const struct sw_spec_platform cloud_platforms[] = {
    { "slurm", cluster_options }, { "lepton", node_group_options }, { "dgxcloud", project_options },
};

/* An env.toml as Nemotron's recipes have it. */
static const char nemo_run[] =
    "[wandb]\nproject = \"nemotron\"\nentity = \"team\"\n"
    "[lepton]\nexecutor = \"lepton\"\ncontainer_image = \"nvcr.io/nvidia/nemo:25.09\"\n"
    "node_group = \"h100-prod\"\nresource_shape = \"gpu.8xh100-80gb\"\nnodes = 1\ngpus_per_node = 8\n"
    "nprocs_per_node = 8\nshared_memory_size = 65536\nnemo_run_dir = \"/mnt/nemo_run\"\n"
    "workspace = \"/mnt/workspace\"\nray_version = \"2.48.0\"\npip_extras = [\"typer\"]\n"
    "image_pull_secrets = [\"ngc\"]\nnode_reservation = \"r1\"\nlauncher = \"torchrun\"\n"
    "mounts = [{ path = \"/\", mount_path = \"/mnt\", from = \"node-nfs:lustre\" }, "
    "{ path = \"/home\", mount_path = \"/own\" }]\n"
    "env_vars = { HF_HOME = \"/mnt/hf\" }\n"
    "[lepton_gcp]\nnode_group = \"gcp\"\n"
    "[lepton_sft]\nnodes = 4\ntime = \"1-02:30:00\"\n"
    "[dgxcloud]\nexecutor = \"dgxcloud\"\nbase_url = \"https://x.run.ai/api/v1\"\n"
    "kube_apiserver_url = \"https://k.example\"\nclient_id = \"id\"\nclient_secret = \"canary-7\"\n"
    "app_id = \"old\"\napp_secret = \"canary-8\"\nproject_name = \"team\"\nnodes = 2\ngpus_per_node = 0\n"
    "container_image = \"img\"\npvc_nemo_run_dir = \"/nemo_run\"\ndgxcloud_max_args_chars = 9000\n"
    "pvcs = [{ name = \"data\", path = \"/data\" }]\ndistributed_framework = \"PyTorch\"\n"
    "[slurm]\nexecutor = \"slurm\"\naccount = \"a\"\npartition = \"batch\"\nrun_partition = "
    "\"interactive\"\n"
    "batch_partition = \"backfill\"\ntunnel = \"ssh\"\nhost = \"login\"\nuser = \"me\"\n"
    "identity = \"~/.ssh/id\"\nremote_job_dir = \"/lustre/me\"\ntime = \"04:00:00\"\nntasks_per_node = 8\n"
    "gpus_per_node = 8\nmem = \"0\"\nexclusive = true\nmounts = [\"/lustre:/lustre\"]\n"
    "repo_root = \"/home/me/repo\"\nsetup_lines = \"module load x\"\n"
    "[my-cluster]\nexecutor = \"slurm\"\nhost = \"other\"\n"
    "[pretrain]\nextends = \"my-cluster\"\nnodes = 16\n";

static struct sw_spec *resolve_nemo_run(const char *profile)
{
    const struct sw_profile_file file = { "env.toml", nemo_run, strlen(nemo_run), true };
    sw_auto(sw_profiles) struct sw_profiles *profiles = sw_profiles_load(&file, NULL, NULL);
    struct sw_error err = { 0 };
    struct sw_spec_input input = {
        .profiles = profiles, .profile = profile, .platforms = cloud_platforms,
        .platform_count = SW_COUNT(cloud_platforms), .default_platform = "slurm",
    };
    struct sw_spec *spec;

    assert_non_null(profiles);
    spec = sw_spec_resolve(&input, &err);
    if (!spec)
        fail_msg("%s", err.message);
    return spec;
}

static void an_env_toml_of_nemo_run_means_the_same_here(void **state)
{
    sw_auto(sw_spec) struct sw_spec *sft = resolve_nemo_run("lepton_sft");
    sw_auto(sw_spec) struct sw_spec *gcp = resolve_nemo_run("lepton_gcp");
    sw_auto(sw_spec) struct sw_spec *dgx = resolve_nemo_run("dgxcloud");
    sw_auto(sw_spec) struct sw_spec *slurm = resolve_nemo_run("slurm");
    sw_auto(sw_spec) struct sw_spec *pretrain = resolve_nemo_run("pretrain");

    (void)state;
    assert_string_equal(sw_json_str(sft->job, "image"), "nvcr.io/nvidia/nemo:25.09");
    assert_int_equal(sw_json_int(sft->job, "nodes", 0), 4);
    assert_string_equal(sw_json_str(sft->job, "gpus"), "8");
    assert_string_equal(sw_json_str(sft->job, "shm"), "65536MiB");
    assert_string_equal(sw_json_str(sft->job, "time"), "1d2h30m");
    expect_json(json_object_get(sft->job, "env"),
                "{\"HF_HOME\":\"/mnt/hf\",\"WANDB_PROJECT\":\"nemotron\",\"WANDB_ENTITY\":\"team\"}");
    expect_json(sft->options, "{\"node_group\":\"h100-prod\",\"resource_shape\":\"gpu.8xh100-80gb\","
                "\"image_pull_secret\":\"ngc\",\"reservation\":\"r1\","
                "\"volumes\":{\"/mnt\":{\"source\":\"lustre\"},\"/own\":{\"source\":\"/home\"}}}");
    assert_string_equal(sw_json_str(gcp->options, "node_group"), "gcp");
    assert_string_equal(sw_json_str(dgx->options, "client_id"), "id");
    assert_string_equal(sw_json_str(dgx->job, "gpus"), "0");
    assert_int_equal(sw_json_int(dgx->options, "dgxcloud_max_args_chars", 0), 9000);
    expect_json(json_object_get(dgx->options, "volumes"), "{\"/data\":{\"source\":\"pvc:data\"}}");
    assert_string_equal(sw_json_str(slurm->job, "time"), "4h");
    assert_string_equal(sw_json_str(json_object_get(slurm->job, "code"), "root"), "/home/me/repo");
    expect_json(json_object_get(slurm->options, "partition"), "[\"batch\"]");
    expect_json(json_object_get(slurm->options, "hostname"), "[\"login\"]");
    assert_string_equal(sw_json_str(slurm->options, "base_dir"), "/lustre/me");
    assert_string_equal(sw_json_str(slurm->options, "identity"), "~/.ssh/id");
    assert_string_equal(pretrain->platform, "slurm");
    assert_int_equal(sw_json_int(pretrain->job, "nodes", 0), 16);
    expect_json(json_object_get(pretrain->options, "hostname"), "[\"other\"]");
}

static void words_of_nemo_run_are_noted_once(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = resolve_nemo_run("lepton_sft");
    sw_auto(sw_spec) struct sw_spec *dgx = resolve_nemo_run("dgxcloud");
    sw_autofree char *said = sw_json_dump(dgx->warnings), *where = sw_json_dump(dgx->sources);

    (void)state;
    assert_int_equal(json_array_size(spec->warnings), 1);
    assert_string_equal(json_string_value(json_array_get(spec->warnings, 0)),
        "profile [lepton_sft] uses NeMo-Run keys: container_image is image, gpus_per_node is gpus, "
        "shared_memory_size is shm, image_pull_secrets is image_pull_secret, node_reservation is "
        "reservation, mounts is volumes, env_vars is env; without effect here: nprocs_per_node, "
        "nemo_run_dir, workspace, ray_version, pip_extras");
    assert_null(strstr(said, "canary"));
    assert_null(strstr(where, "canary"));
}

static void words_of_nemo_run_need_trust_as_ours_do(void **state)
{
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(nemo_run, strlen(nemo_run), SW_TOML, "env.toml", NULL);
    sw_auto(json) json_t *keys = sw_spec_sensitive_keys(sw_document_value(document), true, cloud_platforms,
                                                        SW_COUNT(cloud_platforms));
    sw_autofree char *all = sw_json_dump(keys);

    (void)state;
    assert_non_null(strstr(all, "slurm.host"));
    assert_non_null(strstr(all, "slurm.tunnel"));
    assert_non_null(strstr(all, "slurm.remote_job_dir"));
    assert_non_null(strstr(all, "slurm.repo_root"));
    assert_null(strstr(all, "container_image"));
}

static const struct { struct given given; const char *message; } mistakes[] = {
    { { .profile = "slurm", .profiles = "[slurm]\npartiton = \"x\"\n" },
      "env.toml:2:1: unknown key 'partiton' in profile [slurm] (did you mean 'partition'?)" },
    { { .profile = "slurm", .profiles = "[slurm]\nnodes = \"x\"\n" },
      "env.toml:2:1: nodes: expected a whole number, found a string" },
    { { .profile = "slurm", .profiles = "[slurm]\nqos = \"x\"\n" },
      "env.toml:2:1: slurm.qos: 'x' is not one of normal, high" },
    { { .profile = "slurm_a",
        .profiles = "[slurm_a]\ninherit = \"b\"\n[b]\ninherit = \"c\"\n[c]\ninherit = \"b\"\n" },
      "env.toml:6:1: profile [b] inherits itself through [c]" },
    { { .profile = "slurm_a", .profiles = "[slurm_a]\ninherit = \"slurm_a\"\n" },
      "env.toml:2:1: profile [slurm_a] inherits itself through [slurm_a]" },
    { { .profile = "slurm_a", .profiles = "[slurm_a]\ninherit = \"missing\"\n" },
      "env.toml:2:1: profile [slurm_a] inherits [missing], which does not exist" },
    { { .profile = "slurm_a", .profiles = "[slurm_a]\ninherit = 3\n" },
      "env.toml:2:1: inherit: expected the name of a section, or a list of names" },
    { { .profile = "missing", .profiles = "[slurm]\n" },
      "no profile [missing] in env.toml or ~/.config/slipway/profiles.toml" },
    { { .profile = "missing" },
      "no profile [missing] in env.toml or ~/.config/slipway/profiles.toml" },
    { { .profile = "odd", .profiles = "[odd]\nA = \"1\"\n" },
      "profile [odd] belongs to no platform: add platform = \"NAME\" to it" },
    { { .profile = "odd", .profiles = "[odd]\nplatform = \"slrm\"\n" },
      "env.toml:2:1: unknown platform 'slrm' (did you mean 'slurm'?)" },
    { { .profile = "slurm_x", .profiles = "[slurm_x]\nplatform = \"lepton\"\n",
        .job = "platform: lepton\nlepton: {node_group: a}\n" },
      "env.toml:2:1: platform 'lepton' contradicts the name of section [slurm_x]" },
    { { .profile = "slurm", .profiles = "[slurm]\n", .job = "platform: local\n" },
      "profile [slurm] is for slurm, but the job goes to local" },
    { { .profiles = "[wandb]\nlist = [1]\n" },
      "env.toml:2:1: env.WANDB_LIST: expected a string, found a list" },
    { { .profiles = "[wandb]\n\"a b\" = \"x\"\n" },
      "env.toml:2:1: env: 'WANDB_A B' is not the name of an environment variable" },
    { { .profiles = "a = 1\n" }, "env.toml:1:1: 'a' is outside any section" },
    { { .profiles = "[wandb]\ntoken_id = \"x\"\n", .job = "secrets: [WANDB_TOKEN_ID]\n" },
      "profile [wandb] env.toml:2: env.WANDB_TOKEN_ID: WANDB_TOKEN_ID is one of the secrets, "
      "and a secret has no value here" },
};

static void mistakes_in_profiles_are_reported_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(mistakes); i++)
        assert_string_equal(must_fail(&mistakes[i].given), mistakes[i].message);
}

static void a_mistake_in_another_section_does_not_stop_the_job(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "platform: slurm\n", .profiles = "[lepton]\nnonsense = 1\n[slurm]\nnodes = 2\n" });

    (void)state;
    assert_int_equal(sw_json_int(spec->job, "nodes", 0), 2);
}

static void the_project_wins_over_the_home(void **state)
{
    char folder[] = "/tmp/slipway-profiles-XXXXXX";
    sw_autofree char *home = NULL, *config = NULL, *file = NULL;
    static const char mine[] = "[slurm]\npartition = \"project\"\n";
    const struct sw_profile_file found = { "env.toml", mine, strlen(mine), true };
    static const char yours[] = "[slurm]\npartition = \"home\"\naccount = \"home\"\n";
    sw_auto(sw_profiles) struct sw_profiles *none = NULL;
    sw_auto(sw_profiles) struct sw_profiles *profiles = NULL;
    sw_auto(sw_spec) struct sw_spec *spec = NULL;
    struct sw_spec_input input = {
        .platforms = test_platforms, .platform_count = SW_COUNT(test_platforms),
        .default_platform = "slurm",
    };

    (void)state;
    assert_non_null(mkdtemp(folder));
    none = sw_profiles_load(NULL, folder, NULL);
    assert_non_null(none);
    home = sw_path_join(folder, "home");
    config = sw_path_join(home, ".config/slipway");
    file = sw_path_join(config, "profiles.toml");
    assert_int_equal(sw_mkdirs(config, 0700, NULL), 0);
    assert_int_equal(sw_file_write(file, yours, strlen(yours), 0600, NULL), 0);
    input.profiles = profiles = sw_profiles_load(&found, home, NULL);
    assert_non_null(profiles);
    spec = sw_spec_resolve(&input, NULL);
    assert_non_null(spec);
    assert_string_equal(sw_json_str(spec->options, "partition"), "project");
    assert_string_equal(sw_json_str(spec->options, "account"), "home");
    assert_string_equal(sw_json_str(spec->sources, "slurm.account"),
                        "profile [slurm] ~/.config/slipway/profiles.toml:3");
    assert_int_equal(sw_remove_tree(folder, NULL), 0);
}

/* "profile slurm.tunnel, job hooks": what stands in the way of a job that goes to slurm. */
static char *untrusted(const char *profiles_text, const char *job_text, const char *flag)
{
    const struct sw_profile_file found = { "env.toml", profiles_text, strlen(profiles_text), false };
    sw_auto(sw_profiles) struct sw_profiles *profiles = sw_profiles_load(&found, NULL, NULL);
    sw_auto(sw_document) struct sw_document *job =
        sw_document_parse(job_text, strlen(job_text), SW_YAML, "job.yaml", NULL);
    json_t *values = json_object();
    sw_auto(sw_document) struct sw_document *flags = sw_document_from_json(values, "flags");
    sw_auto(sw_spec) struct sw_spec *spec = NULL;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct sw_spec_input input = {
        .profiles = profiles, .job = job, .job_untrusted = true, .flags = flags,
        .platforms = test_platforms, .platform_count = SW_COUNT(test_platforms),
        .default_platform = "slurm",
    };
    struct sw_error err = { 0 };
    json_t *each;
    size_t i;

    if (flag)
        assert_int_equal(sw_spec_set_text(values, test_platforms, SW_COUNT(test_platforms), flag,
                                          "true", NULL), 0);
    spec = sw_spec_resolve(&input, &err);
    if (!spec)
        fail_msg("%s", err.message);
    json_array_foreach(spec->untrusted, i, each)
        sw_buf_addf(&out, "%s%s %s", out.length ? ", " : "", sw_json_str(each, "from"),
                    sw_json_str(each, "key"));
    return sw_strdup(sw_buf_text(&out));
}

static const struct { const char *profiles, *job, *flag, *noted; } trust_cases[] = {
    { "", "nodes: 1", NULL, "" },
    { "[slurm]\npartition = \"x\"\nnodes = 2\n", "nodes: 1", NULL, "" },
    { "[slurm]\ntunnel = true\n", "nodes: 1", NULL, "profile slurm.tunnel" },
    { "[slurm]\ntunnel = true\n", "nodes: 1", "slurm.tunnel", "" },
    { "[base]\ntunnel = true\n[slurm]\ninherit = \"base\"\n", "nodes: 1", NULL,
      "profile slurm.tunnel" },
    { "[lepton]\nnode_group = \"x\"\ncommand = \"x\"\n", "nodes: 1", NULL, "" },
    { "[slurm]\nhooks = {on_error = \"x\"}\ncommand = \"x\"\n", "nodes: 1", NULL,
      "profile command, profile hooks" },
    { "[slurm]\ncommand = \"x\"\n", "command: y", NULL, "" },
    { "[slurm]\nenv = {LD_PRELOAD = \"x\", A = \"1\"}\n", "nodes: 1", NULL,
      "profile env.LD_PRELOAD" },
    { "[git]\nssh_command = \"x\"\n", "nodes: 1", NULL, "profile env.GIT_SSH_COMMAND" },
    { "[wandb]\nproject = \"x\"\n", "nodes: 1", NULL, "" },
    { "", "{command: x, env: {LD_PRELOAD: x}, mounts: ['/:/host']}", NULL, "" },
    { "", "{slurm: {tunnel: true}}", NULL, "job slurm.tunnel" },
    { "", "{slurm: {tunnel: false}}", "slurm.tunnel", "" },
    { "", "{hooks: {on_error: x}, notify: {webhook: 'https://x'}}", NULL, "job hooks, job notify" },
};

static void what_a_file_decides_that_is_not_trusted_is_noted(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(trust_cases); i++) {
        sw_autofree char *noted = untrusted(trust_cases[i].profiles, trust_cases[i].job,
                                            trust_cases[i].flag);

        if (strcmp(noted, trust_cases[i].noted) != 0)
            fail_msg("case %zu: %s", i, noted);
    }
}

static void all_that_trust_would_let_through_is_listed(void **state)
{
    static const char text[] = "[slurm_big]\ntunnel = true\npartition = \"x\"\n"
                               "env = {LD_PRELOAD = \"x\"}\n[lepton]\nhooks = {}\n[git]\ndir = 1\n";
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(text, strlen(text), SW_TOML, "env.toml", NULL);
    sw_auto(json) json_t *keys = sw_spec_sensitive_keys(sw_document_value(document), true,
                                                        test_platforms, SW_COUNT(test_platforms));
    sw_autofree char *shown = sw_json_dump(keys);

    (void)state;
    assert_string_equal(shown, "[\"slurm_big.tunnel\",\"slurm_big.env.LD_PRELOAD\","
                               "\"lepton.hooks\",\"git.dir\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_inherits_by_name_and_on_request),
        cmocka_unit_test(what_a_file_decides_that_is_not_trusted_is_noted),
        cmocka_unit_test(all_that_trust_would_let_through_is_listed),
        cmocka_unit_test(without_a_choice_the_section_of_the_platform_counts),
        cmocka_unit_test(shared_sections_become_variables_of_every_job),
        cmocka_unit_test(a_credential_in_a_profile_earns_a_warning),
        cmocka_unit_test(mistakes_in_profiles_are_reported_with_their_place),
        cmocka_unit_test(a_mistake_in_another_section_does_not_stop_the_job),
        cmocka_unit_test(an_env_toml_of_nemo_run_means_the_same_here),
        cmocka_unit_test(words_of_nemo_run_are_noted_once),
        cmocka_unit_test(words_of_nemo_run_need_trust_as_ours_do),
        cmocka_unit_test(the_project_wins_over_the_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
