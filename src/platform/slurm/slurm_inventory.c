/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_inventory.c - what the cluster has, and what lies on its file system.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "platform/slurm/slurm_site.h"

/* ---- inventory --------------------------------------------------------------------------------- */

/* Three answers in one round trip, with a line of ours between them. */
#define NEXT "= next ="
static const char site_text[] =
    "sbatch --version && scontrol show config | sed -n 's/^ClusterName *= *//p' || exit 75\n"
    "echo '" NEXT "'\n"
    "scontrol -o show partition || exit 75\n"
    "echo '" NEXT "'\n"
    "scontrol -d -o show node || exit 75\n"
    "echo '" NEXT "'\n"
    "sacctmgr -nP show assoc where user=\"$(id -un)\" format=account 2>/dev/null | sort -u\n";

/* The next part of the answer; ends it. */
static char *part(char **rest)
{
    char *begin = *rest, *end = begin ? strstr(begin, NEXT "\n") : NULL;

    *rest = end ? end + strlen(NEXT "\n") : NULL;
    if (end)
        *end = '\0';
    return begin;
}

static json_t *lines(char *text)
{
    json_t *all = json_array();

    for (char *line; text && (line = strsep(&text, "\n"));)
        if (*line)
            json_array_append_new(all, sw_json_text(line));
    return all;
}

json_t *slurm_inventory(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    const char script[] = "export LC_ALL=C\n";
    sw_autofree char *whole = sw_format("%s%s", script, site_text), *text = NULL;
    char *rest, *version, *cluster, *partitions, *nodes;
    json_t *site;

    if (slurm_ask(conn, whole, NULL, 0, true, &reply, err) < 0)
        return NULL;
    text = sw_text_utf8(sw_buf_text(&reply.output), reply.output.length);
    rest = text;
    cluster = part(&rest);
    partitions = part(&rest);
    nodes = part(&rest);
    if (reply.exit_code != 0 || !nodes || !rest) {
        sw_fail(err, SW_E_REFUSED, "%s does not tell what the cluster has: %.300s",
                sw_ssh_host(conn->ssh), sw_buf_text(&reply.errors));
        return NULL;
    }
    version = strsep(&cluster, "\n");
    site = slurm_site(partitions, nodes);
    json_object_set_new(site, "version", sw_json_text(version));
    json_object_set_new(site, "cluster", sw_json_text(cluster ? strsep(&cluster, "\n") : ""));
    json_object_set_new(site, "accounts", lines(rest));
    json_object_set_new(site, "host", sw_json_text(sw_ssh_host(conn->ssh)));
    return site;
}

/* ---- paths ------------------------------------------------------------------------------------- */

/* lustre:///data, slurm://fs/data and /data are what users write; /data is what the cluster knows. */
static char *place_of(const char *path, struct sw_error *err)
{
    const char *const schemes[] = { "lustre://", "slurm://" };
    const char *place = path;

    for (size_t i = 0; i < SW_COUNT(schemes); i++)
        if (sw_text_starts(path, schemes[i]))
            place = path + strlen(schemes[i]);
    if (*place == '/')
        return sw_strdup(place);
    if (place != path && *place)
        return sw_format("/%s", place);
    sw_fail(err, SW_E_SPEC, "'%s' is not an absolute path of the cluster", path);
    sw_hint(err, "write it as /path or lustre:///path");
    return NULL;
}

/* Answers with "yes", "no", or says why it cannot tell. */
static const char check_text[] =
    "if [ -e \"$place\" ]; then echo yes; exit 0; fi\n"
    "why=$(ls -d -- \"$place\" 2>&1 >/dev/null) && { echo yes; exit 0; }\n"
    "case $why in *'No such file'* | *'Not a directory'*) echo no ;; "
    "*) printf '%s\\n' \"$why\" >&2; exit 1 ;; esac\n";

int slurm_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    sw_autofree char *place = place_of(path, err);
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (!place)
        return -1;
    slurm_set(&script, "place", place);
    sw_buf_add(&script, check_text);
    if (slurm_ask(conn, sw_buf_text(&script), NULL, 0, true, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_REFUSED, "%s cannot look at '%s': %.300s", sw_ssh_host(conn->ssh),
                       place, sw_buf_text(&reply.errors));
    *exists = sw_text_starts(sw_buf_text(&reply.output), "yes");
    return 0;
}

/* Names with a NUL behind each, since any other byte may be part of one. */
static const char list_text[] =
    "[ -e \"$place\" ] || { echo \"there is no such path\" >&2; exit 66; }\n"
    "cd -- \"$place\" || exit 1\n"
    "find . -mindepth 1 -maxdepth 1 -printf '%f\\0'\n";

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *names_of(const struct sw_buf *answer)
{
    const char **all = NULL;
    size_t count = 0;
    json_t *names = json_array();

    for (size_t at = 0; at < answer->length; at += strlen(answer->data + at) + 1) {
        if ((count & (count - 1)) == 0)
            all = sw_realloc_array(all, count ? count * 2 : 1, sizeof *all);
        all[count++] = answer->data + at;
    }
    if (count)
        qsort(all, count, sizeof *all, by_text);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(names, sw_json_text(all[i]));
    free(all);
    return names;
}

json_t *slurm_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    enum { MISSING = 66 };
    sw_autofree char *place = place_of(path, err);
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (!place)
        return NULL;
    slurm_set(&script, "place", place);
    sw_buf_add(&script, list_text);
    if (slurm_ask(conn, sw_buf_text(&script), NULL, 0, true, &reply, err) < 0)
        return NULL;
    if (reply.exit_code == 0)
        return names_of(&reply.output);
    sw_fail(err, reply.exit_code == MISSING ? SW_E_NOT_FOUND : SW_E_REFUSED,
            "cannot list '%s' on %s: %.300s", place, sw_ssh_host(conn->ssh),
            sw_buf_text(&reply.errors));
    return NULL;
}
