/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_reach.c - into a running job: its ports, and its files.
 */
#include "cases.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"

/* ---- ports ----------------------------------------------------------------------------------------- */

/* A server of files at the loopback address of the job's place, until the file `stop` is there. */
#define SERVES                                                                                        \
    "cd '%s'; if command -v python3 >/dev/null; then python3 -m http.server --bind 127.0.0.1 %d & "   \
    "else busybox httpd -f -p 127.0.0.1:%d -h . & fi; "                                               \
    "while [ ! -e stop ]; do sleep 0.2; done; kill $!; exit 5"

static int connect_to(int port)
{
    const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    sw_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    return ntohs(address.sin_port);
}

struct visitor {
    pthread_t thread;
    int local;                       /* where the job's port is here */
    char *stop;                      /* the file that ends the job */
    char answer[512];
};

static void ask_once(struct visitor *visitor)
{
    static const char question[] = "GET /page HTTP/1.0\r\n\r\n";
    sw_autofd int fd = connect_to(visitor->local);
    size_t length = 0;
    ssize_t n;

    if (fd < 0 || write(fd, question, strlen(question)) < 0)
        return;
    while (length < sizeof visitor->answer - 1 &&
           (n = read(fd, visitor->answer + length, sizeof visitor->answer - 1 - length)) > 0)
        length += (size_t)n;
    visitor->answer[length] = '\0';
}

/* The server may start later than the forwarding; then the job ends, and with it the forwarding. */
static void *visit(void *context)
{
    struct visitor *visitor = context;
    int64_t until = sw_monotonic_ms() + PATIENCE_MS;

    do {
        ask_once(visitor);
        sw_sleep_ms(100);
    } while (!strstr(visitor->answer, "the page") && sw_monotonic_ms() < until);
    write_text(visitor->stop, "");
    return NULL;
}

static void begin_visit(void *context, const struct sw_forward *port, const char *trouble)
{
    struct visitor *visitor = context;

    if (trouble)
        return;
    visitor->local = port->local;
    pthread_create(&visitor->thread, NULL, visit, visitor);
}

static void a_port_of_a_job_is_reached_until_the_job_ends(void **state)
{
    struct trial *here = *state;
    sw_autofree char *page = path_in(here, "page"), *stop = path_in(here, "stop");
    struct sw_forward port = { .port = free_port(), .local = 0 };
    struct visitor visitor = { .stop = stop };
    const struct sw_forward_calls calls = { .size = sizeof calls, .tell = begin_visit, .context = &visitor };
    struct sw_error err = { 0 };
    const char *job;

    write_text(page, "this is the page\n");
    job = launch_shell(here, SERVES, here->dir, port.port, port.port);
    expect_ok(sw_forward(here->session, job, 0, &port, 1, &calls, &err), &err, "forward");
    pthread_join(visitor.thread, NULL);
    assert_non_null(strstr(visitor.answer, "this is the page"));
    assert_int_equal(wait_until_over(here, job), 5);
}

/* ---- files ----------------------------------------------------------------------------------------- */

static void a_folder_goes_into_a_running_job_and_comes_back(void **state)
{
    struct trial *here = *state;
    sw_autofree char *from = path_in(here, "from"), *there = path_in(here, "there");
    sw_autofree char *back = path_in(here, "back");
    sw_autofree char *make = sw_format("mkdir -p '%s/sub' && echo one >'%s/a' && echo two >'%s/sub/b' && "
                                       "ln -s a '%s/link' && head -c 3000000 /dev/urandom >'%s/large'",
                                       from, from, from, from, from);
    sw_autofree char *same = sw_format("diff -r '%s' '%s' && test -h '%s/link'", from, back, back);
    sw_autofree char *added = sw_format("test \"$(cat '%s/sub/one')\" = one && test -e '%s/sub/b'", there,
                                        there);
    sw_autofree char *file = sw_format("%s/a", from), *below = sw_format("%s/sub/one", there);
    const char *job = launch_shell(here, "sleep 120");
    struct sw_error err = { 0 };
    char *report;

    assert_int_equal(system(make), 0);
    report = sw_copy_to_job(here->session, job, 0, from, there, NULL, NULL, &err);
    expect_ok(report ? 0 : -1, &err, "copy a folder into the job");
    sw_text_free(report);
    report = sw_copy_from_job(here->session, job, 0, there, back, NULL, NULL, &err);
    expect_ok(report ? 0 : -1, &err, "copy a folder out of the job");
    sw_text_free(report);
    assert_int_equal(system(same), 0);
    report = sw_copy_to_job(here->session, job, 0, file, below, NULL, NULL, &err);
    expect_ok(report ? 0 : -1, &err, "copy a file into the job");
    sw_text_free(report);
    assert_int_equal(system(added), 0);
    expect_ok(sw_cancel(here->session, job, NULL), NULL, "cancel");
}

static void what_a_job_does_not_have_is_not_copied(void **state)
{
    struct trial *here = *state;
    sw_autofree char *there = path_in(here, "surely-not-there"), *back = path_in(here, "back");
    const char *job = launch_shell(here, "sleep 120");
    struct sw_error err = { 0 };

    assert_null(sw_copy_from_job(here->session, job, 0, there, back, NULL, NULL, &err));
    assert_int_equal(err.code, SW_E_REFUSED);
    assert_non_null(strstr(err.message, "surely-not-there"));
    assert_int_equal(access(back, F_OK), -1);
    expect_ok(sw_cancel(here->session, job, NULL), NULL, "cancel");
    assert_null(sw_copy_from_job(here->session, job, 0, there, back, NULL, NULL, &err));
    assert_int_equal(err.code, SW_E_CONFLICT);
    assert_non_null(strstr(err.hint, "slipway get"));
}

/* ---- what it uses ---------------------------------------------------------------------------------- */

/* Never the use of the whole machine: what cannot be known is null. */
static void what_a_running_job_uses_is_its_own(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "while :; do sleep 0.05; done");
    sw_auto(json) json_t *use = NULL;
    const json_t *memory, *cpus;
    struct sw_error err = { 0 };
    char *text;

    wait_until(here, job, SW_RUNNING);
    text = sw_use(here->session, job, &err);
    expect_ok(text ? 0 : -1, &err, "what it uses");
    use = sw_json_parse(text, strlen(text), "use", NULL);
    sw_text_free(text);
    memory = json_object_get(use, "memory_bytes");
    cpus = json_object_get(use, "cpus");
    assert_true(json_is_null(memory) || json_integer_value(memory) < INT64_C(1) << 30);
    assert_true(json_is_null(cpus) || (json_number_value(cpus) >= 0 && json_number_value(cpus) < 64));
    assert_true(json_is_array(json_object_get(use, "gpus")));
    expect_ok(sw_cancel(here->session, job, &err), &err, "cancel");
    assert_null(sw_use(here->session, job, &err));
    assert_int_equal(err.code, SW_E_CONFLICT);
}

const struct contract_case cases_reach[] = {
    CLAIM(a_port_of_a_job_is_reached_until_the_job_ends, COMMANDS | EXEC),
    CLAIM(a_folder_goes_into_a_running_job_and_comes_back, COMMANDS | EXEC),
    CLAIM(what_a_job_does_not_have_is_not_copied, COMMANDS | EXEC),
    CLAIM(what_a_running_job_uses_is_its_own, COMMANDS | EXEC),
    { 0 }
};
