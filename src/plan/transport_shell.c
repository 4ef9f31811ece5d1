/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_shell.c - the few lines of shell that stand between a bare image and our runner.
 *
 * POSIX sh only: they run in dash, busybox and whatever else an image calls /bin/sh. Every value
 * enters quoted. A message says what is missing, because nobody can look into that container.
 * Pure; the tests run what is written here.
 */
#include "plan/bundle.h"

#include <string.h>

/* Text in which every @ stands for the prefix of the variables. */
static void add_for(struct sw_buf *out, const char *prefix, const char *text)
{
    for (; *text; text++)
        if (*text == '@')
            sw_buf_add(out, prefix);
        else
            sw_buf_add_char(out, *text);
}

void sw_transport_assemble(struct sw_buf *out, const char *prefix, const char *file)
{
    sw_buf_add(out, "slipway_file=");
    sw_buf_add_quoted(out, file);
    add_for(out, prefix,
        "\nslipway_i=0\n"
        "while [ \"$slipway_i\" -lt \"${@_COUNT:-0}\" ]; do\n"
        "    eval \"slipway_piece=\\${@_$slipway_i-}\"\n"
        "    [ -n \"$slipway_piece\" ] || {\n"
        "        echo \"slipway: @_$slipway_i is missing\" >&2\n"
        "        exit 74\n"
        "    }\n"
        "    printf '%s' \"$slipway_piece\"\n"
        "    slipway_i=$((slipway_i + 1))\n"
        "done | base64 -d > \"$slipway_file.new\" && gzip -t < \"$slipway_file.new\" &&\n"
        "    mv \"$slipway_file.new\" \"$slipway_file\" || {\n"
        "    echo \"slipway: what came in @_* cannot be put together\" >&2\n"
        "    exit 74\n"
        "}\n"
        /* The command's environment is the user's: thousands of characters of ours go. */
        "slipway_i=0\n"
        "while [ \"$slipway_i\" -lt \"${@_COUNT:-0}\" ]; do\n"
        "    unset \"@_$slipway_i\"\n"
        "    slipway_i=$((slipway_i + 1))\n"
        "done\n"
        "unset @_COUNT @_SHA256 slipway_piece slipway_i slipway_file\n");
}

void sw_transport_unpack_once(struct sw_buf *out, const char *archive, const char *folder,
                              const char *hash, int limit_s)
{
    sw_buf_add(out, "slipway_archive=");
    sw_buf_add_quoted(out, archive);
    sw_buf_add(out, "\nslipway_folder=");
    sw_buf_add_quoted(out, folder);
    sw_buf_addf(out,
        "\nslipway_marker=\"$slipway_folder/.slipway-unpacked-%.16s\"\n"
        /* Of this start of the job: one that an earlier start left says nothing. */
        "slipway_failed=\"$slipway_folder/.slipway-failed-%.16s"
        "-${SLIPWAY_ATTEMPT:-1}-${SLURM_JOB_ID:-0}-${SLURM_RESTART_COUNT:-0}\"\n"
        "if [ \"${NODE_RANK:-${SLURM_NODEID:-0}}\" = 0 ]; then\n"
        "    [ -e \"$slipway_marker\" ] || {\n"
        "        mkdir -p \"$slipway_folder\" && gzip -t < \"$slipway_archive\" &&\n"
        "            gzip -dc < \"$slipway_archive\" | tar -xf - -C \"$slipway_folder\" &&\n"
        "            : > \"$slipway_marker\"\n"
        "    } || {\n"
        "        : > \"$slipway_failed\"\n"
        "        echo \"slipway: the code cannot be unpacked into $slipway_folder\" >&2\n"
        "        exit 74\n"
        "    }\n"
        "else\n"
        "    slipway_i=0\n"
        "    until [ -e \"$slipway_marker\" ]; do\n"
        "        [ ! -e \"$slipway_failed\" ] || {\n"
        "            echo \"slipway: node 0 could not unpack the code\" >&2\n"
        "            exit 74\n"
        "        }\n"
        "        [ \"$slipway_i\" -lt %d ] || {\n"
        "            echo \"slipway: node 0 has not unpacked the code within %d s;"
        " is $slipway_folder shared by all nodes?\" >&2\n"
        "            exit 74\n"
        "        }\n"
        "        sleep 1\n"
        "        slipway_i=$((slipway_i + 1))\n"
        "    done\n"
        "fi\n"
        "unset slipway_archive slipway_folder slipway_marker slipway_failed slipway_i\n",
        hash, hash, limit_s, limit_s);
}
