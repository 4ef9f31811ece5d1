/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf_open.c - which repository hf_model://org/name[@revision][/path] means, and with what token.
 *
 * Settings have the names of the huggingface_hub library, so a user who is logged in there is logged
 * in here. A token is optional: public repositories need none. HF_HUB_OFFLINE is honoured by
 * failing at once, since there is no cache of ours to fall back to.
 */
#include "storage/hf.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "storage/settings.h"

#define NAME_MAX_LENGTH     96
#define REVISION_MAX_LENGTH 255

static const char name_signs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

static bool is_name(const char *text, size_t length)
{
    return length > 0 && length <= NAME_MAX_LENGTH && strspn(text, name_signs) >= length &&
           text[0] != '.' && text[0] != '-' && !memmem(text, length, "..", 2);
}

/* Length of the revision that begins here. The hub's own references have slashes in them. */
static size_t revision_length(const char *text)
{
    static const char *const families[] = { "refs/pr/", "refs/convert/" };
    size_t family = 0;

    for (size_t i = 0; i < SW_COUNT(families); i++)
        if (sw_text_starts(text, families[i]))
            family = strlen(families[i]);
    return family + strcspn(text + family, "/");
}

static char *take_revision(const char *text, size_t length, struct sw_error *err)
{
    sw_autofree char *revision = sw_http_decode(text, length);
    size_t decoded = revision && !memmem(text, length, "%00", 3) ? strlen(revision) : 0;

    for (size_t i = 0; i < decoded; i++)
        if ((unsigned char)revision[i] <= ' ' || revision[i] == 0x7f)
            decoded = 0;
    if (decoded == 0 || decoded > REVISION_MAX_LENGTH || strstr(revision, ".."))
        return sw_null(sw_fail(err, SW_E_SPEC,
                               "what follows '@' is not a branch, a tag or a commit"));
    return sw_take(revision);
}

int hf_cut(const char *org, const char *path, char **repo, char **revision, char **key,
           struct sw_error *err)
{
    size_t name_length = strcspn(path, "@/");
    const char *rest = path + name_length;
    sw_autofree char *said = NULL;

    /* "gpt2" alone is how the oldest models are still called; it can have no path. */
    if (!is_name(org, strlen(org)) || (name_length > 0 && !is_name(path, name_length)) ||
        (name_length == 0 && *path)) {
        sw_fail(err, SW_E_SPEC, "'%s/%s' is not a repository of the hub", org, path);
        return sw_hint(err, "write org/name, org/name@revision or org/name/path/of/a/file");
    }
    if (*rest == '@') {
        size_t length = revision_length(rest + 1);

        said = take_revision(rest + 1, length, err);
        if (!said)
            return -1;
        rest += 1 + length;
    }
    *repo = name_length ? sw_format("%s/%.*s", org, (int)name_length, path) : sw_strdup(org);
    *revision = said ? sw_take(said) : sw_strdup("main");
    *key = sw_strdup(*rest == '/' ? rest + 1 : rest);
    return 0;
}

/* ---- the token --------------------------------------------------------------------------------- */

static char *token_path(const struct sw_storage_options *options)
{
    static const struct { enum sw_setting which; const char *name, *below; } places[] = {
        { SW_SET_HF_TOKEN_FILE, NULL, "" },
        { SW_SET_HF_HOME, NULL, "/token" },
        { SW_SET_HF_CACHE, NULL, "/huggingface/token" },
        { SW_SETTINGS, "HOME", "/.cache/huggingface/token" },
    };

    for (size_t i = 0; i < SW_COUNT(places); i++) {
        const char *value = places[i].name ? sw_storage_env(options, places[i].name)
                                           : sw_setting_value(options, places[i].which, NULL);

        if (value)
            return sw_format("%s%s", value, places[i].below);
    }
    return NULL;
}

char *hf_token(const struct sw_storage_options *options, char **from, struct sw_error *err)
{
    const char *which = NULL, *value = sw_setting_value(options, SW_SET_HF_TOKEN, &which);
    sw_autofree char *path = value ? NULL : token_path(options);
    char *text = path ? sw_file_read(path, HUB_SECRET_MAX, NULL, NULL) : NULL, *token = NULL;

    *from = NULL;
    if (value || (text && text[strspn(text, " \t\r\n")])) {
        *from = value ? sw_strdup(which) : sw_take(path);
        token = hub_secret(value ? value : text, *from, err);
    }
    sw_text_wipe(text);
    return token;
}

static int find_token(struct hf_root *root, const struct sw_storage_options *options,
                      struct sw_error *err)
{
    root->token = hf_token(options, &root->token_from, err);
    return root->token_from && !root->token ? -1 : 0;
}

/* ---- open and close ---------------------------------------------------------------------------- */

struct sw_root *hf_open(const struct sw_uri *uri, const struct sw_storage_options *options,
                        char **key, struct sw_error *err)
{
    struct hf_root *root = sw_new(struct hf_root);
    char *below = NULL;

    root->dataset = sw_text_same(uri->scheme, "hf_dataset");
    root->head.storage = root->dataset ? &sw_storage_hf_dataset : &sw_storage_hf_model;
    if (hf_cut(uri->host, uri->path, &root->repo, &root->revision, &below, err) < 0 ||
        !(root->endpoint = hub_endpoint(options, sw_setting_rows[SW_SET_HF_ENDPOINT].names[0],
                                        HF_HOME_PAGE, err)) ||
        find_token(root, options, err) < 0) {
        free(below);
        hf_close((struct sw_root *)root);
        return NULL;
    }
    root->head.uri = sw_format("%s://%s", uri->scheme, root->repo);
    if (hub_hex(root->revision, 40))
        root->commit = sw_strdup(root->revision);
    if (hub_env_true(options, "HF_HUB_OFFLINE")) {
        sw_fail(err, SW_E_UNREACHABLE, "%s: HF_HUB_OFFLINE is set",
                root->head.uri);
        sw_hint(err, "unset HF_HUB_OFFLINE, or use a path to files that are already here");
        free(below);
        hf_close((struct sw_root *)root);
        return NULL;
    }
    *key = below;
    return (struct sw_root *)root;
}

void hf_close(struct sw_root *opaque)
{
    struct hf_root *root = (struct hf_root *)opaque;

    if (!root)
        return;
    free(root->head.uri);
    free(root->endpoint);
    free(root->repo);
    free(root->revision);
    free(root->commit);
    sw_text_wipe(root->token);
    free(root->token_from);
    hub_links_done(&root->links);
    free(root);
}
