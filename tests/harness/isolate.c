/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate.c - run one test where it sees nothing of this machine's user, engines and clusters.
 *
 *     isolate COMMAND ARG...
 *
 * meson puts this program before every test (tests/harness/meson.build). The test gets an empty
 * HOME, none of the user's variables and, as root, namespaces of its own:
 *
 *   - processes: all that the test started end with it, also when it is killed;
 *   - mounts: a fresh /run and /tmp, and nothing of the user's settings (.ssh, .docker, .kube, ...);
 *   - network: a loopback device only, unless SLIPWAY_TEST_NETWORK is set.
 *
 * In there an engine's socket, a Slurm's slurm.conf, a kubeconfig and an sshd seem to be present.
 * All of them are tripwires: a test that connects to one or opens one fails, whatever it returned.
 * SLIPWAY_TEST_NO_TRIPWIRES leaves the places empty, for tests of what is said when they are.
 *
 * Without root only the variables and HOME are replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_TRIPWIRES = 16, FAILED = 1, NO_START = 99, REMOVE_TRIES = 600, REMOVE_PAUSE_US = 100000 };

/* Prefixes of variables that lead to the user's own engines, clusters, clouds and files. */
static const char *const hidden_variables[] = {
    "DOCKER_", "CONTAINER_HOST", "CONTAINERS_", "KUBECONFIG", "KUBERNETES_", "SLURM", "SBATCH_",
    "SQUEUE_", "SINFO_", "SACCT_", "SALLOC_", "SRUN_", "PMI_", "PMIX_", "AWS_", "S3_", "HF_",
    "HUGGING", "NGC_", "NVIDIA_VISIBLE", "CUDA_VISIBLE", "LEPTON_", "RUNAI_", "RAY_", "BREV_",
    "TAO_", "WANDB_", "XDG_", "SSH_", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX", "EDITOR", "PAGER",
    "NO_COLOR", "COLUMNS", "LINES", "SLIPWAY_STATE_DIR", "SLIPWAY_PROFILE", "SLIPWAY_CONFIG",
    "SLIPWAY_DOCKER_", "SLIPWAY_GPU_LEASE_DIR", "SLIPWAY_SSH_COUNTERS",
};

/* Of the user's own home, as the passwd file names it: ssh and others do not ask for HOME. What a login shell
 * reads there may do anything, such as wait a minute for a lock. */
static const char *const hidden_settings[] = {
    ".ssh", ".docker", ".kube", ".aws", ".ngc", ".slurm", ".brev", ".lepton", ".runai",
    ".huggingface", ".netrc", ".cache/huggingface", ".config/slipway", ".config/containers",
    ".local/state/slipway", ".local/share/containers",
    ".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".zshrc", ".config/fish",
};

static const char *const hidden_folders[] = {
    "/etc/slurm", "/etc/slurm-llnl", "/etc/docker", "/etc/kubernetes",
    "/etc/rancher",
};

/* Caches of package managers stay where they are: they hold nothing but packages. */
static const struct { const char *name, *below_home; } kept_caches[] = {
    { "GOMODCACHE", "go/pkg/mod" }, { "GOCACHE", ".cache/go-build" },
    { "PIP_CACHE_DIR", ".cache/pip" }, { "CCACHE_DIR", ".cache/ccache" },
};

struct tripwire {
    int fd;
    const char *what;
    bool touched;
};

static struct tripwire tripwires[MOST_TRIPWIRES];
static size_t tripwire_count;

static void die(const char *what)
{
    fprintf(stderr, "isolate: %s: %s\n", what, strerror(errno));
    _exit(NO_START);
}

/* ---- variables ----------------------------------------------------------------------------------- */

static bool is_hidden(const char *pair)
{
    for (size_t i = 0; i < sizeof hidden_variables / sizeof *hidden_variables; i++)
        if (strncmp(pair, hidden_variables[i], strlen(hidden_variables[i])) == 0)
            return true;
    return false;
}

static void hide_variables(void)
{
    setenv("SLIPWAY_WATCHER", "off", 0);     /* a test that wants one says so */
    for (char **at = environ; *at;) {
        char name[256];

        if (!is_hidden(*at) || sscanf(*at, "%255[^=]", name) != 1 || unsetenv(name) != 0)
            at++;
    }
}

static void keep_caches(const char *home)
{
    char path[4096];

    for (size_t i = 0; home && i < sizeof kept_caches / sizeof *kept_caches; i++) {
        snprintf(path, sizeof path, "%s/%s", home, kept_caches[i].below_home);
        setenv(kept_caches[i].name, path, 0);
    }
}

/* ---- mounts ---------------------------------------------------------------------------------------- */

static void folder(const char *path, mode_t mode)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST)
        die(path);
    chmod(path, mode);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        die(path);
}

/* Something that exists becomes empty; what does not exist needs no cover. */
static void cover(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return;
    if (S_ISDIR(info.st_mode) ? mount("isolated", path, "tmpfs", 0, "mode=755") != 0
                              : mount("/dev/null", path, NULL, MS_BIND, NULL) != 0)
        die(path);
}

static void cover_settings(void)
{
    const struct passwd *user = getpwuid(getuid());
    char path[4096];

    for (size_t i = 0; user && i < sizeof hidden_settings / sizeof *hidden_settings; i++) {
        snprintf(path, sizeof path, "%s/%s", user->pw_dir, hidden_settings[i]);
        cover(path);
    }
    for (size_t i = 0; i < sizeof hidden_folders / sizeof *hidden_folders; i++)
        cover(hidden_folders[i]);
}

/* A name server's address may be in a file below /run. */
static void replace_run(void)
{
    char *resolv = realpath("/etc/resolv.conf", NULL), text[8192] = "";
    char *old = realpath("/var/run", NULL);
    FILE *file = fopen("/etc/resolv.conf", "re");

    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    if (mount("isolated", "/run", "tmpfs", 0, "mode=755") != 0)
        die("/run");
    folder("/run/lock", 01777);
    folder("/run/sshd", 0755);
    folder("/run/shm", 01777);
    folder("/run/own-home", 0700);
    if (old && strcmp(old, "/run") != 0 && mount("/run", old, NULL, MS_BIND, NULL) != 0)
        die(old);
    if (resolv && strncmp(resolv, "/run/", 5) == 0) {
        for (char *at = strchr(resolv + 5, '/'); at; at = strchr(at + 1, '/')) {
            *at = '\0';
            folder(resolv, 0755);
            *at = '/';
        }
        write_file(resolv, text);
    }
    free(resolv);
    free(old);
}

/* What a test leaves in /tmp goes with it. A checkout that itself is below /tmp stays visible. */
static void replace_tmp(const char *own)
{
    if (*own && mount(own, "/tmp", NULL, MS_BIND, NULL) != 0)
        die("/tmp");
}

static void loopback_up(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        die("loopback");
    close(fd);
}

/* ---- tripwires --------------------------------------------------------------------------------------- */

static void add_tripwire(int fd, const char *what)
{
    if (fd < 0 || tripwire_count == MOST_TRIPWIRES)
        die(what);
    tripwires[tripwire_count++] = (struct tripwire) { .fd = fd, .what = what };
}

static void trip_on_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 8) != 0)
        die(path);
    chmod(path, 0666);
    add_tripwire(fd, path);
}

static void trip_on_port(in_port_t port, const char *what)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_ANY) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 8) != 0)
        die(what);
    add_tripwire(fd, what);
}

static void trip_on_file(const char *path, const char *text)
{
    int fd = inotify_init1(IN_CLOEXEC);

    write_file(path, text);
    if (inotify_add_watch(fd, path, IN_OPEN) < 0)
        die(path);
    add_tripwire(fd, path);
}

static void set_tripwires(bool own_network)
{
    trip_on_socket("/run/docker.sock");
    folder("/run/podman", 0755);
    trip_on_socket("/run/podman/podman.sock");
    folder("/run/own-home/.kube", 0700);
    trip_on_file("/run/own-home/.kube/config", "apiVersion: v1\nkind: Config\n");
    if (access("/etc/slurm", F_OK) == 0)
        trip_on_file("/etc/slurm/slurm.conf", "ClusterName=machine\nSlurmctldHost=localhost\n");
    if (own_network) {
        trip_on_port(22, "the machine's sshd (port 22)");
        trip_on_port(2375, "the machine's engine (port 2375)");
        trip_on_port(6443, "the machine's Kubernetes (port 6443)");
        trip_on_port(6817, "the machine's Slurm (port 6817)");
    }
}

static void note_touch(struct tripwire *wire)
{
    char event[4096];
    int peer = accept4(wire->fd, NULL, NULL, SOCK_CLOEXEC);

    if (peer >= 0)
        close(peer);
    else if (read(wire->fd, event, sizeof event) < 0)
        return;
    if (!wire->touched)
        fprintf(stderr, "isolate: the test touched %s of this machine\n", wire->what);
    wire->touched = true;
}

static bool any_touched(void)
{
    for (size_t i = 0; i < tripwire_count; i++)
        if (tripwires[i].touched)
            return true;
    return false;
}

/* ---- the first process of the namespaces ------------------------------------------------------------- */

/* Collects every process that ended; returns true when one of them was `main_pid`. */
static bool reap(pid_t main_pid, int *status)
{
    bool over = false;
    int ended;

    for (pid_t pid; (pid = waitpid(-1, &ended, WNOHANG)) > 0;)
        if (pid == main_pid) {
            *status = ended;
            over = true;
        }
    return over;
}

static void poll_tripwires(int timeout_ms, int signals)
{
    struct pollfd fds[MOST_TRIPWIRES + 1] = { { .fd = signals, .events = POLLIN } };
    struct signalfd_siginfo info;

    for (size_t i = 0; i < tripwire_count; i++)
        fds[i + 1] = (struct pollfd) { .fd = tripwires[i].fd, .events = POLLIN };
    poll(fds, tripwire_count + 1, timeout_ms);
    for (size_t i = 0; i < tripwire_count; i++)
        if (fds[i + 1].revents)
            note_touch(&tripwires[i]);
    if (fds[0].revents && read(signals, &info, sizeof info) < 0)
        die("signalfd");
}

static int exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_and_watch(char **command)
{
    sigset_t child, before;
    int signals, status = 0;
    pid_t pid;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(command[0], command);
        die(command[0]);
    }
    while (!reap(pid, &status))
        poll_tripwires(-1, signals);
    poll_tripwires(0, signals);
    if (any_touched())
        return FAILED;
    return exit_code(status);
}

static int first_process(char **command, const char *own_tmp, bool own_network, bool with_tripwires)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0)
        die("mount");
    replace_run();
    replace_tmp(own_tmp);
    cover_settings();
    if (own_network)
        loopback_up();
    setenv("HOME", "/run/own-home", 1);
    if (with_tripwires)
        set_tripwires(own_network);
    return run_and_watch(command);
}

static int wait_for_child(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            die("waitpid");
    return exit_code(status);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info, (void)kind, (void)ftw;
    remove(path);
    return 0;
}

static void remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Removes the folder once the other end of the pipe is closed: when the test is over, or was killed with
 * all that ran it. Then the kernel may still be ending its processes, and they write a moment longer. */
static pid_t remove_at_the_end(const char *path, int *line)
{
    int ends[2];
    char byte;
    pid_t pid = -1;

    if (pipe2(ends, O_CLOEXEC) == 0)
        pid = fork();
    if (pid < 0)
        die("pipe");
    if (pid == 0) {
        setsid();
        for (int fd = 0; fd < 3; fd++)       /* the reader of our output waits for its end */
            close(fd);
        close(ends[1]);
        while (read(ends[0], &byte, 1) > 0)
            continue;
        for (int i = 0; i < REMOVE_TRIES && (remove_folder(path), access(path, F_OK) == 0); i++)
            usleep(REMOVE_PAUSE_US);
        _exit(0);
    }
    close(ends[0]);
    *line = ends[1];
    return pid;
}

static bool is_below_tmp(void)
{
    char here[4096];

    return getcwd(here, sizeof here) && strncmp(here, "/tmp/", 5) == 0;
}

static int in_namespaces(char **command, bool own_network, bool with_tripwires)
{
    char own_tmp[] = "/tmp/slipway-test-XXXXXX";
    pid_t pid, remover = 0;
    int line = -1, code;

    if (is_below_tmp())
        *own_tmp = '\0';
    else if (!mkdtemp(own_tmp) || chmod(own_tmp, 01777) != 0)
        die(own_tmp);
    else
        remover = remove_at_the_end(own_tmp, &line);
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | (own_network ? CLONE_NEWNET : 0)) != 0)
        die("unshare");
    pid = fork();
    if (pid == 0)
        _exit(first_process(command, own_tmp, own_network, with_tripwires));
    code = wait_for_child(pid);
    if (remover) {
        close(line);
        waitpid(remover, NULL, 0);
    }
    return code;
}

/* ---- without root -------------------------------------------------------------------------------------- */

static int with_own_home(char **command)
{
    char home[] = "/tmp/slipway-home-XXXXXX";
    pid_t pid;
    int code;

    if (!mkdtemp(home))
        die(home);
    setenv("HOME", home, 1);
    pid = fork();
    if (pid == 0) {
        execvp(command[0], command);
        die(command[0]);
    }
    code = wait_for_child(pid);
    remove_folder(home);
    return code;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

int main(int argc, char **argv)
{
    bool own_network = !is_set("SLIPWAY_TEST_NETWORK");
    bool with_tripwires = !is_set("SLIPWAY_TEST_NO_TRIPWIRES");

    if (argc < 2) {
        fprintf(stderr, "usage: isolate COMMAND ARG...\n");
        return 64;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);       /* the test ends with what runs the tests, too */
    keep_caches(getenv("HOME"));
    hide_variables();
    return geteuid() == 0 ? in_namespaces(argv + 1, own_network, with_tripwires) : with_own_home(argv + 1);
}
