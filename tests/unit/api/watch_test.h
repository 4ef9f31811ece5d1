/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_test.h - a session in a folder of its own, jobs on the pretend platform, and what the
 * tests of watching ask about them.
 */
#ifndef SW_TEST_WATCH_TEST_H
#define SW_TEST_WATCH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "slipway.h"

struct post {                        /* the state of each test */
    char dir[64];
    struct sw_session *session;
    struct sw_error err;
};

static inline struct sw_session *open_session(const char *dir)
{
    sw_autofree char *state = sw_path_join(dir, "state");
    struct sw_open_options options = { .size = sizeof options, .state_dir = state,
                                       .project_dir = dir };

    return sw_open(&options, NULL);
}

static inline int post_begin(void **state)
{
    struct post *here = sw_new(struct post);

    snprintf(here->dir, sizeof here->dir, "/tmp/slipway-watch-XXXXXX");
    if (!mkdtemp(here->dir))
        return -1;
    setenv("HOME", here->dir, 1);
    unsetenv("SLIPWAY_REHEARSAL_API");
    here->session = open_session(here->dir);
    *state = here;
    return here->session ? 0 : -1;
}

static inline int post_end(void **state)
{
    struct post *here = *state;

    sw_close(here->session);
    sw_remove_tree(here->dir, NULL);
    free(here);
    return 0;
}

#define POST_TEST(name) cmocka_unit_test_setup_teardown(name, post_begin, post_end)

#define must(call)                                                     \
    do {                                                               \
        if ((call) < 0)                                                \
            fail_msg("%s: %s", #call, here->err.message);              \
    } while (0)

/* Submit a job file's text; the id lives until the next call. */
static inline const char *submit(struct post *here, const char *yaml)
{
    static char id[SW_ID_SIZE];
    struct sw_request *request = sw_request_new();

    must(sw_request_text(request, yaml, strlen(yaml), "yaml", "job.yaml", &here->err));
    must(sw_submit(here->session, request, id, &here->err));
    sw_request_free(request);
    return id;
}

static inline json_t *ask(struct post *here, char *text)
{
    json_t *document;

    if (!text)
        fail_msg("%s", here->err.message);
    document = json_loads(text, JSON_DECODE_ANY, NULL);
    sw_text_free(text);
    return document;
}

/* What is due is done first, as a watcher would. */
static inline json_t *status_of(struct post *here, const char *id)
{
    must(sw_watcher_once(here->session, &here->err));
    return ask(here, sw_status(here->session, id, SW_LOOK_REFRESH, &here->err));
}

/* How many events of a kind the job has. */
static inline size_t events_of(struct post *here, const char *id, const char *kind)
{
    sw_auto(json) json_t *document = ask(here, sw_events(here->session, id, 0, &here->err));
    json_t *event;
    size_t i, count = 0;

    json_array_foreach(json_object_get(document, "events"), i, event)
        count += strcmp(sw_json_str(event, "kind"), kind) == 0;
    return count;
}

/* Look again and again until the job has that status. */
static inline void await_status(struct post *here, const char *id, const char *status)
{
    int64_t until = sw_monotonic_ms() + 30000;

    for (;;) {
        sw_auto(json) json_t *job = status_of(here, id);

        if (strcmp(sw_json_str(job, "status"), status) == 0)
            return;
        if (sw_monotonic_ms() > until)
            fail_msg("%s is still %s", id, sw_json_str(job, "status"));
        sw_sleep_ms(20);
    }
}

/* The lines of a file, as text; "" when there is none. */
static inline char *content_of(const char *path)
{
    char *text = sw_file_exists(path) ? sw_file_read(path, 1 << 20, NULL, NULL) : NULL;

    return text ? text : sw_strdup("");
}

static inline size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

#endif
