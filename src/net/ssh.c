/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh.c - hosts, calls and which host comes next.
 *
 * The one rule that matters: a script goes to another host only when it certainly did not start
 * on this one, or when its caller says that twice is harmless. Only silence moves us on: a host
 * that answers and refuses (key, host key, configuration) ends the search and is reported, since the next one
 * would hide it.
 */
#include "net/ssh_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#define CONNECT_MS 30000
#define PERSIST_S 600
#define CALL_MS 60000
#define HOSTS_MAX 32

/* ---- opening --------------------------------------------------------------------------------- */

/* A name that ssh cannot take for an option, a command or a pattern. */
static bool harmless_name(const char *name)
{
    if (!*name || *name == '-' || strlen(name) > 255)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("._-+@:%\\[]", *name))
            return false;
    return true;
}

static int add_host(struct sw_ssh *ssh, char *name, struct sw_error *err)
{
    sw_autofree char *owned = name;

    if (!harmless_name(owned))
        return sw_fail(err, SW_E_SPEC, "'%s' is not a host name", owned);
    if (ssh->host_count == HOSTS_MAX)
        return sw_fail(err, SW_E_SPEC, "more than %d login hosts", HOSTS_MAX);
    ssh->hosts = sw_realloc_array(ssh->hosts, ssh->host_count + 1, sizeof *ssh->hosts);
    ssh->hosts[ssh->host_count++] = (struct ssh_host){ .name = sw_take(owned) };
    return 0;
}

static int read_hosts(struct sw_ssh *ssh, const char *list, struct sw_error *err)
{
    for (const char *at = list ? list : ""; *at;) {
        size_t length = strcspn(at, ", \t\n");

        if (length > 0 && add_host(ssh, sw_strndup(at, length), err) < 0)
            return -1;
        at += length;
        at += strspn(at, ", \t\n");
    }
    if (ssh->host_count == 0)
        return sw_fail(err, SW_E_SPEC, "no login host is named");
    return 0;
}

static int check_identity(const char *path, struct sw_error *err)
{
    struct stat info;

    if (stat(path, &info) < 0) {
        sw_fail_errno(err, SW_E_CREDENTIAL, "cannot read the key %s", path);
        return sw_hint(err, "name the private key file with SSH_KEY_PATH");
    }
    if (!S_ISREG(info.st_mode))
        return sw_fail(err, SW_E_CREDENTIAL, "the key %s is not a file", path);
    if (info.st_mode & 077) {
        sw_fail(err, SW_E_CREDENTIAL, "others can read the key %s (mode %04o)", path,
                (unsigned)(info.st_mode & 07777));
        return sw_hint(err, "run: chmod 600 %s", path);
    }
    return 0;
}

static char *path_option(const char *path)
{
    if (sw_text_empty(path))
        return NULL;
    return sw_text_starts(path, "~/") ? sw_path_home(path + 2) : sw_strdup(path);
}

static int configure(struct sw_ssh *ssh, const struct sw_ssh_options *options, struct sw_error *err)
{
    ssh->local = options->local;
    ssh->connect_ms = options->connect_ms > 0 ? options->connect_ms : CONNECT_MS;
    ssh->persist_s = options->persist_ms >= 1000 ? options->persist_ms / 1000 : PERSIST_S;
    if (ssh->local)
        return add_host(ssh, sw_strdup("localhost"), err);
    if (options->port < 0 || options->port > 65535)
        return sw_fail(err, SW_E_SPEC, "%d is not a port", options->port);
    if (!sw_text_empty(options->user) && !harmless_name(options->user))
        return sw_fail(err, SW_E_SPEC, "'%s' is not a user name", options->user);
    ssh->port = options->port;
    ssh->user = sw_text_empty(options->user) ? NULL : sw_strdup(options->user);
    ssh->accept_new = options->accept_new;
    ssh->identity = path_option(options->identity);
    ssh->config_file = path_option(options->config_file);
    ssh->known_hosts = path_option(options->known_hosts);
    if (ssh->identity && check_identity(ssh->identity, err) < 0)
        return -1;
    if (read_hosts(ssh, options->hosts, err) < 0)
        return -1;
    return ssh_control_paths(ssh, options->state_dir, err);
}

struct sw_ssh *sw_ssh_open(const struct sw_ssh_options *options, struct sw_error *err)
{
    sw_auto(sw_ssh) struct sw_ssh *ssh = sw_new(struct sw_ssh);

    ssh->watch = -1;
    ssh->borrow = options->borrow;
    ssh->borrow_context = options->borrow_context;
    ssh->shell = (struct ssh_process)SSH_PROCESS_NONE;
    if (configure(ssh, options, err) < 0)
        return NULL;
    return sw_take(ssh);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void tell_counters(const struct sw_ssh_counters *counters)
{
    const char *path = getenv("SLIPWAY_SSH_COUNTERS");
    sw_autofree char *line = NULL;
    sw_autofd int fd = -1;

    if (sw_text_empty(path))
        return;
    line = sw_format("{\"processes\": %lld, \"connections\": %lld, \"round_trips\": %lld, "
                     "\"sent\": %lld, \"received\": %lld}\n", (long long)counters->processes,
                     (long long)counters->connections, (long long)counters->round_trips,
                     (long long)counters->sent_bytes, (long long)counters->received_bytes);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0)
        sw_write_all(fd, line, strlen(line));
}

void sw_ssh_close(struct sw_ssh *ssh)
{
    if (!ssh)
        return;
    ssh_shell_end(ssh);
    sw_buf_done(&ssh->shell_said);
    sw_buf_done(&ssh->shell_knows);
    if (ssh->counters.processes > 0)
        tell_counters(&ssh->counters);
    for (size_t i = 0; i < ssh->host_count; i++) {
        free(ssh->hosts[i].name);
        free(ssh->hosts[i].control_path);
    }
    free(ssh->hosts);
    free(ssh->user);
    free(ssh->identity);
    free(ssh->config_file);
    free(ssh->known_hosts);
    free(ssh->lent);
    sw_buf_done(&ssh->facts);
    free(ssh);
}

void sw_ssh_disconnect(struct sw_ssh *ssh)
{
    ssh_shell_end(ssh);
    for (size_t i = 0; !ssh->local && i < ssh->host_count; i++)
        ssh_master_end(ssh, i);
}

void sw_ssh_reply_done(struct sw_ssh_reply *reply)
{
    sw_buf_done(&reply->output);
    sw_buf_done(&reply->errors);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

size_t sw_ssh_host_count(const struct sw_ssh *ssh)
{
    return ssh->host_count;
}

const char *sw_ssh_host(const struct sw_ssh *ssh)
{
    return ssh->hosts[ssh->current].name;
}

const char *sw_ssh_host_at(const struct sw_ssh *ssh, size_t index)
{
    return index < ssh->host_count ? ssh->hosts[index].name : NULL;
}

static void use_host(struct sw_ssh *ssh, size_t index)
{
    if (index != ssh->current)
        ssh_shell_end(ssh);
    ssh->current = index;
}

bool sw_ssh_prefer(struct sw_ssh *ssh, const char *host)
{
    for (size_t i = 0; i < ssh->host_count; i++) {
        if (!sw_text_same(ssh->hosts[i].name, host))
            continue;
        use_host(ssh, i);
        return true;
    }
    return false;
}

const struct sw_ssh_counters *sw_ssh_counters(const struct sw_ssh *ssh)
{
    return &ssh->counters;
}

/* ---- connecting ------------------------------------------------------------------------------ */

typedef int need_fn(struct sw_ssh *ssh, int64_t until_ms, struct sw_error *err);

/* `need` at the first host that answers, beginning with the current one. Nothing that a user
 * asked for has been sent while this runs. */
static int at_some_host(struct sw_ssh *ssh, need_fn *need, int64_t until_ms, struct sw_error *err)
{
    size_t first = ssh->current;
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    struct sw_error why = { 0 };

    for (size_t i = 0; i < ssh->host_count; i++) {
        use_host(ssh, (first + i) % ssh->host_count);
        why = (struct sw_error){ 0 };
        if (need(ssh, until_ms, &why) == 0)
            return 0;
        if (why.code != SW_E_UNREACHABLE || ssh->host_count == 1)
            break;
        sw_buf_addf(&all, "%s%s", i ? "; " : "", why.message);
    }
    if (why.code == SW_E_UNREACHABLE && ssh->host_count > 1) {
        use_host(ssh, first);
        sw_fail(err, SW_E_UNREACHABLE, "none of %zu login hosts can be reached: %s",
                ssh->host_count, sw_buf_text(&all));
    } else {
        sw_fail(err, why.code, "%s", why.message);
    }
    if (why.hint[0])
        sw_hint(err, "%s", why.hint);
    return -1;
}

static int need_master(struct sw_ssh *ssh, int64_t until_ms, struct sw_error *err)
{
    return ssh->local ? 0 : ssh_master_need(ssh, until_ms, err);
}

int ssh_some_master(struct sw_ssh *ssh, struct sw_error *err)
{
    int64_t patience = ssh->connect_ms * (int64_t)(ssh->host_count + 1);

    return at_some_host(ssh, need_master, sw_monotonic_ms() + patience, err);
}

int sw_ssh_connect_to(struct sw_ssh *ssh, size_t index, struct sw_error *err)
{
    if (index >= ssh->host_count)
        return sw_fail(err, SW_E_USAGE, "no login host number %zu", index);
    use_host(ssh, index);
    return ssh_shell_need(ssh, sw_monotonic_ms() + 2 * ssh->connect_ms, err);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool may_try_again(const struct sw_ssh_call *call, const struct sw_ssh_reply *reply,
                          const struct sw_error *why)
{
    return why->code == SW_E_UNREACHABLE &&
           (reply->fate == SW_SSH_NOT_STARTED || (call->repeatable && !call->sink));
}

int sw_ssh_run(struct sw_ssh *ssh, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
               struct sw_error *err)
{
    int64_t until = sw_monotonic_ms() + (call->timeout_ms > 0 ? call->timeout_ms : CALL_MS);

    if (sw_text_empty(call->script))
        return sw_fail(err, SW_E_USAGE, "no script to run");
    for (size_t tries = 0;; tries++) {
        struct sw_error why = { 0 };

        reply->fate = SW_SSH_NOT_STARTED;
        reply->exit_code = -1;
        sw_buf_clear(&reply->output);
        sw_buf_clear(&reply->errors);
        if (at_some_host(ssh, ssh_shell_need, until, err) < 0)
            return -1;
        if (ssh_call_run(ssh, call, until, reply, &why) == 0)
            return 0;
        if (tries < ssh->host_count && may_try_again(call, reply, &why) && sw_monotonic_ms() < until)
            continue;
        sw_fail(err, why.code, "%s", why.message);
        return why.hint[0] ? sw_hint(err, "%s", why.hint) : -1;
    }
}

/* ---- streams --------------------------------------------------------------------------------- */

struct sw_ssh_stream {
    struct ssh_process process;
    struct sw_ssh_target target;         /* its texts belong to the connection's owner: copied */
    char *host, *command;
    bool local;
};

static struct sw_ssh_stream *join(struct sw_ssh *ssh, enum ssh_use use, const char *text, int fd,
                                  struct sw_error *err)
{
    sw_auto(sw_ssh_stream) struct sw_ssh_stream *stream = sw_new(struct sw_ssh_stream);
    sw_auto(ssh_arguments) struct ssh_arguments arguments = { .count = 0 };
    char *const local[] = { (char *)"/bin/sh", (char *)"-c", (char *)text, NULL };

    stream->process = (struct ssh_process)SSH_PROCESS_NONE;
    stream->process.in = fd;
    if (ssh_some_master(ssh, err) < 0)
        return NULL;
    stream->local = ssh->local;
    stream->host = sw_strdup(sw_ssh_host(ssh));
    stream->command = sw_strdup(text);
    stream->target = (struct sw_ssh_target){ .host = stream->host, .port = ssh->port };
    if (!ssh->local)
        ssh_arguments_make(&arguments, ssh, ssh->hosts[ssh->current].control_path, use, text);
    if (ssh_process_start(&stream->process, ssh->local ? local : arguments.list, SSH_GIVEN,
                          err) < 0)
        return NULL;
    ssh->counters.processes++;
    return sw_take(stream);
}

struct sw_ssh_stream *sw_ssh_stream_join(struct sw_ssh *ssh, const char *command, int fd,
                                         struct sw_error *err)
{
    return join(ssh, SSH_COMMAND, command, fd, err);
}

struct sw_ssh_stream *sw_ssh_stream_port(struct sw_ssh *ssh, int port, int fd, struct sw_error *err)
{
    sw_autofree char *server = sw_format("127.0.0.1:%d", port);

    if (!ssh->local)
        return join(ssh, SSH_PORT, server, fd, err);
    close(fd);
    return sw_null(sw_fail(err, SW_E_USAGE, "a port of this machine needs no ssh"));
}

struct sw_ssh_stream *sw_ssh_stream_open(struct sw_ssh *ssh, const char *command, int *fd,
                                         struct sw_error *err)
{
    struct sw_ssh_stream *stream;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return sw_null(sw_fail_errno(err, SW_E_IO, "cannot create a socket"));
    stream = sw_ssh_stream_join(ssh, command, pair[1], err);
    if (!stream)
        close(pair[0]);
    *fd = stream ? pair[0] : -1;
    return stream;
}

bool sw_ssh_stream_over(const struct sw_ssh_stream *stream)
{
    siginfo_t info = { 0 };

    return stream->process.pid <= 0 ||
           waitid(P_PID, (id_t)stream->process.pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid != 0;
}

int sw_ssh_stream_why(struct sw_ssh_stream *stream, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    sw_autofree char *words = NULL;
    int status;

    if (stream->process.pid <= 0)
        return sw_fail(err, SW_E_UNREACHABLE, "'%s' on %s has ended", stream->command, stream->host);
    status = ssh_process_wait(&stream->process, &said, sw_monotonic_ms() + 2000);
    if (status == 255 && !stream->local)
        return sw_ssh_explain(&stream->target, sw_buf_text(&said), err);
    words = sw_text_printable(sw_buf_text(&said), said.length < 500 ? said.length : 500);
    if (status < 0)
        return sw_fail(err, SW_E_UNREACHABLE, "'%s' on %s does not answer: %s", stream->command,
                       stream->host, words);
    if (status == 0 && !*words)
        return sw_fail(err, SW_E_UNREACHABLE, "'%s' on %s closed the connection", stream->command,
                       stream->host);
    /* A program that cannot be started there will not be found by asking again. */
    return sw_fail(err, status == 126 || status == 127 ? SW_E_REFUSED : SW_E_UNREACHABLE,
                   "'%s' on %s ended with exit code %d: %s", stream->command, stream->host, status,
                   words);
}

void sw_ssh_stream_close(struct sw_ssh_stream *stream)
{
    if (!stream)
        return;
    ssh_process_end(&stream->process);
    free(stream->host);
    free(stream->command);
    free(stream);
}
