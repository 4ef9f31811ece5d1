/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_credentials.c - enroot's .credentials: looked at, and changed by one line only. */
#include "shell.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "plan/mounts.h"
#include "platform/slurm/slurm_image.h"

static struct slurm_registry registry_of(const char *reference)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    static char host[128];
    struct slurm_registry unknown;
    const struct slurm_registry *found;

    assert_int_equal(slurm_image_parse(reference, &image, NULL), 0);
    found = slurm_registry_of(&image, &unknown);
    if (!found)
        return (struct slurm_registry){ 0 };
    if (found == &unknown) {
        strcpy(host, unknown.host);
        unknown.host = unknown.machines[0] = host;
    }
    return *found;
}

static char *check_text(const char *reference)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct slurm_registry registry = registry_of(reference);

    slurm_credentials_check(&out, &registry);
    return sw_buf_steal(&out);
}

static char *install_text(const char *reference, const char *login)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct slurm_registry registry = registry_of(reference);

    sw_text_once(&out);
    slurm_credentials_install(&out, &registry, login);
    return sw_buf_steal(&out);
}

static void each_registry_says_which_lines_it_needs(void **state)
{
    static const struct { const char *image, *machine, *second; } rows[] = {
        { "nvcr.io/nvidia/app:1", "nvcr.io", "authn.nvidia.com" },
        { "ubuntu:22.04", "registry-1.docker.io", "auth.docker.io" },
        { "docker.io/team/app:1", "registry-1.docker.io", "auth.docker.io" },
        { "ghcr.io/team/app:1", "ghcr.io", NULL },
        { "h.example:5000/app:1", "h.example:5000", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct slurm_registry registry = registry_of(rows[i].image);

        assert_string_equal(registry.machines[0], rows[i].machine);
        if (rows[i].second)
            assert_string_equal(registry.machines[1], rows[i].second);
        else
            assert_null(registry.machines[1]);
    }
    assert_null(registry_of("/lustre/app.sqsh").machines[0]);
}

static void the_check_tells_missing_open_and_fine_apart(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = check_text("nvcr.io/nvidia/app:1"), *enroot = stage_path(stage, "enroot");
    sw_autofree char *file = stage_path(stage, "enroot/.credentials");
    sw_autofree char *first = NULL, *second = NULL, *third = NULL, *ported = NULL;
    sw_autofree char *port = check_text("h.example:5000/app:1");

    setenv("ENROOT_CONFIG_PATH", enroot, 1);
    assert_int_equal(stage_run(stage, "dash", "a", text), 0);
    first = stage_read(stage, "a.out");
    assert_non_null(strstr(first, "missing\tnvcr.io\t"));
    assert_non_null(strstr(first, "missing\tauthn.nvidia.com\t"));
    mkdir(enroot, 0700);
    stage_write(stage, "enroot/.credentials",
                "machine nvcr.io login $oauthtoken password canary\nmachine h.example login a password b\n");
    chmod(file, 0644);
    assert_int_equal(stage_run(stage, "bash", "b", text), 0);
    second = stage_read(stage, "b.out");
    assert_non_null(strstr(second, "open\tnvcr.io\t"));
    assert_non_null(strstr(second, "missing\tauthn.nvidia.com\t"));
    assert_null(strstr(second, "canary"));
    chmod(file, 0600);
    assert_int_equal(stage_run(stage, "dash", "c", text), 0);
    third = stage_read(stage, "c.out");
    assert_non_null(strstr(third, "ok\tnvcr.io\t"));
    assert_int_equal(stage_run(stage, "dash", "d", port), 0);
    ported = stage_read(stage, "d.out");
    assert_non_null(strstr(ported, "ok\th.example\t"));
}

static void one_line_is_replaced_and_the_others_stay(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = install_text("nvcr.io/nvidia/app:1", "$oauthtoken");
    sw_autofree char *enroot = stage_path(stage, "enroot");
    sw_autofree char *file = stage_path(stage, "enroot/.credentials"), *other = NULL;
    struct stat info;

    setenv("ENROOT_CONFIG_PATH", enroot, 1);
    assert_null(strstr(text, "first"));
    stage_write(stage, "a.in", "first-key\n");
    assert_int_equal(stage_run(stage, "dash", "a", text), 0);
    other = install_text("ghcr.io/t/a:1", "me");
    stage_write(stage, "b.in", "gh-key\n");
    assert_int_equal(stage_run(stage, "bash", "b", other), 0);
    stage_write(stage, "c.in", "it's \"new\"");       /* blanks: refused, nothing changes */
    assert_int_equal(stage_run(stage, "bash", "c", text), 1);
    stage_write(stage, "d.in", "sec*nd\\key'\"\n");
    assert_int_equal(stage_run(stage, "bash", "d", text), 0);
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    {
        sw_autofree char *now = stage_read(stage, "enroot/.credentials");

        assert_string_equal(now, "machine ghcr.io login me password gh-key\n"
                                 "machine nvcr.io login $oauthtoken password sec*nd\\key'\"\n"
                                 "machine authn.nvidia.com login $oauthtoken password sec*nd\\key'\"\n");
    }
}

static void a_password_that_enroot_would_run_is_refused(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = install_text("ghcr.io/t/a:1", "me"), *enroot = stage_path(stage, "enroot");
    sw_autofree char *said = NULL;

    setenv("ENROOT_CONFIG_PATH", enroot, 1);
    stage_write(stage, "a.in", "$(touch$IFS/tmp/x)\n");
    assert_int_equal(stage_run(stage, "dash", "a", text), 1);
    said = stage_read(stage, "a.err");
    assert_non_null(strstr(said, "as a command"));
    assert_null(strstr(said, "touch"));
}

/* The process list, looked at while it is put in, shows no argument with the password. */
static void no_process_has_the_password_among_its_arguments(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = install_text("nvcr.io/a/b:1", "$oauthtoken");
    sw_autofree char *enroot = stage_path(stage, "enroot"), *seen = NULL;

    setenv("ENROOT_CONFIG_PATH", enroot, 1);
    for (const char *const *name = (const char *const[]){ "awk", "cat", "chmod", "mv", "mktemp", "mkdir",
                                                          "printf", "readlink", NULL }; *name; name++) {
        sw_autofree char *program = sw_format(
            "echo \"%s $*\" >> $HERE/arguments\nPATH=${PATH#*:}; exec %s \"$@\"\n", *name, *name);

        stage_program(stage, *name, program);
    }
    stage_write(stage, "a.in", "canary-key\n");
    assert_int_equal(stage_run(stage, "dash", "a", text), 0);
    seen = stage_read(stage, "arguments");
    assert_non_null(strstr(seen, "chmod 600"));
    assert_null(strstr(seen, "canary"));
}

static void ten_that_write_together_lose_nothing(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *enroot = stage_path(stage, "enroot"), *all = NULL;
    pid_t writers[10];

    setenv("ENROOT_CONFIG_PATH", enroot, 1);
    mkdir(enroot, 0700);
    stage_write(stage, "enroot/.credentials", "# mine\nmachine other login a password b\n");
    for (int i = 0; i < 10; i++) {
        sw_autofree char *image = sw_format("h%d.example/app:1", i), *name = sw_format("w%d", i);
        sw_autofree char *text = install_text(image, "me"), *input = sw_format("w%d.in", i);

        stage_write(stage, input, "key\n");
        writers[i] = stage_start(stage, stage_shells[i % 2], name, text);
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(stage_wait(stage, writers[i]), 0);
    all = stage_read(stage, "enroot/.credentials");
    assert_non_null(strstr(all, "# mine\nmachine other login a password b\n"));
    for (int i = 0; i < 10; i++) {
        sw_autofree char *line = sw_format("machine h%d.example login me password key\n", i);

        assert_non_null(strstr(all, line));
    }
    assert_int_equal(stage_run(stage, "dash", "look", "ls -A $HERE/enroot | grep -vx .credentials"), 1);
}

int main(void)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, stage_set, stage_clear)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_registry_says_which_lines_it_needs),
        STAGED(the_check_tells_missing_open_and_fine_apart),
        STAGED(one_line_is_replaced_and_the_others_stay),
        STAGED(a_password_that_enroot_would_run_is_refused),
        STAGED(no_process_has_the_password_among_its_arguments),
        STAGED(ten_that_write_together_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
