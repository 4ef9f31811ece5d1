/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.c - ports of a running job at ports of this machine's loopback address, until the job is over.
 *
 * One thread, one poll() over all listeners and connections (forward_link.c). How a connection gets to the
 * job is the platform's (`port_open`); it is made when a client connects, so a server that starts later is
 * simply found then. The job is looked at now and then, the less often the longer that takes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "api/api_internal.h"
#include "api/forward_link.h"
#include "base/clock.h"

enum { MOST_PORTS = 64, MOST_LINKS = 256 };
enum { LOOK_EVERY_MS = 1000, LOOK_SHARE = 20, LOOK_MS = 5000, IDLE_MS = 500 };

struct forwarding {
    struct sw_session *session;
    const char *id;
    int replica;
    struct api_job job;
    struct sw_forward *ports;
    size_t count;
    int listeners[MOST_PORTS];
    struct forward_link *links[MOST_LINKS];
    size_t link_count;
    const struct sw_forward_calls *calls;
    int64_t look_at_ms;
};

/* ---- listening ----------------------------------------------------------------------------------- */

/* -1 with errno. *port: the one that it is. */
static int listen_at(int *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    sw_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return -1;
    *port = ntohs(address.sin_port);
    return sw_take_fd(fd);
}

static int listen_for(struct sw_forward *port, int *listener, struct sw_error *err)
{
    int local = port->local == SW_FORWARD_SAME ? port->port : port->local;

    *listener = listen_at(&local);
    if (*listener < 0 && port->local == SW_FORWARD_SAME && (errno == EADDRINUSE || errno == EACCES)) {
        local = 0;
        *listener = listen_at(&local);
    }
    if (*listener < 0 && errno == EADDRINUSE) {
        sw_fail(err, SW_E_CONFLICT, "port %d of this machine is in use", local);
        return sw_hint(err, "choose another: %d:%d, or %d:0 for any free one", port->port, local + 1,
                       port->port);
    }
    if (*listener < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot listen at port %d of this machine", local);
    port->local = local;
    return 0;
}

static int check_ports(const struct sw_forward *ports, size_t count, struct sw_error *err)
{
    if (count < 1 || count > MOST_PORTS)
        return sw_fail(err, SW_E_USAGE, "between 1 and %d ports can be forwarded at a time", MOST_PORTS);
    for (size_t i = 0; i < count; i++)
        if (ports[i].port < 1 || ports[i].port > 65535 || ports[i].local < SW_FORWARD_SAME ||
            ports[i].local > 65535)
            return sw_fail(err, SW_E_USAGE, "a port is a number from 1 to 65535");
    return 0;
}

/* Is the loopback address of this machine the job's own? */
static bool shares_loopback(const struct forwarding *all)
{
    const struct api_job *job = &all->job;
    sw_auto(sw_plan) struct sw_plan *plan = sw_plan_from_json(job->ref.plan, NULL);

    return plan && job->platform->sees_loopback && job->platform->sees_loopback(job->conn, plan);
}

/* Where the job's port is a port of this machine it is left to the job, whose server may start later. */
static int listen_all(struct forwarding *all, struct sw_error *err)
{
    bool shared = shares_loopback(all);

    for (size_t i = 0; i < all->count; i++) {
        struct sw_forward *port = &all->ports[i];

        if (shared && (port->local == SW_FORWARD_SAME || port->local == port->port))
            port->local = port->port;
        else if (listen_for(port, &all->listeners[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < all->count; i++)
        all->calls->tell(all->calls->context, &all->ports[i], NULL);
    return 0;
}

/* ---- connections --------------------------------------------------------------------------------- */

static void accept_one(struct forwarding *all, size_t port)
{
    int client = accept4(all->listeners[port], NULL, NULL, SOCK_CLOEXEC);
    struct sw_stream *stream = NULL;
    struct sw_error err = { 0 };

    if (client < 0)
        return;
    if (all->job.platform->port_open(all->job.conn, &all->job.ref, all->replica, all->ports[port].port,
                                     &stream, &err) < 0) {
        close(client);
        all->calls->tell(all->calls->context, &all->ports[port], err.message);
        return;
    }
    all->links[all->link_count++] = forward_link_new(client, stream, port);
}

static void end_link(const struct forwarding *all, struct forward_link *link)
{
    sw_autofree char *trouble = forward_link_trouble(link);

    if (trouble)
        all->calls->tell(all->calls->context, &all->ports[link->port], trouble);
    forward_link_free(link);
}

static void step_links(struct forwarding *all)
{
    int64_t now_ms = sw_monotonic_ms();
    size_t kept = 0;

    for (size_t i = 0; i < all->link_count; i++)
        if (forward_link_step(all->links[i], now_ms))
            end_link(all, all->links[i]);
        else
            all->links[kept++] = all->links[i];
    all->link_count = kept;
}

static void wait_for_something(struct forwarding *all)
{
    struct pollfd polls[MOST_PORTS + MOST_LINKS * LINK_POLLS];
    size_t count = 0;
    int wait_ms = IDLE_MS;

    for (; count < all->count; count++)
        polls[count] = (struct pollfd){ .fd = all->link_count < MOST_LINKS ? all->listeners[count] : -1,
                                        .events = POLLIN };
    for (size_t i = 0; i < all->link_count; i++, count += LINK_POLLS) {
        int most_ms = forward_link_polls(all->links[i], polls + count);

        wait_ms = most_ms >= 0 && most_ms < wait_ms ? most_ms : wait_ms;
    }
    if (poll(polls, count, wait_ms) <= 0)
        return;
    for (size_t i = 0; i < all->count && all->link_count < MOST_LINKS; i++)
        if (polls[i].revents)
            accept_one(all, i);
}

/* ---- the job ------------------------------------------------------------------------------------- */

/* 1: it is over. A platform that does not answer changes nothing: it may be there again soon. */
static int look(struct forwarding *all, struct sw_error *err)
{
    const struct sw_refresh_options options = { .deadline_ms = LOOK_MS, .act = true };
    int64_t begun_ms = sw_monotonic_ms(), took_ms;
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (begun_ms < all->look_at_ms)
        return 0;
    if (api_refresh_within(all->session, &all->id, 1, &options, NULL, err) < 0 ||
        sw_store_get(all->session->store, all->id, SW_COLUMNS_LIST, &row, err) < 0)
        return -1;
    took_ms = sw_monotonic_ms() - begun_ms;
    all->look_at_ms = begun_ms + took_ms + (took_ms * LOOK_SHARE > LOOK_EVERY_MS ? took_ms * LOOK_SHARE
                                                                               : LOOK_EVERY_MS);
    if (row.phase == SW_PHASE_OVER)
        return 1;
    if (row.attempt == all->job.row.attempt)
        return 0;
    api_job_auto(&all->job);
    memset(&all->job, 0, sizeof all->job);
    return api_job_open(all->session, all->id, &all->job, err);
}

static int work(struct forwarding *all, struct sw_error *err)
{
    for (;;) {
        int over = look(all, err);

        if (over)
            return over < 0 ? -1 : 0;
        if (all->calls->idle && all->calls->idle(all->calls->context))
            return sw_fail(err, SW_E_INTERRUPTED, "stopped by the caller");
        wait_for_something(all);
        step_links(all);
    }
}

static void forwarding_auto(struct forwarding *all)
{
    for (size_t i = 0; i < all->link_count; i++)
        forward_link_free(all->links[i]);
    for (size_t i = 0; i < all->count; i++)
        if (all->listeners[i] >= 0)
            close(all->listeners[i]);
    api_job_auto(&all->job);
}

int sw_forward(struct sw_session *session, const char *id, int replica, struct sw_forward *ports,
               size_t count, const struct sw_forward_calls *calls, struct sw_error *err)
{
    sw_auto(forwarding) struct forwarding all = { .session = session, .id = id, .replica = replica,
                                                  .ports = ports, .calls = calls };

    if (check_ports(ports, count, err) < 0)
        return -1;
    memset(all.listeners, -1, sizeof all.listeners);
    all.count = count;
    if (api_job_running(session, id, replica, &all.job, err) < 0)
        return -1;
    if (!all.job.platform->port_open) {
        sw_fail(err, SW_E_UNSUPPORTED, "ports of a job cannot be forwarded on %s", all.job.platform->name);
        return sw_hint(err, "write what the server shows into the results, and see it after `slipway get %s`",
                       id);
    }
    return listen_all(&all, err) < 0 ? -1 : work(&all, err);
}
