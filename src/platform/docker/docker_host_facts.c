/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_host_facts.c - facts about the engine's machine that the Engine API does not tell: asked here when
 * it is this machine, over ssh when that is the way to it, not known otherwise.
 */
#include <ctype.h>
#include <string.h>

#include "base/proc.h"
#include "base/text.h"
#include "net/ssh.h"
#include "platform/docker/docker_api.h"
#include "platform/docker/docker_internal.h"

#define SAID_MAX 200

/* The script reads one line: a path, which is never part of a command. */
static char *ask_far(struct docker_api *api, const char *script, const char *line)
{
    struct sw_ssh *ssh = docker_dialer_ssh(docker_api_dialer(api));
    sw_autofree char *input = sw_format("%s\n", line);
    const struct sw_ssh_piece piece = { .bytes = input, .length = strlen(input) };
    const struct sw_ssh_call call = { .script = script, .input = &piece, .input_count = 1,
                                      .output_limit = 65536, .repeatable = true };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (!ssh || sw_ssh_run(ssh, &call, &reply, NULL) < 0 || reply.exit_code != 0)
        return NULL;
    return sw_buf_steal(&reply.output);
}

int64_t docker_host_free_bytes(struct docker_api *api, const char *folder)
{
    sw_autofree char *said = ask_far(api, "read -r folder && df -Pk -- \"$folder\" | "
                                          "{ read -r head; read -r disk all used left rest; "
                                          "echo \"$left\"; }", folder);
    long long kib = said && isdigit((unsigned char)*said) ? strtoll(said, NULL, 10) : -1;

    return kib < 0 || kib > INT64_MAX / 1024 ? -1 : (int64_t)kib * 1024;
}

/* The first line, harmless on a terminal. */
static char *first_line(const char *said)
{
    size_t length = said ? strcspn(said, "\r\n") : 0;

    return length ? sw_text_printable(said, length < SAID_MAX ? length : SAID_MAX) : NULL;
}

char *docker_program_version(struct docker_api *api, const char *path)
{
    char *const argv[] = { (char *)path, (char *)"--version", NULL };
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    sw_autofree char *far = NULL;
    int status = -1;

    if (!docker_api_is_local(api)) {
        far = ask_far(api, "read -r path && \"$path\" --version", path);
        return first_line(far);
    }
    if (sw_proc_ask(argv, "", &said, &status, NULL) < 0 || status != 0)
        return NULL;
    return first_line(sw_buf_text(&said));
}
