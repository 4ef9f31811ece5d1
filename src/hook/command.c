/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - run a hook's shell text, and keep the last of what it said.
 *
 * It runs in the job file's folder, in a process group of its own, for ten minutes at most. Its
 * output goes through the redactor: a hook that prints its environment must not put a secret into
 * the store.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/secret.h"
#include "base/text.h"
#include "core/job_values.h"
#include "hook/hook.h"

enum { LIMIT_MS = 10 * 60 * 1000, OUTPUT_KEPT = 400, LOOK_EVERY_MS = 50 };

static void run_shell(const struct sw_notice *notice, const char *command, int output)
{
    const char *folder = sw_json_str(notice->job.plan, "base_dir");

    setpgid(0, 0);
    if (!folder || chdir(folder) < 0)
        if (chdir("/") < 0)
            _exit(126);
    dup2(output, 1);
    dup2(output, 2);
    hook_environment(notice);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* What the job calls secret, as far as we can see it here. */
static struct sw_redactor *redactor_for(const struct sw_notice *notice)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    sw_auto(sw_environment) struct sw_environment *values =
        sw_job_values(json_object_get(notice->job.plan, "dotenv"));
    size_t i;
    json_t *name;

    json_array_foreach(json_object_get(notice->job.plan, "secrets"), i, name)
        sw_secrets_add(secrets, json_string_value(name),
                       sw_environment_get(values, json_string_value(name)), NULL);
    return sw_redactor_new(secrets);
}

static void keep_last(struct sw_buf *kept)
{
    if (kept->length > 4 * OUTPUT_KEPT) {
        size_t over = kept->length - OUTPUT_KEPT;

        memmove(kept->data, kept->data + over, OUTPUT_KEPT);
        kept->length = OUTPUT_KEPT;
        kept->data[OUTPUT_KEPT] = '\0';
    }
}

/* One look at the pipe; false: it is closed. */
static bool take_output(int pipe_fd, struct sw_redactor *redactor, struct sw_buf *kept, int wait_ms)
{
    struct pollfd ready = { .fd = pipe_fd, .events = POLLIN };
    char bytes[4096];
    ssize_t n;

    if (poll(&ready, 1, wait_ms) <= 0)
        return true;
    n = read(pipe_fd, bytes, sizeof bytes);
    if (n > 0) {
        sw_redactor_feed(redactor, bytes, (size_t)n, kept);
        keep_last(kept);
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Until the shell is gone; what it left in the background may keep the pipe. */
static int await(pid_t child, int pipe_fd, struct sw_redactor *redactor, struct sw_buf *kept)
{
    int64_t until = sw_monotonic_ms() + LIMIT_MS;
    bool open = true;
    int status = 0;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (open)
            open = take_output(pipe_fd, redactor, kept, LOOK_EVERY_MS);
        else
            sw_sleep_ms(LOOK_EVERY_MS);
        if (sw_monotonic_ms() > until)
            kill(-child, SIGKILL);
    }
    for (int i = 0; open && i < 256; i++) {
        struct pollfd ready = { .fd = pipe_fd, .events = POLLIN };

        if (poll(&ready, 1, 0) <= 0)
            break;
        open = take_output(pipe_fd, redactor, kept, 0);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int hook_command(const struct sw_notice *notice, const char *command, char **output)
{
    sw_auto(sw_redactor) struct sw_redactor *redactor = redactor_for(notice);
    sw_auto(sw_buf) struct sw_buf kept = SW_BUF_INIT;
    int ends[2], status;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) < 0 || (child = fork()) < 0) {
        *output = sw_format("cannot be started: %s", strerror(errno));
        return 127;
    }
    if (child == 0)
        run_shell(notice, command, ends[1]);
    close(ends[1]);
    status = await(child, ends[0], redactor, &kept);
    close(ends[0]);
    sw_redactor_flush(redactor, &kept);
    if (kept.length > OUTPUT_KEPT)
        *output = sw_text_printable(kept.data + kept.length - OUTPUT_KEPT, OUTPUT_KEPT);
    else
        *output = sw_text_printable(sw_buf_text(&kept), kept.length);
    return status;
}
