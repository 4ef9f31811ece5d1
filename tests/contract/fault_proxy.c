/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_proxy.c - see fault_proxy.h. One process, one thread per connection; each connection carries one
 * request, so that nothing of HTTP has to be understood but its first lines.
 */
#include "fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { HEAD_MAX = 65536, PIECE = 65536 };

static struct {                       /* of the process in between */
    struct fault_proxy is;
    int down, empty;                  /* requests to refuse, lists to empty */
    bool lose;                        /* the answer to the next start */
    int slow_ms;
    pthread_mutex_t lock;
} rules = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pid_t between;

union address {
    struct sockaddr any;
    struct sockaddr_un path;
    struct sockaddr_in port;
};

static socklen_t address_of(const char *where, union address *out)
{
    memset(out, 0, sizeof *out);
    if (*where >= '0' && *where <= '9') {
        out->port = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(where)),
                                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        return sizeof out->port;
    }
    out->path.sun_family = AF_UNIX;
    snprintf(out->path.sun_path, sizeof out->path.sun_path, "%s", where);
    return sizeof out->path;
}

static int connect_to(const char *where)
{
    union address address;
    socklen_t size = address_of(where, &address);
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, &address.any, size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Read until the empty line; what follows it is read along. Returns the bytes, 0: nothing. */
static size_t read_head(int fd, char *head)
{
    size_t length = 0;

    while (length < HEAD_MAX - 1) {
        ssize_t n = read(fd, head + length, HEAD_MAX - 1 - length);

        if (n <= 0)
            return 0;
        length += (size_t)n;
        head[length] = '\0';
        if (memmem(head, length, "\r\n\r\n", 4))
            return length;
    }
    return 0;
}

/* The server shall close after its answer. */
static void send_head(int to, const char *head, size_t length)
{
    const char *line = strstr(head, "\r\n") + 2;
    const char *close_it = strcasestr(head, "\r\nUpgrade:") ? "" : "Connection: close\r\n";

    sw_write_all(to, head, (size_t)(line - head));
    sw_write_all(to, close_it, strlen(close_it));
    sw_write_all(to, line, length - (size_t)(line - head));
}

static void relay(int client, int server, bool answer)
{
    static _Thread_local char piece[PIECE];
    struct pollfd both[2] = { { client, POLLIN, 0 }, { server, POLLIN, 0 } };

    while (poll(both, 2, 60000) > 0) {
        for (int i = 0; i < 2; i++) {
            ssize_t n = both[i].revents ? read(both[i].fd, piece, sizeof piece) : 0;

            if (both[i].revents && n <= 0)
                return;
            if (n > 0 && (i == 0 || answer) && sw_write_all(i ? client : server, piece,
                                                            (size_t)n) < 0)
                return;
        }
    }
}

static bool take_one(int *count)
{
    bool taken;

    pthread_mutex_lock(&rules.lock);
    taken = *count != 0;
    if (*count > 0)
        (*count)--;
    pthread_mutex_unlock(&rules.lock);
    return taken;
}

/* Is one of the words, with '|' between them, in the first line? */
static bool is_named(const char *head, const char *words)
{
    for (const char *word = words; word && *word;) {
        size_t length = strcspn(word, "|");

        if (memmem(head, strcspn(head, "\r"), word, length))
            return true;
        word += length + (word[length] == '|');
    }
    return false;
}

static bool loses(const char *head)
{
    bool lost = strncmp(head, "POST", 4) == 0 && is_named(head, rules.is.start) &&
                !is_named(head, rules.is.not_start);

    pthread_mutex_lock(&rules.lock);
    lost = lost && rules.lose;
    if (lost)
        rules.lose = false;
    pthread_mutex_unlock(&rules.lock);
    return lost;
}

static void send_empty(int client)
{
    char text[512];
    int length = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\nConnection: close\r\n\r\n%s", strlen(rules.is.empty),
                          rules.is.empty);

    sw_write_all(client, text, (size_t)length);
}

static void *serve(void *context)
{
    int client = (int)(intptr_t)context, server = -1;
    char *head = sw_alloc(HEAD_MAX);
    size_t length = read_head(client, head);
    bool is_list = length && strncmp(head, "GET", 3) == 0 && is_named(head, rules.is.list);

    if (length && rules.slow_ms)
        nanosleep(&(struct timespec){ .tv_nsec = rules.slow_ms * 1000000L }, NULL);
    if (length && !take_one(&rules.down)) {
        if (is_list && take_one(&rules.empty)) {
            send_empty(client);
        } else if ((server = connect_to(rules.is.real)) >= 0) {
            send_head(server, head, length);
            relay(client, server, !loses(head));
        }
    }
    if (server >= 0)
        close(server);
    close(client);
    free(head);
    return NULL;
}

static void become_between(int listener, pid_t parent)
{
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    listener = dup2(listener, 3);
    for (int fd = 4; fd < 256; fd++)    /* the reaper waits for the end of a pipe that we inherited */
        close(fd);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        pthread_t thread;

        if (client < 0 || pthread_create(&thread, NULL, serve, (void *)(intptr_t)client) != 0)
            _exit(1);
        pthread_detach(thread);
    }
}

static int number_before(const char *words, const char *word, const char *unit, int otherwise)
{
    const char *at = strstr(words, word);
    int number = 0;
    char found[16];

    if (!at)
        return 0;
    if (sscanf(at + strlen(word), " %d%15s", &number, found) < 1)
        return otherwise;
    (void)unit;
    return number;
}

static void read_rules(const char *words)
{
    rules.down = number_before(words, "down", "calls", -1);
    rules.empty = number_before(words, "empty-list", "calls", -1);
    if (strstr(words, "not-found-then-found"))
        rules.empty = 1;
    rules.slow_ms = number_before(words, "slow", "ms", 0);
    rules.lose = strstr(words, "lose-answer") != NULL;
}

void fault_proxy_end(void)
{
    if (between <= 0)
        return;
    kill(between, SIGKILL);
    waitpid(between, NULL, 0);
    between = 0;
}

void fault_proxy_begin(const struct fault_proxy *proxy, const char *words)
{
    union address address;
    socklen_t size = address_of(proxy->listen, &address);
    int listener = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t parent = getpid();

    fault_proxy_end();
    if (address.any.sa_family == AF_UNIX)
        unlink(proxy->listen);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    rules.is = *proxy;                   /* what it borrows is the caller's: the process is a copy */
    read_rules(words);
    if (listener < 0 || bind(listener, &address.any, size) < 0 || listen(listener, 64) < 0)
        abort();
    between = fork();
    if (between == 0)
        become_between(listener, parent);
    close(listener);
}
