/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_cli.c - the brev program, asked.
 *
 * No shell, no terminal, nothing on standard input: a program that is logged out would ask a question there,
 * and some commands read names from it. When it says that it is logged out, the token is written down once
 * more and the question is repeated once.
 */
#include "platform/brev/brev_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/kit/program.h"

enum {
    WORDS_MAX = 16,
    OUTPUT_MAX = 4 * 1024 * 1024,
    REFRESH_PAUSE_MS = 60 * 1000,    /* what brev refresh wrote is fresh for so long */
    OLDEST = BREV_VERSION(0, 6, 300),
};

static char *run(struct brev_connection *conn, const char *const *words, int64_t patience_ms, size_t *length,
                 struct sw_error *err)
{
    sw_autofree char *home = sw_format("HOME=%s", conn->home);
    char *const added[] = { home, NULL };
    const char *argv[WORDS_MAX + 2] = { conn->with.cli };
    const struct sw_program_call program = { .argv = argv, .added = added, .output_max = OUTPUT_MAX,
                                        .patience_ms = patience_ms };
    sw_auto(sw_program_reply) struct sw_program_reply reply = { 0 };
    sw_autofree char *said = NULL;

    for (size_t i = 0; words[i] && i < WORDS_MAX; i++)
        argv[i + 1] = words[i];
    if (sw_program_run(&program, &reply, err) < 0) {
        if (err && err->code == SW_E_UNSUPPORTED)
            sw_hint(err, "install the brev program, or name it: brev: {cli: PATH}");
        return sw_null(sw_wrap(err, "%s", conn->with.cli));
    }
    if (reply.exit_code != 0) {
        said = sw_program_words(&reply);
        return sw_null(brev_explain(said, err));
    }
    *length = reply.output.length;
    return reply.output.data ? sw_buf_steal(&reply.output) : sw_strdup("");
}

static int log_in(struct brev_connection *conn, bool again, struct sw_error *err)
{
    int result = 0;

    pthread_mutex_lock(&conn->lock);
    if (again || !conn->logged_in)
        result = brev_login_write(conn, again, err);
    conn->logged_in = result == 0;
    pthread_mutex_unlock(&conn->lock);
    return result;
}

char *brev_ask(struct brev_connection *conn, const char *const *words, int64_t patience_ms, size_t *length,
               struct sw_error *err)
{
    struct sw_error why = { 0 };
    char *text;
    size_t unwanted;

    length = length ? length : &unwanted;
    if (log_in(conn, false, err) < 0)
        return NULL;
    text = run(conn, words, patience_ms, length, &why);
    if (!text && why.code == SW_E_CREDENTIAL && conn->token && log_in(conn, true, NULL) == 0) {
        why = (struct sw_error){ 0 };
        text = run(conn, words, patience_ms, length, &why);
    }
    if (!text)
        sw_pass(err, &why);
    return text;
}

/* ---- single questions ---------------------------------------------------------------------------- */

/* A key belongs to one organisation, and cannot look others up by name. */
json_t *brev_list(struct brev_connection *conn, int64_t age_ms, struct sw_error *err)
{
    const char *organization = brev_login_is_key(conn) ? NULL : conn->with.organization;
    sw_autofree char *text = NULL;
    json_t *list = NULL;
    size_t length = 0;

    pthread_mutex_lock(&conn->lock);
    if (conn->list && sw_monotonic_ms() - conn->list_ms < age_ms)
        list = json_incref(conn->list);
    pthread_mutex_unlock(&conn->lock);
    if (list)
        return list;
    text = brev_ask(conn, BREV_WORDS("ls", "--json", organization ? "--org" : NULL, organization),
                    BREV_QUICK_MS, &length, err);
    list = text ? brev_read_instances(text, length, err) : NULL;
    if (!list)
        return NULL;
    pthread_mutex_lock(&conn->lock);
    json_decref(conn->list);
    conn->list = json_incref(list);
    conn->list_ms = sw_monotonic_ms();
    pthread_mutex_unlock(&conn->lock);
    return list;
}

json_t *brev_types(struct brev_connection *conn, bool gpus, struct sw_error *err)
{
    json_t *types;
    size_t length = 0;

    pthread_mutex_lock(&conn->lock);
    types = conn->types[gpus];
    pthread_mutex_unlock(&conn->lock);
    if (!types) {
        sw_autofree char *text = brev_ask(conn, BREV_WORDS("search", gpus ? "gpu" : "cpu", "--json"),
                                          BREV_QUICK_MS, &length, err);

        types = text ? brev_read_types(text, length, err) : NULL;
        pthread_mutex_lock(&conn->lock);
        if (conn->types[gpus])
            json_decref(types);      /* another thread was faster */
        else
            conn->types[gpus] = types;
        types = conn->types[gpus];
        pthread_mutex_unlock(&conn->lock);
    }
    return types;
}

static json_t *ask_organization(struct brev_connection *conn, struct sw_error *err)
{
    size_t length = 0;
    sw_autofree char *text = brev_ask(conn, BREV_WORDS("ls", "orgs", "--json"), BREV_QUICK_MS, &length, err);

    return text ? brev_read_organization(text, length, err) : NULL;
}

static bool is_called(const json_t *organization, const char *wanted)
{
    return !wanted || sw_text_same(sw_json_str(organization, "id"), wanted) ||
           sw_text_same(sw_json_str(organization, "name"), wanted);
}

/* A key of one organisation cannot list them. Another than the active one is chosen only in a login of its
 * own: the user's stays as it is. */
static json_t *find_organization(struct brev_connection *conn, struct sw_error *err)
{
    const char *wanted = conn->with.organization;
    sw_auto(json) json_t *active = brev_login_is_key(conn) ? sw_json_object(SW_STR("id", wanted))
                                                           : ask_organization(conn, err);

    if (active && !is_called(active, wanted) && conn->token) {
        sw_autofree char *text = brev_ask(conn, BREV_WORDS("set", wanted), BREV_QUICK_MS, NULL, err);

        json_decref(active);
        active = text ? ask_organization(conn, err) : NULL;
    }
    if (!active || is_called(active, wanted))
        return sw_take(active);
    sw_fail(err, SW_E_CREDENTIAL, "brev's active organisation is '%.100s', not '%.100s'",
            sw_json_str(active, "name"), wanted);
    sw_hint(err, "make it the active one: brev set %.100s", wanted);
    return NULL;
}

/* The active one may change at any time. An answer counts for a moment, and never for a list that is younger:
 * that one may be of another organisation. */
json_t *brev_organization(struct brev_connection *conn, struct sw_error *err)
{
    int64_t now_ms = sw_monotonic_ms();
    json_t *found = NULL;

    pthread_mutex_lock(&conn->lock);
    if (conn->organization && conn->organization_ms >= conn->list_ms &&
        now_ms - conn->organization_ms < BREV_RECENT_MS)
        found = json_incref(conn->organization);
    pthread_mutex_unlock(&conn->lock);
    if (found || !(found = find_organization(conn, err)))
        return found;
    pthread_mutex_lock(&conn->lock);
    json_decref(conn->organization);
    conn->organization = json_incref(found);
    conn->organization_ms = now_ms;
    pthread_mutex_unlock(&conn->lock);
    return found;
}

int brev_check_version(struct brev_connection *conn, int *version, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_autofree char *text = brev_ask(conn, BREV_WORDS("--version"), BREV_QUICK_MS, NULL, &why);

    /* It asks for its newest release meanwhile, and fails where that cannot be reached. */
    *version = brev_read_version(text);
    if (why.code == SW_E_UNSUPPORTED)
        return sw_pass(err, &why);
    if (*version < 0 || *version >= OLDEST)
        return 0;
    sw_fail(err, SW_E_UNSUPPORTED, "the brev program is version %d.%d.%d, older than 0.6.300",
            *version / 1000000, *version / 1000 % 1000, *version % 1000);
    return sw_hint(err, "update it; Slipway was written for 0.6.327");
}

int brev_delete(struct brev_connection *conn, const char *name, struct sw_error *err)
{
    sw_autofree char *text = brev_ask(conn, BREV_WORDS("delete", name), BREV_SLOW_MS, NULL, err);

    return text ? 0 : sw_wrap(err, "cannot delete the instance '%s'", name);
}

/* One process at a time rewrites the configuration. */
int brev_refresh(struct brev_connection *conn, bool now, struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(conn->folder, "refresh.lock"), *text = NULL;
    sw_autofd int lock = -1;
    bool fresh;

    pthread_mutex_lock(&conn->lock);
    fresh = !now && conn->refreshed_ms && sw_monotonic_ms() - conn->refreshed_ms < REFRESH_PAUSE_MS;
    pthread_mutex_unlock(&conn->lock);
    if (fresh)
        return 0;
    if (sw_mkdirs(conn->folder, 0700, err) < 0)
        return -1;
    lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot lock %s", path);
    text = brev_ask(conn, BREV_WORDS("refresh"), BREV_SLOW_MS, NULL, err);
    if (!text)
        return sw_wrap(err, "brev did not write its ssh configuration");
    pthread_mutex_lock(&conn->lock);
    conn->refreshed_ms = sw_monotonic_ms();
    pthread_mutex_unlock(&conn->lock);
    return 0;
}
