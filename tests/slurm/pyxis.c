/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyxis.c - a SPANK plugin for the test cluster with the options and refusals of Pyxis.
 *
 * Pyxis itself is not packaged. This one takes the same options in the same syntax, imports
 * registry images with `enroot` (tests/slurm/enroot here), unpacks a squashfs image with
 * unsquashfs, and really enters that root: mount namespace, binds, pivot_root, the image's
 * environment and working directory, and the user as root inside when asked. Where Pyxis
 * refuses, it refuses, with Pyxis' words where scripts might look for them.
 *
 * plugstack.conf: required .../pyxis.so spool=FOLDER    (unpacked roots; removed with the step)
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>

SPANK_PLUGIN(pyxis, 1)

#define MOUNTS_MAX 64

struct bind {
    char *from, *to;
    unsigned long flags;         /* to be set by a second mount() */
    unsigned long propagation;
};

static struct {
    char *image, *name, *save, *workdir, *env;
    char name_flag[16];
    struct bind mounts[MOUNTS_MAX];
    size_t mount_count;
    int mount_home, remap_root, entrypoint, writable;    /* -1: not said */
} asked = { .mount_home = -1, .remap_root = -1, .entrypoint = -1, .writable = -1 };

static char spool[1000] = "/tmp";
static char step_folder[PATH_MAX];       /* ours, made by root; below it the root and the import */
static char root[PATH_MAX];
static uid_t user;
static gid_t group;

/* ---- the options, as Pyxis reads them ----------------------------------------------------------- */

static int refuse(const char *why)
{
    slurm_error("pyxis: %s", why);
    return -1;
}

static int set_once(char **where, const char *option, const char *value)
{
    if (!value || !*value) {
        slurm_error("pyxis: --%s: argument required", option);
        return -1;
    }
    if (*where && strcmp(*where, value) != 0) {
        slurm_error("pyxis: --%s specified multiple times", option);
        return -1;
    }
    free(*where);
    *where = strdup(value);
    return 0;
}

static int set_flag(int *where, int value, const char *option)
{
    if (*where != -1 && *where != value) {
        slurm_error("pyxis: both --container-%s and --no-container-%s were specified", option, option);
        return -1;
    }
    *where = value;
    return 0;
}

static int image_option(int value, const char *text, int remote)
{
    (void)value, (void)remote;
    return set_once(&asked.image, "container-image", text);
}

static int workdir_option(int value, const char *text, int remote)
{
    (void)value, (void)remote;
    return set_once(&asked.workdir, "container-workdir", text);
}

static int env_option(int value, const char *text, int remote)
{
    (void)value, (void)remote;
    return set_once(&asked.env, "container-env", text);
}

static int save_option(int value, const char *text, int remote)
{
    (void)value, (void)remote;
    if (text && *text != '/' && strncmp(text, "./", 2) != 0)
        return refuse("--container-save: target is not a path");
    return set_once(&asked.save, "container-save", text);
}

/* NAME[:auto|create|exec|no_exec] */
static int name_option(int value, const char *text, int remote)
{
    static const char *const flags[] = { "auto", "create", "exec", "no_exec" };
    const char *colon = text ? strchr(text, ':') : NULL;
    bool known = !colon;

    (void)value, (void)remote;
    for (size_t i = 0; colon && i < 4; i++)
        known = known || strcmp(colon + 1, flags[i]) == 0;
    if (!known)
        return refuse("--container-name: flag must be \"auto\", \"create\", \"exec\" or \"no_exec\"");
    if (text && (strchr(text, '/') || *text == ':'))
        return refuse("--container-name: name must not contain \"/\" or be empty");
    snprintf(asked.name_flag, sizeof asked.name_flag, "%s", colon ? colon + 1 : "auto");
    if (set_once(&asked.name, "container-name", text) < 0)
        return -1;
    asked.name[strcspn(asked.name, ":")] = '\0';
    return 0;
}

static int home_option(int value, const char *text, int remote)
{
    (void)text, (void)remote;
    return set_flag(&asked.mount_home, value, "mount-home");
}

static int remap_option(int value, const char *text, int remote)
{
    (void)text, (void)remote;
    return set_flag(&asked.remap_root, value, "remap-root");
}

static int entrypoint_option(int value, const char *text, int remote)
{
    (void)text, (void)remote;
    return set_flag(&asked.entrypoint, value, "entrypoint");
}

static int writable_option(int value, const char *text, int remote)
{
    (void)text, (void)remote;
    if (asked.writable != -1 && asked.writable != value)
        return refuse("both --container-writable and --container-readonly were specified");
    asked.writable = value;
    return 0;
}

static int log_option(int value, const char *text, int remote)
{
    (void)value, (void)text, (void)remote;
    return 0;
}

static const struct { const char *word; unsigned long flags, propagation; } mount_words[] = {
    { "ro", MS_RDONLY, 0 }, { "rw", 0, 0 }, { "bind", 0, 0 }, { "rbind", 0, 0 },
    { "nosuid", MS_NOSUID, 0 }, { "nodev", MS_NODEV, 0 }, { "noexec", MS_NOEXEC, 0 },
    { "private", 0, MS_PRIVATE }, { "rprivate", 0, MS_PRIVATE | MS_REC }, { "slave", 0, MS_SLAVE },
    { "rslave", 0, MS_SLAVE | MS_REC }, { "shared", 0, MS_SHARED }, { "rshared", 0, MS_SHARED | MS_REC },
    { "x-create=auto", 0, 0 }, { "x-create=dir", 0, 0 }, { "x-create=file", 0, 0 },
};

static int add_mount_flag(struct bind *bind, const char *word)
{
    for (size_t i = 0; i < sizeof mount_words / sizeof mount_words[0]; i++) {
        if (strcmp(word, mount_words[i].word) != 0)
            continue;
        bind->flags |= mount_words[i].flags;
        bind->propagation |= mount_words[i].propagation;
        return 0;
    }
    slurm_error("pyxis: --container-mounts: unknown mount flag: %s", word);
    return -1;
}

/* SRC[:DST[:FLAG+FLAG]] */
static int add_mount(char *entry)
{
    struct bind *bind = &asked.mounts[asked.mount_count];
    char *from = strsep(&entry, ":"), *to = strsep(&entry, ":"), *flags = strsep(&entry, ":"), *word;

    if (!*from || (to && !*to) || (flags && !*flags) || entry)
        return refuse("--container-mounts: invalid format, SRC:DST[:FLAGS] is expected");
    to = to ? to : from;
    if ((*from != '/' && strncmp(from, "./", 2) != 0) || *to != '/')
        return refuse("--container-mounts: invalid format, paths must be absolute");
    if (asked.mount_count + 1 == MOUNTS_MAX)
        return refuse("--container-mounts: too many");
    *bind = (struct bind){ .from = strdup(from), .to = strdup(to) };
    while (flags && (word = strsep(&flags, "+")))
        if (add_mount_flag(bind, word) < 0)
            return -1;
    asked.mount_count++;
    return 0;
}

static int mounts_option(int value, const char *text, int remote)
{
    char *copy, *rest, *entry;
    int result = 0;

    (void)value, (void)remote;
    if (!text || !*text)
        return refuse("--container-mounts: argument required");
    rest = copy = strdup(text);
    while (result == 0 && (entry = strsep(&rest, ",")))
        result = add_mount(entry);
    free(copy);
    return result;
}

static struct spank_option options[] = {
    { "container-image", "[USER@][REGISTRY#]IMAGE[:TAG]|PATH", "the image", 1, 0, image_option },
    { "container-mounts", "SRC:DST[:FLAGS][,SRC:DST...]", "bind mounts", 1, 0, mounts_option },
    { "container-workdir", "PATH", "working directory", 1, 0, workdir_option },
    { "container-name", "NAME", "keep the unpacked root by this name", 1, 0, name_option },
    { "container-save", "PATH", "save the root when it ends", 1, 0, save_option },
    { "container-env", "NAME[,NAME...]", "names whose host value wins", 1, 0, env_option },
    { "container-mount-home", NULL, "bind the home folder", 0, 1, home_option },
    { "no-container-mount-home", NULL, "do not", 0, 0, home_option },
    { "container-remap-root", NULL, "root inside", 0, 1, remap_option },
    { "no-container-remap-root", NULL, "not root inside", 0, 0, remap_option },
    { "container-entrypoint", NULL, "run the entrypoint", 0, 1, entrypoint_option },
    { "no-container-entrypoint", NULL, "do not", 0, 0, entrypoint_option },
    { "container-entrypoint-log", NULL, "print what it says", 0, 0, log_option },
    { "container-writable", NULL, "writable root", 0, 1, writable_option },
    { "container-readonly", NULL, "read-only root", 0, 0, writable_option },
};

/* Options that need a container and have none are complained about and ignored, as Pyxis does. */
static bool wanted(void)
{
    static const char text[] = "because neither --container-image nor --container-name is set";
    const struct { bool said; const char *option; } rows[] = {
        { asked.mount_count > 0, "mounts" }, { asked.workdir != NULL, "workdir" },
        { asked.env != NULL, "env" }, { asked.save != NULL, "save" },
        { asked.mount_home != -1, "mount-home" }, { asked.remap_root != -1, "remap-root" },
        { asked.entrypoint != -1, "entrypoint" }, { asked.writable != -1, "writable" },
    };

    if (asked.image || asked.name)
        return true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].said)
            slurm_error("pyxis: ignoring --container-%s %s", rows[i].option, text);
    return false;
}

/* ---- helpers ------------------------------------------------------------------------------------- */

/* Run a program as the user, quietly but for its last words. */
static int run_as_user(char *const argv[], char *words, size_t size)
{
    int channel[2], status = 0;
    ssize_t got;
    size_t length = 0;
    pid_t child;

    if (pipe(channel) < 0 || (child = fork()) < 0)
        return -1;
    if (child == 0) {
        dup2(channel[1], 1);
        dup2(channel[1], 2);
        close(channel[0]);
        if (geteuid() != 0 && seteuid(0) < 0)
            _exit(126);
        if (setgid(group) < 0 || setuid(user) < 0)
            _exit(126);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(channel[1]);
    while ((got = read(channel[0], words + length, size - 1 - length)) > 0)
        if ((length += (size_t)got) > size / 2) {
            memmove(words, words + length / 2, length - length / 2);
            length -= length / 2;
        }
    words[length] = '\0';
    close(channel[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

/* A folder below `base` (mkdir -p); a file when `like` is one. */
static void make_target(const char *base, const char *path, const struct stat *like)
{
    char full[2 * PATH_MAX];
    int fd;

    snprintf(full, sizeof full, "%s%s", base, path);
    for (char *at = full + strlen(base) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0755);
        *at = '/';
    }
    if (S_ISDIR(like->st_mode)) {
        mkdir(full, 0755);
    } else if ((fd = open(full, O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) >= 0) {
        close(fd);
    }
}

/* ---- unpacking, once per step and node ------------------------------------------------------------ */

static bool is_squashfs(const char *path)
{
    char magic[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read(fd, magic, 4) == 4 && memcmp(magic, "hsqs", 4) == 0;

    if (fd >= 0)
        close(fd);
    return good;
}

/* In the words of Pyxis 0.24, which scripts and rules look for. */
static int refuse_image(const char *what, const char *enroot_said)
{
    slurm_error("pyxis: child %d failed with error code: 1", (int)getpid());
    slurm_error("pyxis: %s: %s", what, asked.image);
    slurm_error("pyxis: printing enroot log file:");
    slurm_error("pyxis:     %s", enroot_said);
    return -1;
}

/* The squashfs file of the image, imported when it is in a registry. */
static int find_image(char *file, size_t size, spank_t spank)
{
    static const char *const schemes[] = { "docker://", "dockerd://", "podman://" };
    char uri[PATH_MAX], words[4096], path[PATH_MAX];
    char *const import[] = { (char *)"enroot", (char *)"import", (char *)"-o", file, (char *)"--", uri,
                             NULL };
    bool named = false;

    if (*asked.image == '/' || strncmp(asked.image, "./", 2) == 0) {
        snprintf(file, size, "%s", asked.image);
        snprintf(words, sizeof words, "[ERROR] %s: %.2000s",
                 access(file, R_OK) < 0 ? "No such file or directory" : "Invalid image format", file);
        return is_squashfs(file) ? 0 : refuse_image("failed to create container filesystem for image", words);
    }
    for (size_t i = 0; i < 3; i++)
        named = named || strncmp(asked.image, schemes[i], strlen(schemes[i])) == 0;
    snprintf(uri, sizeof uri, "%s%s", named ? "" : "docker://", asked.image);
    snprintf(file, size, "%s/image.sqsh", step_folder);
    if (spank_getenv(spank, "PATH", path, sizeof path) == ESPANK_SUCCESS)
        setenv("PATH", path, 1);
    if (spank_getenv(spank, "HOME", path, sizeof path) == ESPANK_SUCCESS)
        setenv("HOME", path, 1);
    slurm_info("pyxis: importing docker image: %s", asked.image);
    if (run_as_user(import, words, sizeof words) == 0)
        return 0;
    return refuse_image("failed to import docker image", words);
}

static int unpack(spank_t spank)
{
    char file[PATH_MAX + 32], words[4096];
    char *const argv[] = { (char *)"unsquashfs", (char *)"-no-progress", (char *)"-no-xattrs", (char *)"-f",
                           (char *)"-d", root, file, NULL };

    if (!asked.image)
        return refuse("error: the named container does not exist and no image is given");
    if (find_image(file, sizeof file, spank) < 0)
        return -1;
    if (run_as_user(argv, words, sizeof words) == 0)
        return 0;
    return refuse_image("failed to create container filesystem for image", words);
}

/* Environment of the image (enroot keeps it in /etc/environment) wins but for --container-env. */
static void take_environment(spank_t spank)
{
    char path[PATH_MAX + 32], *line = NULL;
    size_t room = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/etc/environment", root);
    file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        char *equals = strchr(line, '='), list[4096], name[256];

        line[strcspn(line, "\n")] = '\0';
        if (!equals || equals == line)
            continue;
        *equals = '\0';
        snprintf(list, sizeof list, ",%s,", asked.env ? asked.env : "");
        snprintf(name, sizeof name, ",%s,", line);
        if (!strstr(list, name))
            spank_setenv(spank, line, equals + 1, 1);
    }
    if (file)
        fclose(file);
    free(line);
}

static int step_identity(spank_t spank)
{
    uint32_t job = 0, step = 0, node = 0;

    if (spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &group) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_NODEID, &node) != ESPANK_SUCCESS)
        return refuse("cannot find out which step this is");
    snprintf(step_folder, sizeof step_folder, "%s/%u.%u.%u", spool, job, step, node);
    if (asked.name)
        snprintf(root, sizeof root, "%s/named-%u-%u-%.200s", spool, (unsigned)user, node, asked.name);
    else
        snprintf(root, sizeof root, "%.2000s/root", step_folder);
    return 0;
}

/* The folders, once for all tasks of the node. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
    (void)argc, (void)argv;
    if (spank_context() != S_CTX_REMOTE || !(asked.image || asked.name))
        return 0;
    if (step_identity(spank) < 0)
        return -1;
    if ((mkdir(step_folder, 0700) < 0 && errno != EEXIST) || chown(step_folder, user, group) < 0)
        return refuse("cannot make the folder of the step");
    if (asked.name && mkdir(root, 0755) == 0) {
        if (chown(root, user, group) < 0)
            return refuse("cannot make the folder of the container");
    } else if (asked.name && strcmp(asked.name_flag, "create") == 0) {
        return refuse("error: a container with that name already exists");
    }
    return 0;
}

/* By the first task of the node; the others find it done. Pyxis does it in a task, too: what fails
 * earlier would leave srun with exit code 0. */
static int have_root(spank_t spank)
{
    char inside[PATH_MAX + 32], lock[PATH_MAX + 32];
    int fd, result;

    snprintf(lock, sizeof lock, "%s/lock", step_folder);
    snprintf(inside, sizeof inside, "%s/etc", root);
    fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return refuse("cannot lock the folder of the step");
    result = access(inside, F_OK) == 0 ? 0 : unpack(spank);
    close(fd);
    return result;
}

/* ---- entering, in each task ------------------------------------------------------------------------ */

static int bind_one(const char *from, const char *to, unsigned long flags, unsigned long propagation)
{
    char full[2 * PATH_MAX];
    struct stat info;

    if (stat(from, &info) < 0) {
        slurm_error("pyxis: [ERROR] enroot-mount: failed to mount: %s at %s%s: %s", from, root, to,
                    strerror(errno));
        return -1;
    }
    make_target(root, to, &info);
    snprintf(full, sizeof full, "%s%s", root, to);
    if (mount(from, full, NULL, MS_BIND | MS_REC, NULL) < 0) {
        slurm_error("pyxis: [ERROR] enroot-mount: failed to mount: %s at %s: %s", from, full,
                    strerror(errno));
        return -1;
    }
    if (flags && mount(NULL, full, NULL, MS_BIND | MS_REMOUNT | flags, NULL) < 0)
        return refuse("cannot set the flags of a mount");
    if (propagation && mount(NULL, full, NULL, propagation, NULL) < 0)
        return refuse("cannot set the propagation of a mount");
    return 0;
}

static int bind_all(spank_t spank)
{
    static const char *const always[] = { "/proc", "/sys", "/dev", "/etc/hosts", "/etc/passwd",
                                          "/etc/group" };
    char home[PATH_MAX];

    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (bind_one(always[i], always[i], 0, 0) < 0)
            return -1;
    if (asked.mount_home == 1 && spank_getenv(spank, "HOME", home, sizeof home) == ESPANK_SUCCESS &&
        bind_one(home, home, 0, 0) < 0)
        return -1;
    for (size_t i = 0; i < asked.mount_count; i++)
        if (bind_one(asked.mounts[i].from, asked.mounts[i].to, asked.mounts[i].flags,
                     asked.mounts[i].propagation) < 0)
            return -1;
    return 0;
}

/* The script of a batch step lies in slurmd's own folder: it must be seen inside, too. */
static int bind_batch_script(spank_t spank)
{
    uint32_t step = 0;
    int count = 0;
    char **words = NULL;

    if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step != SLURM_BATCH_SCRIPT ||
        spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || count < 1)
        return 0;
    return bind_one(words[0], words[0], 0, 0);
}

/* As root, the image and the mounts. Slurm changes to the job's folder after this, so the root is
 * entered later. */
int slurm_spank_task_init_privileged(spank_t spank, int argc, char **argv)
{
    (void)argc, (void)argv;
    if (!wanted())
        return 0;
    if (have_root(spank) < 0)
        return -1;
    take_environment(spank);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(root, root, NULL, MS_BIND, NULL) < 0)
        return refuse("couldn't unshare mount namespace");
    if (bind_all(spank) < 0 || bind_batch_script(spank) < 0)
        return -1;
    if (asked.writable == 0 && mount(NULL, root, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
        return refuse("couldn't make the root read-only");
    return 0;
}

static void write_map(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        slurm_error("pyxis: cannot write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* A user namespace, in which we are root (Pyxis' default) or ourselves: it lets us change the root. */
static int own_namespaces(void)
{
    bool remap = asked.remap_root != 0;
    char text[64];

    prctl(PR_SET_DUMPABLE, 1);           /* else the maps below belong to root */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return refuse("couldn't unshare user namespace");
    write_map("/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1", remap ? 0 : (unsigned)user, (unsigned)user);
    write_map("/proc/self/uid_map", text);
    snprintf(text, sizeof text, "%u %u 1", remap ? 0 : (unsigned)group, (unsigned)group);
    write_map("/proc/self/gid_map", text);
    return 0;
}

/* As the user, last thing before the command. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    const char *folder = asked.workdir ? asked.workdir : "/";

    (void)spank, (void)argc, (void)argv;
    if (!asked.image && !asked.name)
        return 0;
    if (own_namespaces() < 0)
        return -1;
    if (mount(root, root, NULL, MS_BIND | MS_REC, NULL) < 0 || chdir(root) < 0 ||
        syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
        return refuse("couldn't enter the container root");
    if (chdir(folder) < 0) {
        slurm_error("pyxis: couldn't chdir to %s: %s", folder, strerror(errno));
        return -1;
    }
    return 0;
}

/* Before srun hears that the last task of this node ended. */
int slurm_spank_task_exit(spank_t spank, int argc, char **argv)
{
    static uint32_t ended;
    uint32_t tasks = 1;
    char words[4096];
    char *const save[] = { (char *)"mksquashfs", root, asked.save, (char *)"-no-progress",
                           (char *)"-noappend", (char *)"-comp", (char *)"gzip",
                           (char *)"-Xcompression-level", (char *)"1", NULL };

    (void)argc, (void)argv;
    spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks);
    if (!(asked.image || asked.name) || !asked.save || ++ended < tasks)
        return 0;
    if (run_as_user(save, words, sizeof words) == 0)
        return 0;
    slurm_error("pyxis: failed to save the container: %s", words);
    return -1;
}

/* ---- before and after ------------------------------------------------------------------------------ */

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "spool=", 6) == 0)
            snprintf(spool, sizeof spool, "%s", argv[i] + 6);
    if (spank_context() != S_CTX_LOCAL && spank_context() != S_CTX_ALLOCATOR &&
        spank_context() != S_CTX_REMOTE)
        return 0;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
            return refuse("cannot register its options");
    return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv)
{
    (void)spank, (void)argc, (void)argv;
    if (spank_context() == S_CTX_REMOTE && step_folder[0])
        nftw(step_folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    return 0;
}
