/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_reach.c - into a running job: its ports.
 */
#include "cases.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"

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

const struct contract_case cases_reach[] = {
    CLAIM(a_port_of_a_job_is_reached_until_the_job_ends, COMMANDS | EXEC),
    { 0 }
};
