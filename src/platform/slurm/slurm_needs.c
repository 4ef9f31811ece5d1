/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_needs.c - what a job needs of the cluster, looked at on a login host before anything is queued.
 *
 * The submit and the preflight run the same lines, so that both say the same. `fail "WORD|TEXT"` is theirs:
 * it ends a submit, and a preflight notes it and continues (slurm_refused.c knows the words).
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "core/mount.h"
#include "platform/slurm/slurm_image.h"

/* Does any of the partitions allow so many minutes? */
static const char limit_text[] =
    "minutes() {\n"
    "    case $1 in *-*) rest=${1#*-}; echo $((${1%%-*} * 1440 + ${rest%%:*} * 60)); return ;; esac\n"
    "    case $1 in infinite | unlimited) echo 999999999 ;;\n"
    "    *:*:*) rest=${1#*:}; hours=${1%%:*}; rest=${rest%%:*}\n"
    "        echo $((${hours#0} * 60 + ${rest#0})) ;;\n"
    "    *:*) rest=${1%%:*}; echo $((${rest#0})) ;; *) echo 999999999 ;; esac\n"
    "}\n"
    "rows=$(sinfo -h ${partition:+-p \"$partition\"} -o '%P|%l' | sort -u) || exit 75\n"
    "over= fits=\n"
    "while IFS='|' read -r part limit; do\n"
    "    [ -n \"$part\" ] || continue\n"
    "    case $partition$part in *\\*) part=${part%\\*} ;; \"$part\") continue ;; esac\n"
    "    if [ \"$(minutes \"$limit\")\" -ge \"$asked\" ]; then fits=1; else over=\"$part|$limit\"; fi\n"
    "done <<ROWS\n$rows\nROWS\n"
    "[ -n \"$fits\" ] || [ -z \"$over\" ] || fail \"limit|$over\"\n";

/* Slurm cannot mount anything into an OCI bundle: it has to bring our folder itself. */
static const char bundle_text[] =
    "[ -r \"$bundle/config.json\" ] || fail \"missing|$bundle/config.json\"\n"
    "grep -o '\"destination\"[[:space:]]*:[[:space:]]*\"[^\"]*\"' \"$bundle/config.json\" |\n"
    "    { while IFS='\"' read -r _ _ _ where _; do\n"
    "        case $base/ in \"${where%/}\"/*) exit 0 ;; esac\n"
    "    done; exit 1; } || fail \"bundle|$bundle/config.json has no mount for $base\"\n";

/* Folders are made by the job: the nearest one above that exists must let it. */
static const char write_text[] =
    "may_write() {\n"
    "    where=$1\n"
    "    until [ -e \"$where\" ]; do where=${where%/*}; [ -n \"$where\" ] || where=/; done\n"
    "    [ -d \"$where\" ] && [ -w \"$where\" ] || fail \"output|$1 cannot be written\"\n"
    "}\n";

/* What the cluster calls it; owned. NULL: it is not of its file system. */
static char *path_there(const char *place)
{
    static const char *const schemes[] = { "lustre://", "slurm://" };

    for (size_t i = 0; place && i < SW_COUNT(schemes); i++)
        if (sw_text_starts(place, schemes[i])) {
            place += strlen(schemes[i]);
            return *place == '/' ? sw_strdup(place) : sw_format("/%s", place);
        }
    return place && *place == '/' ? sw_strdup(place) : NULL;
}

/* Adds to $missing what is not there. */
static void need(struct sw_buf *out, const char *path)
{
    sw_buf_add(out, "[ -e ");
    sw_buf_add_quoted(out, path);
    sw_buf_add(out, " ] || missing=\"$missing \"");
    sw_buf_add_quoted(out, path);
    sw_buf_add_char(out, '\n');
}

static void need_paths(struct sw_buf *out, const struct sw_plan *plan)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    size_t i;
    json_t *entry;

    sw_buf_add(out, "missing=\n");
    json_array_foreach(plan->inputs, i, entry) {
        sw_autofree char *path = path_there(sw_json_str(entry, "from"));

        if (path)
            need(out, path);
    }
    sw_mounts_parse(plan->mounts, &mounts, NULL);
    for (i = 0; i < mounts.count; i++)
        if (mounts.items[i].kind == SW_MOUNT_PATH && *mounts.items[i].source == '/')
            need(out, mounts.items[i].source);
    sw_buf_add(out, "[ -z \"$missing\" ] || fail \"missing|${missing# }\"\n");
}

static void need_image(struct sw_buf *out, const struct sw_plan *plan)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };

    if (slurm_in_bundle(plan)) {
        slurm_set(out, "bundle", plan->image);
        sw_buf_add(out, bundle_text);
        return;
    }
    if (!plan->image || sw_text_same(sw_json_str(plan->options, "container"), "none") ||
        slurm_image_parse(plan->image, &image, NULL) < 0 || image.kind != SLURM_IMAGE_FILE)
        return;
    slurm_set(out, "image_file", image.path);
    sw_buf_add(out, "[ -r \"$image_file\" ] || fail \"image|$image_file\"\n");
}

/* What stands before {id} and the other placeholders decides. */
static void need_outputs(struct sw_buf *out, const struct sw_plan *plan)
{
    size_t i;
    json_t *entry;

    sw_buf_add(out, write_text);
    json_array_foreach(plan->outputs, i, entry) {
        sw_autofree char *path = path_there(sw_json_str(entry, "to"));

        if (!path)
            continue;
        path[strcspn(path, "{")] = '\0';
        sw_buf_add(out, "may_write ");
        sw_buf_add_quoted(out, path);
        sw_buf_add_char(out, '\n');
    }
}

void slurm_needs(struct sw_buf *out, const struct sw_plan *plan, bool with_limit)
{
    if (!sw_json_bool(plan->options, "check", true))
        return;
    need_image(out, plan);
    need_paths(out, plan);
    need_outputs(out, plan);
    if (with_limit)
        sw_buf_add(out, limit_text);
}

/* Slurm names no resource when it refuses one: which GPUs there are helps most. */
static const char gpus_text[] =
    "gpus_here() {\n"
    "    case $1 in *'node configuration'* | *gres* | *GRES* | *TRES*) ;; *) return 0 ;; esac\n"
    "    types=$(sinfo -h ${partition:+-p \"$partition\"} -o %G | tr ',' '\\n' | "
    "sed -n 's/(.*//; /^gpu/p' | sort -u | paste -sd' ' -)\n"
    "    printf '; GPUs of its nodes: %s' \"${types:-none}\"\n"
    "}\n";

void slurm_gpus_here(struct sw_buf *out, const struct sw_plan *plan)
{
    sw_buf_add(out, plan->gpus > 0 ? gpus_text : "gpus_here() { :; }\n");
}
