/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bundle.c - the code that travels: what git would ignore stays, the same tree gives the same
 * bytes, and what tar unpacks is what was packed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "plan/bundle.h"

struct place {
    char folder[64];
};

static int place_open(void **state)
{
    struct place *here = sw_new(struct place);

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-bundle-XXXXXX");
    *state = here;
    return mkdtemp(here->folder) ? 0 : -1;
}

static int place_close(void **state)
{
    struct place *here = *state;

    sw_remove_tree(here->folder, NULL);
    free(here);
    return 0;
}

static int shell(const struct place *here, const char *line)
{
    sw_autofree char *whole = sw_format("cd '%s' && %s", here->folder, line);
    int status = system(whole);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "a b c": the paths chosen, in order. */
static char *chosen(const struct place *here, struct sw_bundle_rules rules)
{
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct sw_error err = { 0 };

    rules.root = here->folder;
    if (sw_bundle_select(&rules, &list, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < list.count; i++)
        sw_buf_addf(&out, "%s%s", i ? " " : "", list.items[i].path);
    return out.data ? sw_buf_steal(&out) : sw_strdup("");
}

static void caches_configs_and_version_control_stay(void **state)
{
    struct place *here = *state;
    sw_autofree char *paths = NULL;

    assert_int_equal(shell(here, "mkdir -p .git src/__pycache__ configs .venv/bin a/configs && "
                                 "touch .git/x src/a.py src/__pycache__/a.pyc src/b.pyc "
                                 "configs/c.yaml .venv/bin/python a/configs/d README"), 0);
    paths = chosen(here, (struct sw_bundle_rules){ 0 });
    assert_string_equal(paths, "README src/a.py");
}

static void a_whole_tree_leaves_nothing_out(void **state)
{
    struct place *here = *state;
    sw_autofree char *paths = NULL;

    assert_int_equal(shell(here, "mkdir -p .git configs && echo b >.gitignore && "
                                 "touch .git/x configs/c b && ln -s /elsewhere out"), 0);
    paths = chosen(here, (struct sw_bundle_rules){ .whole = true });
    assert_string_equal(paths, ".git/x .gitignore b configs/c out");
}

static void include_and_exclude_choose(void **state)
{
    struct place *here = *state;
    sw_auto(json) json_t *include = json_pack("[s, s]", "src", "*.toml");
    sw_auto(json) json_t *exclude = json_pack("[s, s]", "src/tests/", "*.bin");
    sw_autofree char *paths = NULL;

    assert_int_equal(shell(here, "mkdir -p src/tests other && touch src/a.py src/x.bin "
                                 "src/tests/t.py other/b.py p.toml other/q.toml"), 0);
    paths = chosen(here, (struct sw_bundle_rules){ .include = include, .exclude = exclude });
    assert_string_equal(paths, "other/q.toml p.toml src/a.py");
}

/* The notes of a selection, one per line. */
static char *notes_of(const struct place *here, struct sw_bundle_rules rules)
{
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    json_t *one;
    size_t i;

    rules.root = here->folder;
    assert_int_equal(sw_bundle_select(&rules, &list, NULL), 0);
    json_array_foreach(list.notes, i, one)
        sw_buf_addf(&out, "%s\n", json_string_value(one));
    return out.data ? sw_buf_steal(&out) : sw_strdup("");
}

static void credentials_stay_and_are_named(void **state)
{
    static const char *const kept[] = { ".env", ".env.prod", "certs/server.key", "certs/ca.pem",
                                        "id_rsa", ".netrc", "deep/.aws", ".ssh" };
    struct place *here = *state;
    sw_autofree char *paths = NULL, *notes = NULL;

    assert_int_equal(shell(here, "mkdir -p certs deep/.aws .ssh && touch .env .env.prod .env.example "
                                 "certs/server.key certs/ca.pem certs/ca.crt id_rsa id_rsa.pub "
                                 ".netrc deep/.aws/credentials .ssh/config a.py keys.py"), 0);
    paths = chosen(here, (struct sw_bundle_rules){ 0 });
    assert_string_equal(paths, ".env.example a.py certs/ca.crt id_rsa.pub keys.py");
    notes = notes_of(here, (struct sw_bundle_rules){ 0 });
    for (size_t i = 0; i < SW_COUNT(kept); i++) {
        sw_autofree char *said = sw_format("'%s' is left out: it usually contains", kept[i]);

        if (!strstr(notes, said))
            fail_msg("'%s' is not named in:\n%s", kept[i], notes);
    }
}

static void credentials_named_by_their_exact_name_travel_with_a_warning(void **state)
{
    struct place *here = *state;
    sw_auto(json) json_t *include = json_pack("[s, s, s]", "*", "./.env", "deep/.aws/config");
    sw_auto(json) json_t *stars = json_pack("[s]", ".e*");
    sw_autofree char *paths = NULL, *notes = NULL, *none = NULL;

    assert_int_equal(shell(here, "mkdir -p deep/.aws && echo .env >.gitignore && touch .env a.py "
                                 "id_rsa deep/.aws/config"), 0);
    paths = chosen(here, (struct sw_bundle_rules){ .include = include });
    assert_string_equal(paths, ".env .gitignore a.py deep/.aws/config");
    notes = notes_of(here, (struct sw_bundle_rules){ .include = include });
    assert_non_null(strstr(notes, "'.env' is sent with the job although"));
    assert_non_null(strstr(notes, "'id_rsa' is left out"));
    none = chosen(here, (struct sw_bundle_rules){ .include = stars });
    assert_string_equal(none, "");
}

static void links_that_lead_out_and_pipes_are_named(void **state)
{
    struct place *here = *state;
    sw_autofree char *paths = NULL, *notes = NULL;

    assert_int_equal(shell(here, "mkdir d && touch d/f && ln -s /etc/hostname absolute && "
                                 "ln -s ../x climbs && ln -s d/f inside && mkfifo pipe"), 0);
    paths = chosen(here, (struct sw_bundle_rules){ 0 });
    assert_string_equal(paths, "d/f inside");
    notes = notes_of(here, (struct sw_bundle_rules){ 0 });
    assert_non_null(strstr(notes, "'absolute' is left out"));
    assert_non_null(strstr(notes, "'climbs' is left out"));
    assert_non_null(strstr(notes, "'pipe' is left out"));
}

static void what_others_could_not_read_they_cannot_read_there(void **state)
{
    static const struct { const char *name; unsigned mode; } files[] = {
        { "private", 0600 }, { "private-run", 0700 }, { "open", 0644 }, { "run", 0755 },
    };
    struct place *here = *state;
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };
    sw_auto(sw_bundle) struct sw_bundle bundle = { 0 };
    struct sw_bundle_rules rules = { .root = here->folder };
    sw_autofree char *path = sw_path_join(here->folder, "out/b.tar.gz");

    for (size_t i = 0; i < SW_COUNT(files); i++) {
        sw_autofree char *line = sw_format("touch %s && chmod %o %s", files[i].name, files[i].mode,
                                           files[i].name);

        assert_int_equal(shell(here, line), 0);
    }
    assert_int_equal(sw_bundle_select(&rules, &list, NULL), 0);
    assert_int_equal(sw_bundle_pack(here->folder, &list, &bundle, NULL), 0);
    assert_int_equal(shell(here, "mkdir out"), 0);
    assert_int_equal(sw_file_write(path, bundle.bytes, bundle.length, 0600, NULL), 0);
    assert_int_equal(shell(here, "cd out && umask 0 && tar xzf b.tar.gz && test \"$(stat -c %a "
                                 "open private private-run run | tr '\n' ' ')\" = "
                                 "'644 600 700 755 '"), 0);
}

static void only_the_active_recipe_travels(void **state)
{
    struct place *here = *state;
    sw_autofree char *one = NULL, *all = NULL;

    assert_int_equal(shell(here, "mkdir -p pkg/recipes/dino pkg/recipes/sft && touch "
                                 "pkg/recipes/__init__.py pkg/recipes/dino/r.py "
                                 "pkg/recipes/sft/r.py pkg/core.py"), 0);
    one = chosen(here, (struct sw_bundle_rules){ .recipe = "dino" });
    assert_string_equal(one, "pkg/core.py pkg/recipes/__init__.py pkg/recipes/dino/r.py");
    all = chosen(here, (struct sw_bundle_rules){ 0 });
    assert_non_null(strstr(all, "sft"));
}

static void what_is_too_large_is_named(void **state)
{
    struct place *here = *state;
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };
    struct sw_error err = { 0 };
    struct sw_bundle_rules rules = { .root = here->folder, .most_bytes = 1000 };

    assert_int_equal(shell(here, "dd if=/dev/zero of=weights.bin bs=1M count=11 status=none"), 0);
    assert_int_equal(sw_bundle_select(&rules, &list, &err), -1);
    assert_non_null(strstr(err.message, "weights.bin (11"));
}

static void the_same_tree_gives_the_same_bytes(void **state)
{
    struct place *here = *state;
    struct sw_bundle bundles[2] = { 0 };

    assert_int_equal(shell(here, "mkdir -p d/e && echo hi > d/e/f && echo 1 > z && chmod 755 z && "
                                 "ln -s d/e/f link && "
                                 "p=$(printf 'n%.0s' $(seq 1 120)) && echo long > d/$p"), 0);
    for (int i = 0; i < 2; i++) {
        sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };
        struct sw_bundle_rules rules = { .root = here->folder };

        assert_int_equal(sw_bundle_select(&rules, &list, NULL), 0);
        assert_int_equal(sw_bundle_pack(here->folder, &list, &bundles[i], NULL), 0);
        assert_int_equal(shell(here, "touch -d @99 d/e/f z && chmod 775 z"), 0);
    }
    assert_string_equal(bundles[0].hash, bundles[1].hash);
    {
        sw_autofree char *path = sw_path_join(here->folder, "out/b.tar.gz");

        assert_int_equal(shell(here, "mkdir out"), 0);
        assert_int_equal(sw_file_write(path, bundles[0].bytes, bundles[0].length, 0600, NULL), 0);
        assert_int_equal(shell(here, "cd out && tar xzf b.tar.gz && cmp d/e/f ../d/e/f && "
                                     "test -x z && test $(readlink link) = d/e/f && "
                                     "test $(ls d | wc -l) = 2 && cmp d/n* ../d/n*"), 0);
    }
    sw_bundle_done(&bundles[0]);
    sw_bundle_done(&bundles[1]);
}

static void the_same_tree_gives_the_same_zip_and_programs_stay_programs(void **state)
{
    struct place *here = *state;
    sw_auto(json) json_t *code = json_pack("{s:s}", "root", here->folder);
    struct sw_zip zips[2] = { SW_ZIP_INIT, SW_ZIP_INIT };
    sw_autofree char *path = sw_path_join(here->folder, "out/b.zip");

    assert_int_equal(shell(here, "mkdir -p d/e && echo hi > d/e/f && echo 1 > z && chmod 755 z && "
                                 "ln -s d/e/f link"), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sw_bundle_zip(code, "/", 1 << 20, &zips[i], NULL), 0);
        sw_zip_end(&zips[i]);
        assert_int_equal(shell(here, "touch -d @99 d/e/f z && chmod 775 z"), 0);
    }
    assert_int_equal(zips[0].bytes.length, zips[1].bytes.length);
    assert_memory_equal(zips[0].bytes.data, zips[1].bytes.data, zips[0].bytes.length);
    assert_int_equal(shell(here, "mkdir out"), 0);
    assert_int_equal(sw_file_write(path, zips[0].bytes.data, zips[0].bytes.length, 0600, NULL), 0);
    assert_int_equal(shell(here, "cd out && "
                                 "python3 -c 'import zipfile as z; a = z.ZipFile(\"b.zip\"); "
                                 "a.extractall(); "
                                 "assert a.getinfo(\"z\").external_attr >> 16 == 0o100755' && "
                                 "cmp d/e/f ../d/e/f && cmp link ../d/e/f"), 0);
    sw_zip_done(&zips[0]);
    sw_zip_done(&zips[1]);
}

static void a_zip_that_is_too_large_names_the_largest_files(void **state)
{
    struct place *here = *state;
    sw_auto(json) json_t *code = json_pack("{s:s}", "root", here->folder);
    sw_auto(sw_zip) struct sw_zip zip = SW_ZIP_INIT;
    struct sw_error err = { 0 };

    assert_int_equal(shell(here, "dd if=/dev/urandom of=weights.bin bs=1M count=11 status=none"), 0);
    assert_int_equal(sw_bundle_zip(code, "/", 10 << 20, &zip, &err), -1);
    assert_non_null(strstr(err.message, "weights.bin (11"));
}

/* Every path of a tree, by us and by git. */
static void git_and_we_agree_on_what_is_ignored(void **state)
{
    struct place *here = *state;
    sw_autofree char *ours = NULL, *theirs = NULL, *path = NULL;

    if (shell(here, "git --version > /dev/null 2>&1") != 0)
        skip();
    assert_int_equal(shell(here,
        "git init -q . && mkdir -p a/b/c build x/build deep/a/b logs keep/logs 'sp ace' x/y/z && "
        "touch a/1.o a/b/2.o a/b/c/3.txt build/o x/build/o deep/a/b/f logs/l keep/logs/l "
        "'sp ace/f' 'trail ' x/y/z/q x/y/keep.me x/foo.tmp foo.tmp bar.tmp important.tmp '#hash' "
        "'!bang' a/abc a/abd a/ab-  x/1.c x/2.c 'a/[x]' doc.txt a/doc.txt a/b/doc.txt "
        "x/y/file.log x/keep.log a/b/c/q.log && "
        "printf '%s\\n' '# comment' '' '*.o' '/build' 'logs/' '!keep/logs/' 'a/b/c' "
        "'deep/**/f' '*.tmp' '!important.tmp' '\\#hash' '\\!bang' 'a/ab[c-d]' '/doc.txt' "
        "'**/y/z' 'x/?.c' 'trail\\ ' 'sp ace/' 'a/\\[x\\]' '*.log' > .gitignore && "
        "printf '!keep.log\\n/y/file.log\\n*.tmp\\n!foo.tmp\\n' > x/.gitignore && "
        "git ls-files -o --exclude-standard -z | tr '\\0' '\\n' | LC_ALL=C sort > /dev/null && "
        "git ls-files -o --exclude-standard -z | tr '\\0' '\\n' | LC_ALL=C sort > ../$(basename "
        "$PWD).git"), 0);
    path = sw_format("%s.git", here->folder);
    theirs = sw_file_read(path, 100000, NULL, NULL);
    unlink(path);
    assert_non_null(theirs);
    {
        sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
        struct sw_bundle_rules rules = { .root = here->folder };

        assert_int_equal(sw_bundle_select(&rules, &list, NULL), 0);
        for (size_t i = 0; i < list.count; i++)
            sw_buf_addf(&out, "%s\n", list.items[i].path);
        ours = sw_buf_steal(&out);
    }
    assert_string_equal(ours, theirs);
}

static void patterns_match_as_git_has_it(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool matches;
    } rows[] = {
        { "*.c", "a.c", true }, { "*.c", "a/b.c", false }, { "a/**", "a/b/c", true },
        { "**/c", "c", true }, { "**/c", "a/b/c", true }, { "a/**/c", "a/c", true },
        { "a/**/c", "a/x/y/c", true }, { "a?c", "a/c", false }, { "[!a]b", "ab", false },
        { "[!a]b", "xb", true }, { "[a-c]x", "bx", true }, { "[]]x", "]x", true },
        { "\\*", "*", true }, { "\\*", "x", false }, { "[", "[", false }, { "", "", true },
        { "a*b*c*d*e*f*g*h*i*j*k", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        if (sw_wildmatch(rows[i].pattern, rows[i].path) != rows[i].matches)
            fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].path);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(caches_configs_and_version_control_stay),
        CLAIM(a_whole_tree_leaves_nothing_out),
        CLAIM(include_and_exclude_choose),
        CLAIM(credentials_stay_and_are_named),
        CLAIM(credentials_named_by_their_exact_name_travel_with_a_warning),
        CLAIM(links_that_lead_out_and_pipes_are_named),
        CLAIM(what_others_could_not_read_they_cannot_read_there),
        CLAIM(only_the_active_recipe_travels),
        CLAIM(what_is_too_large_is_named),
        CLAIM(the_same_tree_gives_the_same_bytes),
        CLAIM(the_same_tree_gives_the_same_zip_and_programs_stay_programs),
        CLAIM(a_zip_that_is_too_large_names_the_largest_files),
        CLAIM(git_and_we_agree_on_what_is_ignored),
        cmocka_unit_test(patterns_match_as_git_has_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
