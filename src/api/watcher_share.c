/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher_share.c - a command that only looks lets the watcher look, which has its connections open.
 *
 * What is seen goes into the store, where the command reads it as if it had looked itself. The watcher serves
 * only its own version, and only a command whose connections would be the same: both make a digest of the
 * variables that connections are made from. A command that is not served opens its own connections.
 * watcher_lend.c has the other word.
 *
 *     look VERSION DIGEST
 *     {"ids":[...],"progress":BOOL,"deadline_ms":MS}           ->  {"unreachable":[...]} or {"error":"..."}
 */
#include "api/api_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "watcher/watcher.h"

enum { LARGEST = 4 << 20, LATER_MS = 2000 };

/* ---- both sides -------------------------------------------------------------------------------------- */

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

char *api_stream_line(const char *word)
{
    sw_autofree char **variables = api_connection_variables();
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    char digest[SW_DIGEST_HEX];
    size_t count = 0;

    while (variables[count])
        count++;
    qsort(variables, count, sizeof *variables, compare_texts);
    for (size_t i = 0; i < count; i++)
        sw_buf_add_bytes(&all, variables[i], strlen(variables[i]) + 1);
    sw_sha256_hex(all.length ? all.data : "", all.length, digest);
    return sw_format("%s " SW_VERSION " %.32s", word, digest);
}

/* ---- the watcher's ----------------------------------------------------------------------------------- */

struct share {
    struct sw_session *session;
    char *rest;                      /* of its first line, behind what all have */
    void (*act)(struct share *share);
    int fd;
};

static int read_request(int fd, struct sw_buf *text)
{
    ssize_t n;

    while ((n = read(fd, sw_buf_reserve(text, 4096), 4096)) > 0) {
        text->length += (size_t)n;
        if (text->length > LARGEST)
            return -1;
    }
    return n < 0 ? -1 : 0;
}

static json_t *look_for(struct sw_session *session, const json_t *request)
{
    const json_t *ids = json_object_get(request, "ids");
    const struct sw_refresh_options options = {
        .deadline_ms = sw_json_int(request, "deadline_ms", 0),
        .progress = sw_json_bool(request, "progress", false) };
    size_t count = json_array_size(ids);
    sw_autofree const char **list = sw_alloc((count + 1) * sizeof *list);
    json_t *unreachable = json_array();
    struct sw_error err = { 0 };

    for (size_t i = 0; i < count; i++)
        list[i] = json_string_value(json_array_get(ids, i));
    for (size_t i = 0; i < count; i++)
        if (!list[i])
            sw_fail(&err, SW_E_USAGE, "an id is not a string");
    if (err.code || api_refresh_within(session, list, count, &options, unreachable, &err) < 0) {
        json_decref(unreachable);
        return sw_json_object(SW_STR("error", err.message));
    }
    return sw_json_object(SW_SUB("unreachable", unreachable));
}

static void serve_look(struct share *share)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT, said = SW_BUF_INIT;
    sw_auto(json) json_t *request = NULL, *answer = NULL;

    if (read_request(share->fd, &text) == 0)
        request = json_loadb(text.length ? text.data : "", text.length, 0, NULL);
    if (json_is_object(request)) {
        answer = look_for(share->session, request);
        sw_json_put(&said, answer);
        (void)!send(share->fd, said.data, said.length, MSG_NOSIGNAL);
    }
    close(share->fd);
}

static void serve_shell(struct share *share)
{
    api_lend(share->session, share->rest, share->fd);
}

static const struct {
    const char *word;
    void (*act)(struct share *share);
} words[] = { { "look", serve_look }, { "shell", serve_shell } };

static void *serve(void *context)
{
    struct share *share = context;

    if (share->act)
        share->act(share);
    else
        close(share->fd);            /* an empty answer: look yourself */
    api_release(share->session);
    free(share->rest);
    free(share);
    return NULL;
}

/* A word that we know, from a command of the same version and with the same variables. */
static void find_word(struct share *share, const char *line)
{
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        sw_autofree char *own = api_stream_line(words[i].word);
        size_t length = strlen(own);

        if (strncmp(line, own, length) == 0 && (!line[length] || line[length] == ' ')) {
            share->act = words[i].act;
            share->rest = sw_strdup(line + length + (line[length] == ' '));
        }
    }
}

void api_watcher_share(struct sw_session *session, const char *line, int fd)
{
    struct share *share = sw_new(struct share);
    pthread_t thread;

    *share = (struct share){ .session = session, .fd = fd };
    find_word(share, line);
    api_hold(session);
    if (share->act && sw_thread_start(&thread, 0, serve, share) == 0) {
        pthread_detach(thread);
        return;
    }
    share->act = NULL;
    serve(share);
}

/* ---- the command's ------------------------------------------------------------------------------------ */

static int found_shared(void *context, const struct sw_job *job)
{
    const struct sw_platform *platform = sw_platform_find(job->platform);

    *(bool *)context = platform && platform->shares;
    return *(bool *)context;
}

/* Is one of them where a connection takes its time? */
static bool is_worth_it(struct sw_session *session, const char *const *ids, size_t count)
{
    const struct sw_job_filter active = { .active_only = true, .columns = SW_COLUMNS_NAMES };
    bool found = false;

    if (count == 0)
        sw_store_list(session->store, &active, found_shared, &found, NULL);
    for (size_t i = 0; i < count && !found; i++) {
        sw_auto(sw_job) struct sw_job row = { 0 };

        if (sw_store_get(session->store, ids[i], SW_COLUMNS_NAMES, &row, NULL) == 0)
            found_shared(&found, &row);
    }
    return found;
}

static json_t *request_of(const char *const *ids, size_t count, const struct sw_refresh_options *options)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, sw_json_text(ids[i]));
    return sw_json_object(SW_SUB("ids", list), SW_BOOL("progress", options->progress),
                          SW_INT("deadline_ms", options->deadline_ms));
}

bool api_look_shared(struct sw_session *session, const char *const *ids, size_t count,
                     const struct sw_refresh_options *options, json_t *unreachable)
{
    sw_auto(sw_watcher_place) struct sw_watcher_place place = { 0 };
    sw_auto(json) json_t *request = NULL, *answer = NULL;
    sw_autofree char *first = NULL, *line = NULL;
    json_t *seen;

    if (options->act || session->kept || session->connection_count > 0 ||
        sw_watcher_place(session->state_dir, &place, NULL) < 0 || access(place.socket, F_OK) < 0 ||
        !is_worth_it(session, ids, count))
        return false;
    first = api_stream_line("look");
    line = sw_format("%s\n", first);
    request = request_of(ids, count, options);
    answer = sw_watcher_ask(&place, line, request, options->deadline_ms + LATER_MS, NULL);
    seen = json_object_get(answer, "unreachable");
    if (!json_is_array(seen))
        return false;
    if (unreachable)
        json_array_extend(unreachable, seen);
    return true;
}
