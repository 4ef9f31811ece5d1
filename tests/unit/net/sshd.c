/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sshd.c - see sshd.h.
 */
#include "sshd.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "test setup: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void raise_loopback(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    must(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0, "loopback");
    close(fd);
}

/* PID 1 collects whatever was orphaned and leaves with the test. The test itself is another
 * process: PID 1 may not be traced, and the leak sanitizer does. */
static void be_init(void)
{
    pid_t test = fork(), ended;
    int status = 0;

    must(test >= 0, "fork");
    if (test == 0)
        return;
    while ((ended = waitpid(-1, &status, 0)) != test)
        if (ended < 0 && errno != EINTR)
            _exit(1);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void sshd_enter_namespaces(void)
{
    int status = 0;
    pid_t child;

    if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) < 0) {
        fprintf(stderr, "no namespaces here (root is needed): %s\n", strerror(errno));
        exit(77);
    }
    child = fork();
    must(child >= 0, "fork");
    if (child > 0) {
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);   /* no thread can be made here any more */
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    be_init();
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mounts of our own");
    must(mount("proc", "/proc", "proc", 0, NULL) == 0, "/proc");
    must(mount("run", "/run", "tmpfs", 0, "mode=755") == 0, "/run");
    must(mount("tmp", "/tmp", "tmpfs", 0, "mode=1777") == 0, "/tmp");
    must(mkdir("/run/sshd", 0755) == 0, "/run/sshd");
    raise_loopback();
}

static pid_t start_program(const char *const argv[])
{
    pid_t pid = fork();

    must(pid >= 0, "fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    return pid;
}

int run_program(const char *const argv[])
{
    int status = 0;
    pid_t pid = start_program(argv);

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void make_key(const char *path)
{
    const char *const argv[] = { "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, NULL };

    unlink(path);
    must(run_program(argv) == 0, "ssh-keygen");
}

void sshd_new_host_key(struct sshd *sshd)
{
    char path[96];

    snprintf(path, sizeof path, "%s/host", sshd->folder);
    make_key(path);
}

void sshd_make(struct sshd *sshd)
{
    char path[128], text[128];
    const struct passwd *me = getpwuid(geteuid());

    memset(sshd, 0, sizeof *sshd);
    strcpy(sshd->folder, "/tmp/sshd-XXXXXX");
    must(mkdtemp(sshd->folder) != NULL, "a folder");
    snprintf(sshd->known_hosts, sizeof sshd->known_hosts, "%s/known_hosts", sshd->folder);
    snprintf(sshd->key, sizeof sshd->key, "%s/key", sshd->folder);
    snprintf(sshd->log, sizeof sshd->log, "%s/log", sshd->folder);
    snprintf(sshd->user, sizeof sshd->user, "%s", me ? me->pw_name : "root");
    sshd->port = 2022;
    make_key(sshd->key);
    sshd_new_host_key(sshd);
    snprintf(path, sizeof path, "%s.pub", sshd->key);
    snprintf(text, sizeof text, "%s/authorized_keys", sshd->folder);
    must(rename(path, text) == 0, "authorized_keys");
}

enum { FIRST = 0x7f000001, SECOND = 0x7f000003, PATIENCE_MS = 20000 };

static bool listens(uint32_t at, int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(at) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool good = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;

    close(fd);
    return good;
}

void sshd_start(struct sshd *sshd, const char *more_config)
{
    char path[96], text[1024];
    int64_t until = sw_monotonic_ms() + PATIENCE_MS;

    snprintf(path, sizeof path, "%s/config", sshd->folder);
    snprintf(text, sizeof text,
             "%s\nPort %d\nListenAddress 127.0.0.1\nListenAddress 127.0.0.3\nHostKey %s/host\n"
             "AuthorizedKeysFile %s/authorized_keys\nPidFile none\nStrictModes no\nUsePAM no\n"
             "PermitRootLogin yes\nPasswordAuthentication no\nUseDNS no\nMaxStartups 100\n"
             "LogLevel INFO\n", more_config ? more_config : "", sshd->port, sshd->folder, sshd->folder);
    must(sw_file_write(path, text, strlen(text), 0600, NULL) == 0, "sshd's configuration");
    sshd->pid = start_program((const char *const[]){ "/usr/sbin/sshd", "-D", "-f", path, "-E",
                                                     sshd->log, NULL });
    while (!listens(FIRST, sshd->port) || !listens(SECOND, sshd->port)) {
        must(waitpid(sshd->pid, NULL, WNOHANG) == 0 && sw_monotonic_ms() < until, "sshd");
        sw_sleep_ms(10);
    }
}

/* A process that it forked a moment ago has its sockets until it has executed another program: the next
 * sshd could not take the addresses, and would be thought to listen. */
void sshd_stop(struct sshd *sshd)
{
    int64_t until = sw_monotonic_ms() + PATIENCE_MS;

    if (sshd->pid > 0) {
        kill(sshd->pid, SIGKILL);
        waitpid(sshd->pid, NULL, 0);
        while (listens(FIRST, sshd->port) || listens(SECOND, sshd->port)) {
            must(sw_monotonic_ms() < until, "the end of sshd");
            sw_sleep_ms(10);
        }
    }
    sshd->pid = 0;
}

/* We see only processes of our own namespace. */
void sshd_kill_sessions(const struct sshd *sshd, int signal)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry;

    must(all != NULL, "/proc");
    while ((entry = readdir(all))) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        char path[64], name[32] = "";
        FILE *file;

        if (pid <= 1 || pid == sshd->pid)
            continue;
        snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
        file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && strcmp(name, "sshd\n") == 0)
            kill(pid, signal);
        if (file)
            fclose(file);
    }
    closedir(all);
}

void sshd_trust(struct sshd *sshd, const char *hosts)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *list = sw_strdup(hosts), *key = NULL;
    char path[96], *rest = NULL;

    snprintf(path, sizeof path, "%s/host.pub", sshd->folder);
    key = sw_file_read(path, 4096, NULL, NULL);
    must(key != NULL, "the host key");
    for (char *host = strtok_r(list, ",", &rest); host; host = strtok_r(NULL, ",", &rest))
        sw_buf_addf(&text, "[%s]:%d %s", host, sshd->port, key);
    must(sw_file_write(sshd->known_hosts, sw_buf_text(&text), text.length, 0600, NULL) == 0,
         "known_hosts");
}

int sshd_logins(const struct sshd *sshd)
{
    sw_autofree char *log = sw_file_read(sshd->log, 1 << 20, NULL, NULL);
    int count = 0;

    for (const char *at = log; at && (at = strstr(at, "Accepted publickey")); at++)
        count++;
    return count;
}

void sshd_remove(struct sshd *sshd)
{
    sshd_stop(sshd);
    sw_remove_tree(sshd->folder, NULL);
}
