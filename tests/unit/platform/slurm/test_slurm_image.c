/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_image.c - images: every way to write one, and one import however many jobs ask. */
#include "shell.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text.h"
#include "plan/mounts.h"
#include "platform/slurm/slurm_image.h"
#include "platform/slurm/slurm_internal.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- names -------------------------------------------------------------------------------- */

static void each_way_to_write_an_image_becomes_what_pyxis_and_enroot_take(void **state)
{
    static const struct { const char *text, *pyxis, *enroot, *file; } rows[] = {
        { "nvcr.io/nvidia/tao/t:1", "nvcr.io#nvidia/tao/t:1", "docker://nvcr.io#nvidia/tao/t:1",
          "nvcr.io_nvidia_tao_t_1.sqsh" },
        { "nvcr.io#nvidia/tao/t:1", "nvcr.io#nvidia/tao/t:1", "docker://nvcr.io#nvidia/tao/t:1",
          "nvcr.io_nvidia_tao_t_1.sqsh" },
        { "docker://nvcr.io#nvidia/tao/t:1", "nvcr.io#nvidia/tao/t:1",
          "docker://nvcr.io#nvidia/tao/t:1", "nvcr.io_nvidia_tao_t_1.sqsh" },
        { "docker://nvcr.io/nvidia/tao/t:1", "nvcr.io#nvidia/tao/t:1",
          "docker://nvcr.io#nvidia/tao/t:1", "nvcr.io_nvidia_tao_t_1.sqsh" },
        { "ubuntu:22.04", "ubuntu:22.04", "docker://ubuntu:22.04", "ubuntu_22.04.sqsh" },
        { "ubuntu", "ubuntu:latest", "docker://ubuntu:latest", "ubuntu_latest.sqsh" },
        { "team/app", "team/app:latest", "docker://team/app:latest", "team_app_latest.sqsh" },
        { "docker.io/library/ubuntu:22.04", "ubuntu:22.04", "docker://ubuntu:22.04",
          "ubuntu_22.04.sqsh" },
        { "localhost/app:1", "localhost#app:1", "docker://localhost#app:1", "localhost_app_1.sqsh" },
        { "host.example:5000/app:1", "host.example:5000#app:1",
          "docker://host.example:5000#app:1", "host.example_5000_app_1.7b57bd26.sqsh" },
        { "me@nvcr.io#org/app:1", "me@nvcr.io#org/app:1", "docker://me@nvcr.io#org/app:1",
          "nvcr.io_org_app_1.sqsh" },
        { "$oauthtoken@nvcr.io#org/app:1", "$oauthtoken@nvcr.io#org/app:1",
          "docker://$oauthtoken@nvcr.io#org/app:1", "nvcr.io_org_app_1.sqsh" },
        { "nvcr.io/org/app:1@" DIGEST, "nvcr.io#org/app@" DIGEST, "docker://nvcr.io#org/app@" DIGEST,
          "nvcr.io_org_app_sha256_" HEX ".sqsh" },
        { "ubuntu@" DIGEST, "registry-1.docker.io#library/ubuntu@" DIGEST,
          "docker://registry-1.docker.io#library/ubuntu@" DIGEST,
          "ubuntu_sha256_" HEX ".sqsh" },
        { "/lustre/images/app.sqsh", "/lustre/images/app.sqsh", NULL, NULL },
        { "dockerd://app:1", "dockerd://app:1", NULL, NULL },
        { "none", NULL, NULL, NULL },
        { "", NULL, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(slurm_image) struct slurm_image image = { 0 };
        sw_autofree char *pyxis = NULL, *enroot = NULL, *file = NULL;
        struct sw_error err = { 0 };

        if (slurm_image_parse(rows[i].text, &image, &err) < 0)
            fail_msg("%s", err.message);
        pyxis = slurm_image_pyxis(&image);
        enroot = slurm_image_enroot(&image);
        file = slurm_image_file_name(&image);
        if (!sw_text_same(pyxis, rows[i].pyxis) || !sw_text_same(enroot, rows[i].enroot) ||
            !sw_text_same(file, rows[i].file))
            fail_msg("'%s' became %s, %s, %s", rows[i].text, pyxis, enroot, file);
    }
}

static void two_images_never_share_a_file(void **state)
{
    static const char *const pairs[][2] = {
        { "a/b_c:1", "a/b/c:1" }, { "a/b:c_1", "a/b_c:1" }, { "h.example:5000/a:1", "h.example/5000/a:1" },
        { "a/b:c", "a/b/c" }, { "docker.io/x.io/a:1", "x.io/a:1" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(pairs); i++) {
        sw_auto(slurm_image) struct slurm_image one = { 0 }, two = { 0 };
        sw_autofree char *first = NULL, *second = NULL;

        assert_int_equal(slurm_image_parse(pairs[i][0], &one, NULL), 0);
        assert_int_equal(slurm_image_parse(pairs[i][1], &two, NULL), 0);
        first = slurm_image_file_name(&one);
        second = slurm_image_file_name(&two);
        assert_string_not_equal(first, second);
    }
}

static void what_is_no_image_is_refused_with_the_reason(void **state)
{
    static const struct { const char *text, *says; } rows[] = {
        { "Ubuntu:1", "capital" }, { "app:", "tag" }, { "app@sha256:12", "digest" },
        { "app@md5:12", "digest" }, { "nvcr.io/", "no name" }, { "nvcr.io#:1", "no name" },
        { "a b", "letters" }, { "app;reboot", "letters" }, { "./app.sqsh", "absolute" },
        { "/a$(x).sqsh", "path" }, { "nvcr.io//a:1", "no name" }, { "-h.x#a:1", "host" },
        { "app:1 --x", "tag" }, { "dockerd://a b", "letters" }, { "sha256:" HEX, "one Docker engine" },
        { "[::1]:5000/a:1", "IPv6" }, { "a b@nvcr.io#a:1", "user" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct slurm_image image = { 0 };
        struct sw_error err = { 0 };

        if (slurm_image_parse(rows[i].text, &image, &err) == 0)
            fail_msg("'%s' was taken", rows[i].text);
        if (!strstr(err.message, rows[i].says))
            fail_msg("'%s': %s", rows[i].text, err.message);
    }
}

/* ---- the step's flags --------------------------------------------------------------------- */

/* A job with this image, these mounts and a folder of the site. */
static struct slurm_job job_of(struct sw_plan *plan, const char *image, json_t *mounts,
                               enum slurm_container_kind container)
{
    *plan = (struct sw_plan){ .image = (char *)image, .mounts = mounts };
    return (struct slurm_job){ .plan = plan, .names = { .base = (char *)"/base", .mounts = (char *)"/m" },
                               .options = { .container = container, .mount_home = true,
                                            .container_writable = true } };
}

static void the_flags_of_a_step_say_what_the_options_say(void **state)
{
    sw_auto(json) json_t *mounts = json_pack("[s]", "/data:/results");
    sw_auto(json) json_t *env = json_pack("[s,s]", "A", "it's");
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct sw_plan plan;
    struct slurm_job job = job_of(&plan, "/oci/app", NULL, SLURM_CONTAINER_OCI);

    (void)state;
    assert_int_equal(slurm_container_step(&out, &job, NULL), 0);
    assert_string_equal(sw_buf_text(&out), " --container=/oci/app");
    sw_buf_clear(&out);
    for (int i = 0; i < 2; i++) {
        job = job_of(&plan, i ? "app:1" : NULL, NULL, i ? SLURM_CONTAINER_NONE : SLURM_CONTAINER_AUTO);
        assert_int_equal(slurm_container_step(&out, &job, NULL), 0);
        assert_string_equal(sw_buf_text(&out), "");
    }
    job = job_of(&plan, "app:1", mounts, SLURM_CONTAINER_AUTO);
    job.options.container_env = env;
    assert_int_equal(slurm_container_step(&out, &job, NULL), 0);
    assert_true(sw_text_starts(sw_buf_text(&out), " --container-image=\"$SLIPWAY_IMAGE\""
        " --container-mounts=/base:/base\"${SLIPWAY_MOUNTS:+,$SLIPWAY_MOUNTS}\" --container-env="));
    assert_non_null(strstr(sw_buf_text(&out), ",A,it'\"'\"'s' --no-container-remap-root"
                           " --container-mount-home --no-container-entrypoint --container-writable"));
    sw_buf_clear(&out);
    job = job_of(&plan, "app:1", NULL, SLURM_CONTAINER_AUTO);
    job.options.container_writable = false;
    assert_int_equal(slurm_container_step(&out, &job, NULL), 0);
    assert_non_null(strstr(sw_buf_text(&out), "=/base:/base,\"$slipway_results\":/results --container-env="));
    assert_non_null(strstr(sw_buf_text(&out), " --container-readonly"));
}

static void what_no_container_can_do_is_refused(void **state)
{
    static const struct {
        const char *image, *mount, *says;            /* NULL: it is taken */
        enum slurm_container_kind container;
    } rows[] = {
        { NULL, NULL, NULL, SLURM_CONTAINER_AUTO },
        { "app:1", "/a:/b", NULL, SLURM_CONTAINER_AUTO },
        { NULL, "/a:/b", "without a container", SLURM_CONTAINER_AUTO },
        { "app:1", "/a:/b", "without a container", SLURM_CONTAINER_NONE },
        { NULL, NULL, "names no image", SLURM_CONTAINER_PYXIS },
        { "/oci", NULL, NULL, SLURM_CONTAINER_OCI },
        { "oci", NULL, "absolute path", SLURM_CONTAINER_OCI },
        { "/oci", "/a:/b", "into an OCI bundle", SLURM_CONTAINER_OCI },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *mounts = rows[i].mount ? json_pack("[s]", rows[i].mount) : NULL;
        struct sw_error err = { 0 };
        struct sw_plan plan;
        const struct slurm_job job = job_of(&plan, rows[i].image, mounts, rows[i].container);
        int taken = slurm_container_preflight(&job, &err);

        if ((taken == 0) != !rows[i].says || (rows[i].says && !strstr(err.message, rows[i].says)))
            fail_msg("row %zu: %s", i, err.message);
    }
}

/* ---- the conversion, run for real --------------------------------------------------------- */

static const char enroot_works[] =
    "echo \"$*\" >> \"$HERE/calls\"\n"
    "[ \"$1\" = import ] && [ \"$2\" = -o ] && [ \"$4\" = -- ] || exit 2\n"
    "[ -d \"$ENROOT_TEMP_PATH\" ] && [ -d \"$ENROOT_CACHE_PATH\" ] || exit 3\n"
    "sleep ${SLOW:-1}; printf 'hsqs and more' > \"$3\"\n";

static char *text_for(const struct stage *stage, const char *reference,
                      const struct slurm_cache *like)
{
    sw_autofree char *folder = stage_path(stage, "cache"), *submitted = stage_path(stage, "submitted");
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct slurm_cache cache = *like;

    cache.folder = folder;
    cache.submitted = submitted;
    if (!cache.patience.lease_s)
        cache.patience = (struct slurm_patience){ .lease_s = 3, .beat_s = 1, .wait_s = 30 };
    assert_int_equal(slurm_image_parse(reference, &image, NULL), 0);
    sw_text_once(&out);
    slurm_image_prepare(&out, &image, &cache, "exit 78");
    sw_buf_add(&out, "echo \"$SLIPWAY_IMAGE\"\n");
    return sw_buf_steal(&out);
}

static void ten_jobs_that_ask_together_import_once(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = text_for(stage, "app:1", &(struct slurm_cache){ 0 });
    sw_autofree char *file = sw_format("%s/cache/app_1.sqsh\n", stage->folder);
    pid_t jobs[10];

    stage_program(stage, "enroot", enroot_works);
    for (int i = 0; i < 10; i++) {
        sw_autofree char *name = sw_format("job%d", i);

        jobs[i] = stage_start(stage, stage_shells[i % 2], name, text);
    }
    for (int i = 0; i < 10; i++) {
        sw_autofree char *name = sw_format("job%d.out", i), *said = NULL;

        assert_int_equal(stage_wait(stage, jobs[i]), 0);
        said = stage_read(stage, name);
        assert_string_equal(said, file);
    }
    assert_int_equal(stage_lines(stage, "calls"), 1);
}

static void the_one_who_follows_a_killed_owner_imports_anew(void **state)
{
    struct stage *stage = *state;

    stage_program(stage, "enroot", enroot_works);
    for (size_t s = 0; s < SW_COUNT(stage_shells); s++) {
        sw_autofree char *reference = sw_format("killed%zu:1", s);
        sw_autofree char *turn = sw_format("cache/killed%zu_1.sqsh.lock/1/beat", s);
        sw_autofree char *text = text_for(stage, reference, &(struct slurm_cache){ 0 });
        size_t before = stage_lines(stage, "calls");
        pid_t owner;

        setenv("SLOW", "60", 1);
        owner = stage_start(stage, stage_shells[s], "owner", text);
        stage_until(stage, turn);
        stage_kill(stage, owner);
        setenv("SLOW", "0", 1);
        assert_int_equal(stage_run(stage, stage_shells[s], "follower", text), 0);
        assert_true(stage_lines(stage, "calls") - before <= 2);
    }
    unsetenv("SLOW");
}

static void an_owner_that_is_only_slow_is_waited_for(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = text_for(stage, "app:1", &(struct slurm_cache){ 0 });
    pid_t owner, waiter;

    setenv("SLOW", "6", 1);                        /* twice the lease */
    stage_program(stage, "enroot", enroot_works);
    owner = stage_start(stage, "dash", "owner", text);
    stage_until(stage, "cache/app_1.sqsh.lock/1/beat");
    waiter = stage_start(stage, "bash", "waiter", text);
    assert_int_equal(stage_wait(stage, owner), 0);
    assert_int_equal(stage_wait(stage, waiter), 0);
    assert_int_equal(stage_lines(stage, "calls"), 1);
    unsetenv("SLOW");
}

static void a_failure_is_shared_by_those_who_waited_and_tried_anew_by_the_next(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = text_for(stage, "app:1",
                                      &(struct slurm_cache){ .sqsh = SLURM_SQSH_REQUIRED });
    sw_autofree char *said = NULL;
    pid_t owner, waiter;

    stage_program(stage, "enroot", "echo x >> $HERE/calls; sleep 3; echo 'no such tag' >&2; exit 1\n");
    owner = stage_start(stage, "bash", "owner", text);
    stage_until(stage, "calls");
    waiter = stage_start(stage, "dash", "waiter", text);
    assert_int_equal(stage_wait(stage, owner), 78);
    assert_int_equal(stage_wait(stage, waiter), 78);
    assert_int_equal(stage_lines(stage, "calls"), 1);
    said = stage_read(stage, "waiter.err");
    assert_non_null(strstr(said, "no such tag; enroot import failed with exit code 1 (on "));
    stage_program(stage, "enroot", enroot_works);
    assert_int_equal(stage_run(stage, "dash", "next", text), 0);
}

static void a_failed_conversion_is_said_and_each_node_pulls(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = text_for(stage, "h.example/app:1", &(struct slurm_cache){ 0 });
    sw_autofree char *out = NULL, *err = NULL;

    stage_program(stage, "enroot", "echo 'unauthorized' >&2; exit 1\n");
    assert_int_equal(stage_run(stage, "dash", "job", text), 0);
    out = stage_read(stage, "job.out");
    err = stage_read(stage, "job.err");
    assert_string_equal(out, "h.example#app:1\n");
    assert_non_null(strstr(err, "unauthorized"));
    assert_non_null(strstr(err, "each node pulls"));
}

static void what_is_no_squashfs_is_neither_kept_nor_believed(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = text_for(stage, "app:1",
                                      &(struct slurm_cache){ .sqsh = SLURM_SQSH_REQUIRED });
    sw_autofree char *cache = stage_path(stage, "cache"), *err = NULL, *whole = NULL;

    mkdir(cache, 0700);
    stage_write(stage, "cache/app_1.sqsh", "an error page");
    stage_program(stage, "enroot", "echo x >> $HERE/calls; printf '\\0\\0<html>' > \"$3\"\n");
    for (size_t s = 0; s < SW_COUNT(stage_shells); s++)
        assert_int_equal(stage_run(stage, stage_shells[s], "job", text), 78);
    err = stage_read(stage, "job.err");
    assert_non_null(strstr(err, "left no squashfs image"));
    assert_int_equal(stage_run(stage, "dash", "look", "ls $HERE/cache | grep -c part"), 1);
    stage_program(stage, "enroot", enroot_works);
    assert_int_equal(stage_run(stage, "dash", "again", text), 0);
    whole = stage_read(stage, "cache/app_1.sqsh");
    assert_string_equal(whole, "hsqs and more");
}

static void no_client_waits_longer_than_allowed(void **state)
{
    struct stage *stage = *state;
    const struct slurm_cache brief = { .sqsh = SLURM_SQSH_REQUIRED,
                                       .patience = { .lease_s = 60, .beat_s = 1, .wait_s = 2 } };
    sw_autofree char *text = text_for(stage, "app:1", &brief), *err = NULL, *late = NULL;
    sw_autofree char *limited = text_for(stage, "other:1",
        &(struct slurm_cache){ .sqsh = SLURM_SQSH_REQUIRED, .limit_s = 1 });
    pid_t owner;

    setenv("SLOW", "60", 1);
    stage_program(stage, "enroot", enroot_works);
    owner = stage_start(stage, "bash", "owner", text);
    stage_until(stage, "cache/app_1.sqsh.lock/1/owner");
    assert_int_equal(stage_run(stage, "dash", "waiter", text), 78);
    err = stage_read(stage, "waiter.err");
    assert_non_null(strstr(err, "it is being made by "));
    stage_kill(stage, owner);
    assert_int_equal(stage_run(stage, "dash", "limited", limited), 78);
    late = stage_read(stage, "limited.err");
    assert_non_null(strstr(late, "not done within 1 s"));
    unsetenv("SLOW");
}

static void an_owner_that_is_asked_to_stop_lets_go_at_once(void **state)
{
    struct stage *stage = *state;
    const struct slurm_cache long_lease = { .patience = { .lease_s = 600, .beat_s = 1,
                                                          .wait_s = 30 } };
    sw_autofree char *text = text_for(stage, "app:1", &long_lease);

    stage_program(stage, "enroot", enroot_works);
    for (size_t s = 0; s < SW_COUNT(stage_shells); s++) {
        sw_autofree char *turn = sw_format("cache/app_1.sqsh.lock/%zu/owner", s + 1);
        pid_t owner;

        setenv("SLOW", "60", 1);
        owner = stage_start(stage, stage_shells[s], "owner", text);
        stage_until(stage, turn);
        stage_until(stage, "calls");
        kill(-owner, SIGTERM);                     /* as Slurm does when a job is cancelled */
        assert_int_not_equal(stage_wait(stage, owner), 0);
    }
    setenv("SLOW", "0", 1);
    assert_int_equal(stage_run(stage, "dash", "next", text), 0);
    unsetenv("SLOW");
}

static void latest_is_reused_or_converted_again_as_asked(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *reuse = text_for(stage, "app", &(struct slurm_cache){ 0 });
    sw_autofree char *refresh = text_for(stage, "app",
                                         &(struct slurm_cache){ .latest = SLURM_LATEST_REFRESH });
    sw_autofree char *fixed = text_for(stage, "app:2",
                                       &(struct slurm_cache){ .latest = SLURM_LATEST_REFRESH });
    sw_autofree char *first = NULL, *second = NULL, *third = NULL;

    setenv("SLOW", "0", 1);
    stage_program(stage, "enroot", enroot_works);
    assert_int_equal(stage_run(stage, "dash", "a", reuse), 0);
    assert_int_equal(stage_run(stage, "bash", "b", reuse), 0);
    assert_int_equal(stage_lines(stage, "calls"), 1);
    stage_write(stage, "submitted", "");           /* a job submitted after the conversion */
    assert_int_equal(stage_run(stage, "dash", "c", refresh), 0);
    assert_int_equal(stage_run(stage, "bash", "d", refresh), 0);
    assert_int_equal(stage_lines(stage, "calls"), 2);
    first = stage_read(stage, "a.out");
    second = stage_read(stage, "c.out");
    third = stage_read(stage, "d.out");
    assert_string_not_equal(first, second);
    assert_string_equal(second, third);
    assert_int_equal(stage_run(stage, "dash", "e", fixed), 0);
    stage_write(stage, "submitted", "");
    assert_int_equal(stage_run(stage, "dash", "f", fixed), 0);
    assert_int_equal(stage_lines(stage, "calls"), 3);
    unsetenv("SLOW");
}

static void latest_by_digest_is_converted_when_the_tag_moved(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = text_for(stage, "app",
                                      &(struct slurm_cache){ .latest = SLURM_LATEST_DIGEST });
    sw_autofree char *program = sw_format("[ \"$1\" != digest ] || exec cat $HERE/digest\n%s",
                                          enroot_works);
    sw_autofree char *said = NULL;

    setenv("SLOW", "0", 1);
    stage_program(stage, "enroot", program);
    stage_write(stage, "digest", DIGEST "\n");
    assert_int_equal(stage_run(stage, "dash", "a", text), 0);
    assert_int_equal(stage_run(stage, "bash", "b", text), 0);
    assert_int_equal(stage_lines(stage, "calls"), 1);
    said = stage_read(stage, "a.out");
    assert_non_null(strstr(said, "app_latest_sha256-" HEX ".sqsh"));
    stage_write(stage, "digest", "sha256:" "f123456789abcdef" "0123456789abcdef" "0123456789abcdef"
                                 "0123456789abcdef\n");
    assert_int_equal(stage_run(stage, "dash", "c", text), 0);
    assert_int_equal(stage_lines(stage, "calls"), 2);
    stage_write(stage, "digest", "unknown command\n");
    assert_int_equal(stage_run(stage, "dash", "d", text), 0);
    unsetenv("SLOW");
}

static void the_texts_are_as_reviewed(void **state)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 }, file = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const struct slurm_cache cache = { .folder = "/lustre/me", .submitted = "/lustre/me/sbatch/j" };

    (void)state;
    assert_int_equal(slurm_image_parse("nvcr.io/nvidia/tao/t:1", &image, NULL), 0);
    assert_int_equal(slurm_image_parse("/lustre/a.sqsh", &file, NULL), 0);
    slurm_image_prepare(&out, &file, &cache, "exit 1");
    assert_string_equal(sw_buf_text(&out), "SLIPWAY_IMAGE=/lustre/a.sqsh\n");
    sw_buf_clear(&out);
    sw_text_once(&out);
    slurm_image_prepare(&out, &image, &cache, "exit 1");
    expect_golden("image.sh", sw_buf_text(&out));
}

int main(void)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, stage_set, stage_clear)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_write_an_image_becomes_what_pyxis_and_enroot_take),
        cmocka_unit_test(two_images_never_share_a_file),
        cmocka_unit_test(what_is_no_image_is_refused_with_the_reason),
        cmocka_unit_test(the_flags_of_a_step_say_what_the_options_say),
        cmocka_unit_test(what_no_container_can_do_is_refused),
        cmocka_unit_test(the_texts_are_as_reviewed),
        STAGED(ten_jobs_that_ask_together_import_once),
        STAGED(the_one_who_follows_a_killed_owner_imports_anew),
        STAGED(an_owner_that_is_only_slow_is_waited_for),
        STAGED(a_failure_is_shared_by_those_who_waited_and_tried_anew_by_the_next),
        STAGED(a_failed_conversion_is_said_and_each_node_pulls),
        STAGED(what_is_no_squashfs_is_neither_kept_nor_believed),
        STAGED(no_client_waits_longer_than_allowed),
        STAGED(an_owner_that_is_asked_to_stop_lets_go_at_once),
        STAGED(latest_is_reused_or_converted_again_as_asked),
        STAGED(latest_by_digest_is_converted_when_the_tag_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
