/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_image_ref.c - image references of every form.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/image_ref.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void references_are_cut_into_their_parts(void **state)
{
    static const struct {
        const char *text, *registry, *repository, *tag, *digest, *use;
    } cases[] = {
        { "ubuntu", "docker.io", "library/ubuntu", "latest", "-", "ubuntu:latest" },
        { "ubuntu:22.04", "docker.io", "library/ubuntu", "22.04", "-", "ubuntu:22.04" },
        { "me/app", "docker.io", "me/app", "latest", "-", "me/app:latest" },
        { "docker.io/library/a", "docker.io", "library/a", "latest", "-", "a:latest" },
        { "docker.io/library/a/b", "docker.io", "library/a/b", "latest", "-",
          "library/a/b:latest" },
        { "docker.io/other.example/a", "docker.io", "other.example/a", "latest", "-",
          "docker.io/other.example/a:latest" },
        { "index.docker.io/me/a:1", "docker.io", "me/a", "1", "-", "me/a:1" },
        { "nvcr.io/nvidia/tao/tao-toolkit:6.26.3-pyt", "nvcr.io", "nvidia/tao/tao-toolkit",
          "6.26.3-pyt", "-", "nvcr.io/nvidia/tao/tao-toolkit:6.26.3-pyt" },
        { "localhost/a", "localhost", "a", "latest", "-", "localhost/a:latest" },
        { "localhost:5000/a", "localhost:5000", "a", "latest", "-", "localhost:5000/a:latest" },
        { "host:5000/a/b:tag", "host:5000", "a/b", "tag", "-", "host:5000/a/b:tag" },
        { "[::1]:5000/a:x", "[::1]:5000", "a", "x", "-", "[::1]:5000/a:x" },
        { "a@sha256:" HEX, "docker.io", "library/a", "-", "sha256:" HEX, "a@sha256:" HEX },
        { "host:5000/a:t@sha256:" HEX, "host:5000", "a", "t", "sha256:" HEX,
          "host:5000/a@sha256:" HEX },
        { "sha256:" HEX, "-", "-", "-", "sha256:" HEX, "sha256:" HEX },
        { "nvcr.io#nvidia/pytorch:25.08-py3", "nvcr.io", "nvidia/pytorch", "25.08-py3", "-",
          "nvcr.io/nvidia/pytorch:25.08-py3" },
        { "myhost#team/app:1", "myhost", "team/app", "1", "-", "myhost:443/team/app:1" },
        { "docker://ubuntu:1", "docker.io", "library/ubuntu", "1", "-", "ubuntu:1" },
        { "x/a__b-c--d.e/f_g", "docker.io", "x/a__b-c--d.e/f_g", "latest", "-",
          "x/a__b-c--d.e/f_g:latest" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_image_ref) struct sw_image_ref image = { 0 };
        sw_autofree char *use = NULL;
        struct sw_error err = { 0 };

        if (sw_image_ref_parse(cases[i].text, &image, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.message);
        use = sw_image_ref_text(&image);
        assert_string_equal(use, cases[i].use);
        assert_string_equal(image.registry ? image.registry : "-", cases[i].registry);
        assert_string_equal(image.repository ? image.repository : "-", cases[i].repository);
        assert_string_equal(image.tag ? image.tag : "-", cases[i].tag);
        assert_string_equal(image.digest ? image.digest : "-", cases[i].digest);
    }
}

static void what_is_no_reference_is_refused(void **state)
{
    static const char *const cases[] = {
        "", "Ubuntu", "a b", "a:", "a:b:c", "a@", "a@sha256:12", "a@sha256:" HEX "0", ":tag",
        "a/", "/a", "a//b", "a:-tag", "-a", "a-", "a..b", "a___b", "http://host/a", "host:x/a",
        "host:123456/a", "a\n", "a@b@sha256:" HEX, "sha256:12/", "a;reboot", "../a",
        "a:" HEX HEX "0", "[::1]x:5000/a", "[::1]:/a", "[:]/a", "[::1/a", "h:5000x/a",
        "a#b#c", "#a", "me@host#a:1", "a/b#c", "docker://",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_image_ref) struct sw_image_ref image = { 0 };
        struct sw_error err = { 0 };

        if (sw_image_ref_parse(cases[i], &image, &err) == 0)
            fail_msg("'%s' was taken for an image", cases[i]);
        assert_int_equal(err.code, SW_E_SPEC);
    }
}

static void a_refusal_says_what_is_wrong(void **state)
{
    static const struct { const char *text, *says; } rows[] = {
        { "Ubuntu:1", "capital" }, { "app:", "tag" }, { "app:1 --x", "tag" }, { "app@md5:12", "digest" },
        { "nvcr.io/", "no name" }, { "nvcr.io#:1", "no name" }, { "nvcr.io//a:1", "no name" },
        { "a b", "letters" }, { "app;reboot", "letters" }, { "-h.x#a:1", "host" }, { "", "empty" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_image_ref) struct sw_image_ref image = { 0 };
        struct sw_error err = { 0 };

        assert_int_equal(sw_image_ref_parse(rows[i].text, &image, &err), -1);
        if (!strstr(err.message, rows[i].says))
            fail_msg("'%s': %s", rows[i].text, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_cut_into_their_parts),
        cmocka_unit_test(what_is_no_reference_is_refused),
        cmocka_unit_test(a_refusal_says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
