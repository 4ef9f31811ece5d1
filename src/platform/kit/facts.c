/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - see facts.h.
 */
#include "platform/kit/facts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

enum { FACTS_MAX = 16 * 1024 * 1024 };

struct sw_facts {
    struct sw_rest *rest;
    char *file;
    int64_t last_ms;
    pthread_mutex_t lock;
    json_t *known;                   /* path -> {"at","answer"}; NULL: the file was not read yet; guarded */
};

struct sw_facts *sw_facts_open(struct sw_rest *rest, const char *file, int64_t last_ms)
{
    struct sw_facts *facts = sw_new(struct sw_facts);

    *facts = (struct sw_facts){ .rest = rest, .file = sw_strdup(file), .last_ms = last_ms };
    pthread_mutex_init(&facts->lock, NULL);
    return facts;
}

void sw_facts_close(struct sw_facts *facts)
{
    if (!facts)
        return;
    pthread_mutex_destroy(&facts->lock);
    json_decref(facts->known);
    free(facts->file);
    free(facts);
}

/* With the lock. */
static json_t *known(struct sw_facts *facts)
{
    size_t length = 0;
    sw_autofree char *text = facts->known ? NULL : sw_file_read(facts->file, FACTS_MAX, &length, NULL);

    if (text)
        facts->known = sw_json_parse(text, length, facts->file, NULL);
    if (!json_is_object(facts->known)) {
        json_decref(facts->known);
        facts->known = json_object();
    }
    return facts->known;
}

static json_t *remembered(struct sw_facts *facts, const char *path)
{
    json_t *answer = NULL, *entry;
    int64_t age_ms;

    pthread_mutex_lock(&facts->lock);
    entry = json_object_get(known(facts), path);
    age_ms = sw_now_ms() - sw_json_int(entry, "at", 0);
    if (age_ms >= 0 && age_ms < facts->last_ms)
        answer = json_incref(json_object_get(entry, "answer"));
    pthread_mutex_unlock(&facts->lock);
    return answer;
}

static void remember(struct sw_facts *facts, const char *path, json_t *answer)
{
    sw_autofree char *text = NULL, *folder = sw_strndup(facts->file, (size_t)(strrchr(facts->file, '/') -
                                                                              facts->file));

    pthread_mutex_lock(&facts->lock);
    json_object_set_new(known(facts), path, sw_json_object(SW_INT("at", sw_now_ms()),
                                                           SW_SUB_COPY("answer", answer)));
    text = sw_json_dump(facts->known);
    pthread_mutex_unlock(&facts->lock);
    if (sw_mkdirs(folder, 0700, NULL) == 0)
        sw_file_write(facts->file, text, strlen(text), 0600, NULL);
}

json_t *sw_fact(struct sw_facts *facts, const char *path, bool fresh, struct sw_error *err)
{
    json_t *answer = fresh ? NULL : remembered(facts, path);

    if (answer || sw_rest_call(facts->rest, &(struct sw_rest_call){ .path = path,
                                                                    .repeatable = true }, &answer,
                               err) < 0)
        return answer;
    answer = answer ? answer : json_array();
    remember(facts, path, answer);
    return answer;
}

void sw_facts_forget(struct sw_facts *facts)
{
    pthread_mutex_lock(&facts->lock);
    json_decref(sw_take(facts->known));
    remove(facts->file);
    pthread_mutex_unlock(&facts->lock);
}
