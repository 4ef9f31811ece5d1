/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_master.c - the one connection to a login host that all our processes share.
 *
 * ssh's own ControlMaster=auto leaves the second of two processes that start together with a
 * connection of its own, so we make the master ourselves, under a lock, and everything else is
 * a client of it. Whether it lives is seen by connecting to its socket, without a process.
 *
 * The socket's name is a hash of all that makes a connection another one; its folder is ours
 * alone (0700, checked). ssh adds 17 characters while it binds, we 4 (".new"), and 108 are all
 * there are.
 */
#include "net/ssh_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

#define LONGEST_PATH (sizeof ((struct sockaddr_un *)0)->sun_path - 1 - 17 - 4)
#define NAME_LENGTH 16

/* ---- where the sockets are ------------------------------------------------------------------- */

/* ssh expands %, ~ and ${} in this option: a folder named with such is not for us. */
static bool plain_path(const char *path)
{
    return path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "/._-+@")] == '\0';
}

/* Owned path of the folder for sockets. */
static char *control_folder(const char *state_dir, struct sw_error *err)
{
    sw_autofree char *folder = NULL;

    if (state_dir && *state_dir == '/') {
        folder = sw_path_join(state_dir, "ssh");
        if (strlen(folder) + 1 + NAME_LENGTH <= LONGEST_PATH && plain_path(folder) &&
            sw_mkdirs(folder, 0700, NULL) == 0 && sw_folder_is_private(folder))
            return sw_take(folder);
        free(folder);
    }
    folder = sw_format("/tmp/slipway-%u-ssh", (unsigned)geteuid());
    return sw_folder_make_private(folder, err) < 0 ? NULL : sw_take(folder);
}

static char *control_name(const struct sw_ssh *ssh, const char *host)
{
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    const char *const parts[] = { host, ssh->user, ssh->identity, ssh->config_file,
                                  ssh->known_hosts };
    char hex[SW_DIGEST_HEX];

    for (size_t i = 0; i < SW_COUNT(parts); i++)
        sw_buf_add_bytes(&all, parts[i] ? parts[i] : "", parts[i] ? strlen(parts[i]) + 1 : 1);
    sw_buf_addf(&all, "%d %d", ssh->port, ssh->accept_new);
    sw_sha256_hex(all.data, all.length, hex);
    return sw_strndup(hex, NAME_LENGTH);
}

int ssh_control_paths(struct sw_ssh *ssh, const char *state_dir, struct sw_error *err)
{
    sw_autofree char *folder = control_folder(state_dir, err);

    if (!folder)
        return -1;
    for (size_t i = 0; i < ssh->host_count; i++) {
        sw_autofree char *name = control_name(ssh, ssh->hosts[i].name);

        ssh->hosts[i].control_path = sw_path_join(folder, name);
    }
    return 0;
}

/* ---- how ssh is called ----------------------------------------------------------------------- */

void ssh_arguments_add(struct ssh_arguments *arguments, const char *text)
{
    if (arguments->count + 1 < SSH_ARGUMENTS)
        arguments->list[arguments->count++] = sw_strdup(text);
}

void ssh_arguments_done(struct ssh_arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->list[i]);
    arguments->count = 0;
}

static void add_option(struct ssh_arguments *arguments, const char *name, const char *value)
{
    sw_autofree char *text = sw_format("%s=%s", name, value);

    ssh_arguments_add(arguments, "-o");
    ssh_arguments_add(arguments, text);
}

static void add_number(struct ssh_arguments *arguments, const char *name, int64_t number)
{
    sw_autofree char *text = sw_format("%lld", (long long)number);

    add_option(arguments, name, text);
}

/* A path where ssh expands % and splits at spaces. Owned. */
static char *spelled_path(const char *path, bool quoted)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (quoted)
        sw_buf_add_char(&out, '"');
    for (; *path; path++)
        sw_buf_add(&out, *path == '%' ? "%%" : (const char[]){ *path, '\0' });
    if (quoted)
        sw_buf_add_char(&out, '"');
    return sw_buf_steal(&out);
}

/* Options on the command line come before the user's own configuration; the rest is theirs. */
static void add_rules(struct ssh_arguments *arguments, const struct sw_ssh *ssh)
{
    static const char *const rules[][2] = {
        { "BatchMode", "yes" }, { "LogLevel", "ERROR" }, { "RequestTTY", "no" },
        { "ForwardAgent", "no" }, { "AddKeysToAgent", "no" }, { "ForwardX11", "no" },
        { "ClearAllForwardings", "yes" },
        { "PermitLocalCommand", "no" }, { "RemoteCommand", "none" }, { "EscapeChar", "none" },
        { "ServerAliveInterval", "15" }, { "ServerAliveCountMax", "3" },
    };

    for (size_t i = 0; i < SW_COUNT(rules); i++)
        add_option(arguments, rules[i][0], rules[i][1]);
    add_option(arguments, "StrictHostKeyChecking", ssh->accept_new ? "accept-new" : "yes");
    add_number(arguments, "ConnectTimeout", (ssh->connect_ms + 999) / 1000);
}

static void add_login(struct ssh_arguments *arguments, const struct sw_ssh *ssh)
{
    if (ssh->known_hosts) {
        sw_autofree char *path = spelled_path(ssh->known_hosts, true);

        add_option(arguments, "UserKnownHostsFile", path);
    }
    if (ssh->port)
        add_number(arguments, "Port", ssh->port);
    if (ssh->user)
        add_option(arguments, "User", ssh->user);
    if (ssh->identity) {
        sw_autofree char *path = spelled_path(ssh->identity, false);

        ssh_arguments_add(arguments, "-i");
        ssh_arguments_add(arguments, path);
        add_option(arguments, "IdentitiesOnly", "yes");  /* else every key of the agent comes first */
    }
}

void ssh_arguments_make(struct ssh_arguments *arguments, const struct sw_ssh *ssh,
                        const char *control_path, enum ssh_use use, const char *text)
{
    *arguments = (struct ssh_arguments){ .count = 0 };
    ssh_arguments_add(arguments, "ssh");
    if (ssh->config_file) {
        ssh_arguments_add(arguments, "-F");
        ssh_arguments_add(arguments, ssh->config_file);
    }
    add_option(arguments, "ControlPath", control_path);
    add_option(arguments, "ControlMaster", use == SSH_MASTER ? "yes" : "no");
    add_rules(arguments, ssh);
    add_login(arguments, ssh);
    if (use == SSH_MASTER) {
        ssh_arguments_add(arguments, "-fN");
        add_number(arguments, "ControlPersist", ssh->persist_s);
    }
    if (use == SSH_TERMINAL)
        ssh_arguments_add(arguments, "-tt");
    if (use == SSH_PORT) {
        ssh_arguments_add(arguments, "-W");
        ssh_arguments_add(arguments, text);
    }
    ssh_arguments_add(arguments, "--");
    ssh_arguments_add(arguments, ssh->hosts[ssh->current].name);
    if (use == SSH_COMMAND || use == SSH_TERMINAL)
        ssh_arguments_add(arguments, text);
}

/* ---- the master ------------------------------------------------------------------------------ */

/* A connection to the master's socket, on which nothing is ever said: it ends with the master. */
static int dial(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    sw_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || strlen(path) >= sizeof address.sun_path)
        return -1;
    strcpy(address.sun_path, path);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return sw_take_fd(fd);
}

static bool answers(struct sw_ssh *ssh)
{
    if (ssh->watch >= 0)
        close(ssh->watch);
    ssh->watch = dial(ssh->hosts[ssh->current].control_path);
    return ssh->watch >= 0;
}

/* An open, locked file, or -1 when the deadline passed or it cannot be made. */
static int take_lock(const char *control_path, int64_t until_ms, struct sw_error *err)
{
    sw_autofree char *path = sw_format("%s.lock", control_path);
    sw_autofd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot open %s", path);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return sw_fail_errno(err, SW_E_IO, "cannot lock %s", path);
        if (sw_monotonic_ms() >= until_ms)
            return sw_fail(err, SW_E_UNREACHABLE,
                           "another process is still connecting, and time is up");
        sw_sleep_ms(5);
    }
    return sw_take_fd(fd);
}

int ssh_explain_current(const struct sw_ssh *ssh, const char *said, struct sw_error *err)
{
    const struct ssh_host *host = &ssh->hosts[ssh->current];
    const struct sw_ssh_target target = { .host = host->name, .user = ssh->user, .port = ssh->port,
                                          .control_path = host->control_path,
                                          .known_hosts = ssh->known_hosts };

    return sw_ssh_explain(&target, said, err);
}

static int log_in(struct sw_ssh *ssh, const char *control_path, int64_t until_ms, struct sw_error *err)
{
    sw_auto(ssh_arguments) struct ssh_arguments arguments = { .count = 0 };
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    struct ssh_process process = SSH_PROCESS_NONE;
    int status;

    ssh_arguments_make(&arguments, ssh, control_path, SSH_MASTER, NULL);
    if (ssh_process_start(&process, arguments.list, SSH_SILENT, err) < 0)
        return -1;
    ssh->counters.processes++;
    status = ssh_process_wait(&process, &said, until_ms);
    ssh_process_end(&process);
    if (status == 0) {
        ssh->counters.connections++;
        return 0;
    }
    if (status > 0)
        return ssh_explain_current(ssh, sw_buf_text(&said), err);
    return ssh_explain_current(ssh, "the login timed out", err);
}

/* Under the lock. The socket of a login gets its last name when it answers: an ssh that ends removes the
 * name that it was given, and so cannot remove the socket of the one that followed it. */
static int start_master(struct sw_ssh *ssh, int64_t until_ms, struct sw_error *err)
{
    const struct ssh_host *host = &ssh->hosts[ssh->current];
    sw_autofree char *fresh = sw_format("%s.new", host->control_path);
    sw_autofd int left = dial(fresh);            /* by a process that died after its login */

    if (left < 0) {
        unlink(fresh);
        if (log_in(ssh, fresh, until_ms, err) < 0)
            return -1;
    }
    if (rename(fresh, host->control_path) < 0 || !answers(ssh))
        return sw_fail(err, SW_E_UNREACHABLE, "the connection to %s ended at once", host->name);
    return 0;
}

int ssh_master_need(struct sw_ssh *ssh, int64_t until_ms, struct sw_error *err)
{
    const struct ssh_host *host = &ssh->hosts[ssh->current];
    int64_t own = sw_monotonic_ms() + ssh->connect_ms;
    sw_autofd int lock = -1;

    if (answers(ssh))
        return 0;
    lock = take_lock(host->control_path, until_ms, err);
    if (lock < 0)
        return -1;
    if (answers(ssh))            /* another process was faster */
        return 0;
    return start_master(ssh, own < until_ms ? own : until_ms, err);
}

void ssh_master_end(struct sw_ssh *ssh, size_t index)
{
    const struct ssh_host *host = &ssh->hosts[index];
    struct ssh_process process = SSH_PROCESS_NONE;
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    char *const argv[] = { (char *)"ssh", (char *)"-F", (char *)"none", (char *)"-S",
                           host->control_path, (char *)"-O", (char *)"exit", (char *)"--",
                           host->name, NULL };
    sw_autofd int there = dial(host->control_path);

    if (there < 0 || ssh_process_start(&process, argv, SSH_SILENT, NULL) < 0)
        return;
    ssh->counters.processes++;
    ssh_process_wait(&process, &said, sw_monotonic_ms() + 5000);
    ssh_process_end(&process);
    unlink(host->control_path);
}
