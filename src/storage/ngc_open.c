/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ngc_open.c - which version ngc://org[/team]/name[:version][/path] means, and with what key.
 *
 * A key is optional: public models are read as a guest. NGC has two kinds of keys; how one looks
 * tells which it is, as in NVIDIA's own client.
 */
#include "storage/ngc.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/file.h"
#include "base/text.h"
#include "storage/settings.h"

#define PART_MAX   128
#define CONFIG_MAX (256 * 1024)

static const char part_signs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

static bool is_part(const char *text, size_t length)
{
    return length > 0 && length <= PART_MAX && strspn(text, part_signs) >= length &&
           text[0] != '.';
}

/* NGC takes more signs in a version than in a name ("1.0+cu12"); ':' and '%' its client refuses. */
static bool is_version(const char *text, size_t length)
{
    bool is_dots = length == strspn(text, ".") && length <= 2;

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || strchr("/:%", text[i]))
            return false;
    return length > 0 && length <= NGC_VERSION_MAX && !is_dots;
}

static int bad_shape(struct sw_error *err)
{
    sw_fail(err, SW_E_SPEC, "this is not a model or resource of NGC");
    return sw_hint(err, "write ngc://org/name:version or ngc://org/team/name:version; a path of a "
                        "file may follow the version");
}

int ngc_cut(const char *path, char **team, char **name, char **version, char **key,
            struct sw_error *err)
{
    size_t first = strcspn(path, ":/");
    bool has_team = path[first] == '/' && path[first + 1];
    const char *own = has_team ? path + first + 1 : path;
    size_t own_length = strcspn(own, ":/");
    const char *rest = own + own_length;
    size_t said = *rest == ':' ? strcspn(rest + 1, "/") : 0;
    const char *below = *rest == ':' ? rest + 1 + said : rest;

    if (!is_part(own, own_length) || (has_team && !is_part(path, first)) ||
        (*rest == ':' && !is_version(rest + 1, said)) || (*rest == '/' && rest[1]))
        return bad_shape(err);
    if (has_team && !(first == 7 && strncmp(path, "no-team", 7) == 0))
        *team = sw_strndup(path, first);
    *name = sw_strndup(own, own_length);
    if (said > 0 && !(said == 6 && strncmp(rest + 1, "latest", 6) == 0))
        *version = sw_strndup(rest + 1, said);
    *key = sw_strdup(*below == '/' ? below + 1 : below);
    return 0;
}

/* ---- the key ------------------------------------------------------------------------------------ */

enum ngc_key_kind ngc_key_kind(const char *key)
{
    const char *dot = strchr(key, '.');
    bool is_token = sw_text_starts(key, "eyJ") && dot && strchr(dot + 1, '.');

    return sw_text_starts(key, "nvapi-") || is_token ? NGC_KEY_BEARER : NGC_KEY_LEGACY;
}

/* The `apikey` of one section; lines before the first section count as DEFAULT. */
static char *section_key(const char *text, const char *section)
{
    sw_autofree char *head = sw_format("[%s]", section);
    bool here = strcmp(section, "DEFAULT") == 0;

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        size_t length = 0;

        line += strspn(line, " \t\r\n");
        if (*line == '[')
            here = sw_text_starts(line, head);
        if (!here || !sw_text_starts(line, "apikey"))
            continue;
        line += strlen("apikey");
        line += strspn(line, " \t");
        if (*line != '=' && *line != ':')
            continue;
        line += 1 + strspn(line + 1, " \t");
        length = strcspn(line, " \t\r\n");
        return length == 0 || sw_text_starts(line, "no-apikey") ? NULL : sw_strndup(line, length);
    }
    return NULL;
}

/* The other sections are what the user switched away from: keys of other orgs. */
char *ngc_config_key(const char *text)
{
    char *key = section_key(text, "CURRENT");

    return key ? key : section_key(text, "DEFAULT");
}

static char *key_of_config(const struct sw_storage_options *options, char **path)
{
    const char *home = sw_setting_value(options, SW_SET_NGC_HOME, NULL);
    const char *user = home ? home : sw_storage_env(options, "HOME");
    char *text = NULL;
    char *key = NULL;

    *path = user ? sw_format("%s/.ngc/config", user) : NULL;
    text = *path ? sw_file_read(*path, CONFIG_MAX, NULL, NULL) : NULL;
    key = text ? ngc_config_key(text) : NULL;
    sw_text_wipe(text);
    return key;
}

char *ngc_key(const struct sw_storage_options *options, char **from, struct sw_error *err)
{
    const char *which = NULL, *value = sw_setting_value(options, SW_SET_NGC_KEY, &which);
    sw_autofree char *path = NULL;
    char *kept = value ? NULL : key_of_config(options, &path), *key = NULL;

    *from = NULL;
    if (value || kept) {
        *from = value ? sw_strdup(which) : sw_take(path);
        key = hub_secret(value ? value : kept, *from, err);
    }
    sw_text_wipe(kept);
    return key;
}

static int find_key(struct ngc_root *root, const struct sw_storage_options *options,
                    struct sw_error *err)
{
    root->key = ngc_key(options, &root->key_from, err);
    if (root->key)
        root->key_kind = ngc_key_kind(root->key);
    else
        root->endpoint = NGC_FIRST_GUEST;
    return root->key_from && !root->key ? -1 : 0;
}

static void make_guest_id(char out[37])
{
    unsigned char noise[16] = { 0 };

    /* Not a secret: a fixed one would only make us share a rate limit. */
    if (getrandom(noise, sizeof noise, GRND_NONBLOCK) < 0)
        memset(noise, 0, sizeof noise);
    noise[6] = (unsigned char)((noise[6] & 0x0f) | 0x40);
    noise[8] = (unsigned char)((noise[8] & 0x3f) | 0x80);
    for (size_t i = 0, at = 0; i < sizeof noise; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[at++] = '-';
        snprintf(out + at, 3, "%02x", noise[i]);
        at += 2;
    }
}

/* ---- open and close ---------------------------------------------------------------------------- */

static char *address_of(const struct sw_storage_options *options, enum sw_setting which,
                        const char *usual, struct sw_error *err)
{
    return hub_endpoint(options, sw_setting_rows[which].names[0], usual, err);
}

struct sw_root *ngc_open(const struct sw_uri *uri, const struct sw_storage_options *options,
                         char **key, struct sw_error *err)
{
    struct ngc_root *root = sw_new(struct ngc_root);
    char *below = NULL;

    root->head.storage = &sw_storage_ngc;
    if ((!is_part(uri->host, strlen(uri->host)) && bad_shape(err) < 0) ||
        ngc_cut(uri->path, &root->team, &root->name, &root->version, &below, err) < 0 ||
        !(root->api = address_of(options, SW_SET_NGC_API, NGC_API, err)) ||
        !(root->auth = address_of(options, SW_SET_NGC_AUTH, NGC_AUTH, err)) ||
        find_key(root, options, err) < 0) {
        free(below);
        ngc_close((struct sw_root *)root);
        return NULL;
    }
    root->org = sw_strdup(uri->host);
    root->head.uri = sw_format("ngc://%s%s%s/%s:%s", root->org, root->team ? "/" : "",
                               root->team ? root->team : "", root->name,
                               root->version ? root->version : "latest");
    make_guest_id(root->guest_id);
    *key = below;
    return (struct sw_root *)root;
}

void ngc_close(struct sw_root *opaque)
{
    struct ngc_root *root = (struct ngc_root *)opaque;

    if (!root)
        return;
    free(root->head.uri);
    free(root->api);
    free(root->auth);
    free(root->org);
    free(root->team);
    free(root->name);
    free(root->version);
    free(root->denied);
    sw_text_wipe(root->key);
    free(root->key_from);
    sw_text_wipe(root->token);
    hub_links_done(&root->links);
    free(root);
}
