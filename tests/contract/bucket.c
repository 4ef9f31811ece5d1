/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket.c - one thread, one request for each connection; see bucket.h.
 */
#include "bucket.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/text.h"

enum { OBJECTS = 32, REQUEST = 256 * 1024 };

struct bucket {
    int socket;
    char address[64];
    char *credential, *scope, *token;     /* texts of a request's head */
    pthread_t thread;
    pthread_mutex_t lock;                 /* of what follows */
    struct { char *name, *content; } objects[OBJECTS];
    int refused;
};

static char **slot(struct bucket *bucket, const char *name, bool make)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        if (!bucket->objects[i].name && make)
            bucket->objects[i].name = sw_strdup(name);
        if (!bucket->objects[i].name)
            return NULL;
        if (strcmp(bucket->objects[i].name, name) == 0)
            return &bucket->objects[i].content;
    }
    return NULL;
}

static void answer(int fd, const char *status, const char *body, bool with_body)
{
    sw_autofree char *text = sw_format("HTTP/1.1 %s\r\nContent-Length: %zu\r\nETag: \"made-here\"\r\n"
                                       "Connection: close\r\n\r\n%s", status, strlen(body),
                                       with_body ? body : "");

    sw_write_all(fd, text, strlen(text));
}

static void say_error(int fd, const char *status, const char *code, bool with_body)
{
    sw_autofree char *body = sw_format("<?xml version=\"1.0\"?><Error><Code>%s</Code></Error>", code);

    answer(fd, status, body, with_body);
}

static bool is_signed(const struct bucket *bucket, const char *head)
{
    return strstr(head, bucket->credential) && strstr(head, bucket->scope) &&
           (bucket->token ? strcasestr(head, bucket->token) != NULL
                          : !strcasestr(head, "x-amz-security-token:"));
}

static void keep(struct bucket *bucket, int fd, const char *name, const char *body)
{
    char **content = slot(bucket, name, true);

    if (content) {
        free(*content);
        *content = sw_strdup(body);
    }
    answer(fd, "200 OK", "", false);
}

/* `path` is what follows the bucket's name. */
static void serve(struct bucket *bucket, int fd, const char *method, const char *path, const char *body)
{
    bool head = strcmp(method, "HEAD") == 0;
    char **content = slot(bucket, path, false);

    if (strcmp(method, "PUT") == 0)
        keep(bucket, fd, path, body);
    else if (strcmp(method, "POST") == 0)                   /* an upload in parts, begun to be given up */
        answer(fd, "200 OK", "<?xml version=\"1.0\"?><InitiateMultipartUploadResult><UploadId>1</UploadId>"
               "</InitiateMultipartUploadResult>", true);
    else if (strcmp(method, "DELETE") == 0)
        answer(fd, "204 No Content", "", false);
    else if (*path == '?' || strstr(path, "list-type=2"))
        answer(fd, "200 OK", "<?xml version=\"1.0\"?><ListBucketResult><Name>here</Name>"
               "<IsTruncated>false</IsTruncated></ListBucketResult>", true);
    else if (content && *content)
        answer(fd, "200 OK", *content, !head);
    else
        say_error(fd, "404 Not Found", "NoSuchKey", !head);
}

static void judge(struct bucket *bucket, int fd, char *head, const char *body)
{
    char method[8] = "", path[512] = "";
    bool bodies;

    sscanf(head, "%7s %511s", method, path);
    bodies = strcmp(method, "HEAD") != 0;
    pthread_mutex_lock(&bucket->lock);
    if (!is_signed(bucket, head)) {
        bucket->refused++;
        say_error(fd, "403 Forbidden", "AccessDenied", bodies);
    } else if (!sw_text_starts(path, "/here/") && strcmp(path, "/here") != 0 &&
               !sw_text_starts(path, "/here?")) {
        say_error(fd, "404 Not Found", "NoSuchBucket", bodies);
    } else {
        serve(bucket, fd, method, path + strlen("/here") + (path[strlen("/here")] == '/'), body);
    }
    pthread_mutex_unlock(&bucket->lock);
}

/* The whole request, or as much as came before the other side closed. */
static void converse(struct bucket *bucket, int fd)
{
    sw_autofree char *text = sw_alloc(REQUEST + 1);
    size_t length = 0, wanted = REQUEST;
    char *end = NULL;
    ssize_t got;

    while (length < wanted && (got = read(fd, text + length, wanted - length)) > 0) {
        const char *said;

        length += (size_t)got;
        text[length] = '\0';
        if (end || !(end = strstr(text, "\r\n\r\n")))
            continue;
        *end = '\0';
        said = strcasestr(text, "\r\ncontent-length:");
        wanted = (size_t)(end + 4 - text) + (said ? strtoul(said + 17, NULL, 10) : 0);
        if (wanted > REQUEST)
            return;
    }
    if (end)
        judge(bucket, fd, text, end + 4);
}

static void *listen_to_all(void *context)
{
    struct bucket *bucket = context;
    int fd;

    while ((fd = accept(bucket->socket, NULL, NULL)) >= 0) {
        converse(bucket, fd);
        close(fd);
    }
    return NULL;
}

struct bucket *bucket_open(const char *key, const char *region, const char *token)
{
    struct bucket *bucket = sw_new(struct bucket);
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof here;

    bucket->credential = sw_format("Credential=%s/", key);
    bucket->scope = sw_format("/%s/s3/", region);
    bucket->token = token ? sw_format("x-amz-security-token: %s\r\n", token) : NULL;
    pthread_mutex_init(&bucket->lock, NULL);
    *slot(bucket, "in.txt", true) = sw_strdup("hello\n");
    bucket->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bucket->socket < 0 || bind(bucket->socket, (struct sockaddr *)&here, size) < 0 ||
        listen(bucket->socket, 64) < 0 ||
        getsockname(bucket->socket, (struct sockaddr *)&here, &size) < 0)
        abort();
    snprintf(bucket->address, sizeof bucket->address, "http://127.0.0.1:%d", ntohs(here.sin_port));
    if (pthread_create(&bucket->thread, NULL, listen_to_all, bucket) != 0)
        abort();
    return bucket;
}

void bucket_close(struct bucket *bucket)
{
    shutdown(bucket->socket, SHUT_RDWR);
    pthread_join(bucket->thread, NULL);
    close(bucket->socket);
    for (size_t i = 0; i < OBJECTS; i++) {
        free(bucket->objects[i].name);
        free(bucket->objects[i].content);
    }
    free(bucket->credential);
    free(bucket->scope);
    free(bucket->token);
    pthread_mutex_destroy(&bucket->lock);
    free(bucket);
}

const char *bucket_address(const struct bucket *bucket)
{
    return bucket->address;
}

char *bucket_object(struct bucket *bucket, const char *name)
{
    char **content, *found;

    pthread_mutex_lock(&bucket->lock);
    content = slot(bucket, name, false);
    found = content ? sw_strdup(*content) : NULL;
    pthread_mutex_unlock(&bucket->lock);
    return found;
}

int bucket_refused(struct bucket *bucket)
{
    int count;

    pthread_mutex_lock(&bucket->lock);
    count = bucket->refused;
    pthread_mutex_unlock(&bucket->lock);
    return count;
}
