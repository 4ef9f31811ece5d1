/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_act.c - what a key of `slipway top` asks of a job: cancel, retry, why it failed, its attempts, what it
 * uses.
 *
 * Each request is a thread of its own, as a platform may take its time; the screen goes on meanwhile. An
 * action leaves a note in the last line, a question leaves a document for the pane.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/thread.h"
#include "cli/cli_attach.h"
#include "cli/top_internal.h"

struct top_request;

struct top_action {
    const char *verb, *doing, *done;                   /* doing and done NULL: it leaves a document */
    int (*act)(struct top_request *request, struct sw_error *err);
};

struct top_request {
    struct top_feed *feed;
    const struct top_action *action;
    char id[SW_ID_SIZE];
    json_t *answer;                                    /* owned until it becomes the pane's */
};

static int cancel(struct top_request *request, struct sw_error *err)
{
    return sw_cancel(request->feed->cli->session, request->id, err);
}

static int retry(struct top_request *request, struct sw_error *err)
{
    int attempt = 0;

    if (sw_retry(request->feed->cli->session, request->id, false, &attempt, err) < 0)
        return -1;
    cli_attend(request->feed->cli, request->id);
    return 0;
}

static int explain(struct top_request *request, struct sw_error *err)
{
    request->answer = cli_document(sw_why(request->feed->cli->session, request->id, err), err);
    return request->answer ? 0 : -1;
}

static int list_attempts(struct top_request *request, struct sw_error *err)
{
    struct sw_session *session = request->feed->cli->session;

    request->answer = cli_document(sw_status(session, request->id, SW_LOOK_STORED, err), err);
    return request->answer ? 0 : -1;
}

static int measure(struct top_request *request, struct sw_error *err)
{
    request->answer = cli_document(sw_use(request->feed->cli->session, request->id, err), err);
    return request->answer ? 0 : -1;
}

static const struct top_action canceling = { "cancel", "canceling", "canceled", cancel };
static const struct top_action retrying = { "retry", "retrying", "submitted again", retry };
static const struct top_action panes[] = {
    [TOP_WHY] = { "explain", NULL, NULL, explain },
    [TOP_USE] = { "measure", NULL, NULL, measure },
    [TOP_ATTEMPTS] = { "list the attempts of", NULL, NULL, list_attempts },
};

/* The lock is held. An answer about a job that is not selected any more is dropped. */
static void finish(struct top_request *request, int rc, const struct sw_error *err)
{
    struct top_feed *feed = request->feed;

    if (rc < 0)
        snprintf(feed->note, sizeof feed->note, "cannot %s %s: %.170s", request->action->verb, request->id,
                 err->message);
    else if (request->action->done)
        snprintf(feed->note, sizeof feed->note, "%s %s", request->id, request->action->done);
    else if (strcmp(request->id, feed->id) == 0) {
        json_decref(feed->detail);
        feed->detail = sw_take(request->answer);
    }
}

static void *carry_out(void *context)
{
    struct top_request *request = context;
    struct top_feed *feed = request->feed;
    struct sw_error err = { 0 };
    int rc = request->action->act(request, &err);

    pthread_mutex_lock(&feed->lock);
    finish(request, rc, &err);
    feed->acting--;
    top_feed_ring(feed);
    pthread_mutex_unlock(&feed->lock);              /* from here on the feed may be gone */
    json_decref(request->answer);
    free(request);
    return NULL;
}

static void begin(struct top_feed *feed, const char *id, const struct top_action *action)
{
    struct top_request *request = sw_new(struct top_request);

    request->feed = feed;
    request->action = action;
    snprintf(request->id, sizeof request->id, "%s", id);
    pthread_mutex_lock(&feed->lock);
    if (action->doing)
        snprintf(feed->note, sizeof feed->note, "%s %s", action->doing, id);
    feed->acting++;
    if (sw_thread_start(NULL, 0, carry_out, request) < 0) {
        feed->acting--;
        free(request);
    }
    pthread_mutex_unlock(&feed->lock);
}

void top_cancel(struct top_feed *feed, const char *id)
{
    begin(feed, id, &canceling);
}

void top_retry(struct top_feed *feed, const char *id)
{
    begin(feed, id, &retrying);
}

void top_fetch(struct top_feed *feed, const char *id, enum top_pane pane)
{
    pthread_mutex_lock(&feed->lock);
    json_decref(sw_take(feed->detail));
    pthread_mutex_unlock(&feed->lock);
    if (pane != TOP_LOG)
        begin(feed, id, &panes[pane]);
}
