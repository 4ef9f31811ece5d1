/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_words.c - what the brev program prints, in our words; and the names of instances.
 *
 * The program has one exit code for everything that goes wrong, so its words are all there is. They decide
 * whether we log in again, ask once more or stop; what has no row is a refusal with its own last words.
 *
 * An instance that Slipway creates is called PREFIX_JOB_STORE: PREFIX is "slipway" or a pool, JOB the job's
 * id, STORE the first eight digits of the store's. No id holds an underscore, so a name is read from its end.
 *
 * Pure.
 */
#include "platform/brev/brev_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { TYPES_MOST = 5 };

/* Any case, and not inside a longer word: "A100" is in "NVIDIA A100-SXM4-80GB", "a10" is not; "401" is in
 * "status 401:", and not in "i4015". */
static bool has_words(const char *text, const char *words)
{
    size_t length = strlen(words);

    for (const char *at = text ? strcasestr(text, words) : NULL; at; at = strcasestr(at + 1, words))
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[length]))
            return true;
    return false;
}

/* ---- states -------------------------------------------------------------------------------------- */

static const struct status_word {
    const char *word;
    enum brev_use use;
    const char *note;
} statuses[] = {
    { "RUNNING", BREV_USABLE, "is running" },
    { "UNHEALTHY", BREV_USABLE, "is running, and Brev calls it unhealthy" },
    { "DEPLOYING", BREV_COMING, "is being deployed" },
    { "STARTING", BREV_COMING, "is starting" },
    { "STOPPING", BREV_GOING, "is being stopped" },
    { "DELETING", BREV_GOING, "is being deleted" },
    { "STOPPED", BREV_STOPPED, "is stopped" },
    { "FAILURE", BREV_FAILED, "failed" },
};

enum brev_use brev_use(const json_t *instance, const char **note)
{
    const char *status = sw_json_str(instance, "status"), *none;

    note = note ? note : &none;
    *note = "is in an unknown state";
    if (sw_text_same(sw_json_str(instance, "build_status"), "CREATE_FAILED")) {
        *note = "could not be built";
        return BREV_FAILED;
    }
    for (size_t i = 0; status && i < SW_COUNT(statuses); i++) {
        if (strcmp(statuses[i].word, status) != 0)
            continue;
        *note = statuses[i].note;
        if (statuses[i].use != BREV_USABLE || sw_text_same(sw_json_str(instance, "shell_status"), "READY"))
            return statuses[i].use;
        *note = "is running and not ready yet";
        return BREV_COMING;
    }
    return BREV_UNCLEAR;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

/* Notices may come before it. */
static json_t *parse(const char *text, size_t length, struct sw_error *err)
{
    size_t skip = 0;

    while (skip < length && text[skip] != '{' && text[skip] != '[') {
        const char *end = memchr(text + skip, '\n', length - skip);

        skip = end ? (size_t)(end + 1 - text) : length;
    }
    if (skip >= length)
        return sw_null(sw_fail(err, SW_E_UNREACHABLE, "the brev program printed no JSON"));
    return sw_json_parse(text + skip, length - skip, "what the brev program printed", err);
}

/* The array itself, or the one below `key` of an object, where null is an empty one; new reference. */
static json_t *parse_list(const char *text, size_t length, const char *key, struct sw_error *err)
{
    sw_auto(json) json_t *all = parse(text, length, err);
    json_t *list = json_is_object(all) ? json_object_get(all, key) : all;

    if (!all)
        return NULL;
    if (json_is_null(list))
        return json_array();
    if (!json_is_array(list))
        return sw_null(sw_fail(err, SW_E_UNREACHABLE, "the brev program printed no list of %s", key));
    return json_incref(list);
}

json_t *brev_read_instances(const char *text, size_t length, struct sw_error *err)
{
    static const char *const kept[] = { "name", "id", "status", "build_status", "shell_status",
                                        "instance_type", "gpu" };
    sw_auto(json) json_t *list = parse_list(text, length, "workspaces", err);
    json_t *out = list ? json_array() : NULL, *each;
    size_t i;

    json_array_foreach(list, i, each) {
        const char *id = sw_json_str(each, "id");
        json_t *row;

        if (!brev_name_valid(sw_json_str(each, "name")) || !brev_name_valid(id))
            continue;
        row = json_object();
        for (size_t k = 0; k < SW_COUNT(kept); k++)
            if (sw_json_str(each, kept[k]))
                json_object_set(row, kept[k], json_object_get(each, kept[k]));
        json_array_append_new(out, row);
    }
    return out;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    char *end = NULL;
    double number = text ? strtod(text, &end) : json_number_value(value);

    if (text ? end == text : !json_is_number(value))
        return -1;
    return number >= 0 && number < 1e6 ? number : -1;
}

json_t *brev_read_types(const char *text, size_t length, struct sw_error *err)
{
    sw_auto(json) json_t *list = parse_list(text, length, "types", err);
    json_t *out = list ? json_array() : NULL, *each;
    size_t i;

    json_array_foreach(list, i, each) {
        const char *type = sw_json_str(each, "type"), *gpu = sw_json_str(each, "gpu_name");
        double price = number_of(each, "price_per_hour"), count = number_of(each, "gpu_count");

        /* Types become one word of a command line, several joined by commas. */
        if (sw_text_empty(type) || *type == '-' || strpbrk(type, ", \t\r\n") || strlen(type) > 128)
            continue;
        json_array_append_new(out, sw_json_object(
            SW_STR("type", type), SW_STR_OPT("gpu_name", gpu),
            SW_INT("gpu_count", count > 0 ? (json_int_t)count : 0),
            SW_SUB("price_per_hour", price >= 0 ? json_real(price) : NULL)));
    }
    return out;
}

json_t *brev_read_organization(const char *text, size_t length, struct sw_error *err)
{
    sw_auto(json) json_t *list = parse_list(text, length, "orgs", err);
    json_t *each;
    size_t i;

    json_array_foreach(list, i, each)
        if (sw_json_bool(each, "is_active", false) && !sw_text_empty(sw_json_str(each, "id")))
            return sw_json_object(SW_STR("id", sw_json_str(each, "id")),
                                  SW_STR("name", sw_json_str(each, "name")));
    if (list) {
        sw_fail(err, SW_E_CREDENTIAL, "brev has no active organisation");
        sw_hint(err, "choose one: brev set NAME");
    }
    return NULL;
}

int brev_read_version(const char *text)
{
    static const char before[] = "ersion:";
    const char *at = text ? strstr(text, before) : NULL;
    unsigned major, minor, patch;

    if (!at)
        return -1;
    at += strlen(before);
    at += strspn(at, " v");
    if (sscanf(at, "%3u.%3u.%3u", &major, &minor, &patch) != 3)
        return -1;
    return BREV_VERSION((int)major, (int)minor, (int)patch);
}

const json_t *brev_find(const json_t *list, const char *id_or_name)
{
    static const char *const keys[] = { "id", "name" };
    const json_t *each;
    size_t i;

    for (size_t k = 0; k < SW_COUNT(keys); k++)
        json_array_foreach(list, i, each)
            if (sw_text_same(sw_json_str(each, keys[k]), id_or_name))
                return each;
    return NULL;
}

/* ---- types and prices ---------------------------------------------------------------------------- */

static const json_t *type_of(const json_t *types, const char *type)
{
    const json_t *each;
    size_t i;

    json_array_foreach(types, i, each)
        if (sw_text_same(sw_json_str(each, "type"), type))
            return each;
    return NULL;
}

double brev_price(const json_t *types, const char *type)
{
    return number_of(type_of(types, type), "price_per_hour");
}

int brev_gpu_count(const json_t *types, const char *type)
{
    return (int)sw_json_int(type_of(types, type), "gpu_count", 0);
}

static bool gpu_matches(const char *name, const char *wanted)
{
    return !wanted || has_words(name, wanted);
}

static bool is_cheaper(const json_t *one, const json_t *other)
{
    double a = number_of(one, "price_per_hour"), b = number_of(other, "price_per_hour");

    return a >= 0 && (b < 0 || a < b);
}

json_t *brev_choose_types(const json_t *types, const char *gpu, int count)
{
    sw_auto(json) json_t *fitting = json_array();
    json_t *names = json_array(), *each;
    size_t i;

    json_array_foreach((json_t *)types, i, each) {
        int64_t has = sw_json_int(each, "gpu_count", 0);
        size_t at = json_array_size(fitting);

        if (count == 0 ? has != 0 : has < count || !gpu_matches(sw_json_str(each, "gpu_name"), gpu))
            continue;
        while (at > 0 && is_cheaper(each, json_array_get(fitting, at - 1)))
            at--;
        json_array_insert(fitting, at, each);
    }
    json_array_foreach(fitting, i, each) {
        bool twice = false;

        for (size_t k = 0; k < json_array_size(names); k++)
            twice |= json_equal(json_array_get(names, k), json_object_get(each, "type"));
        if (!twice && json_array_size(names) < TYPES_MOST)
            json_array_append(names, json_object_get(each, "type"));
    }
    return names;
}

/* ---- names --------------------------------------------------------------------------------------- */

bool brev_name_valid(const char *name)
{
    size_t length = name ? strlen(name) : 0;

    return length > 0 && length <= BREV_NAME_MAX && isalnum((unsigned char)*name) &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

void brev_name(char out[BREV_NAME_SIZE], const char *prefix, const char *job, const char *store, int attempt)
{
    int used = snprintf(out, BREV_NAME_SIZE, "%.*s_%s_%.8s", BREV_POOL_MAX, prefix, job,
                        store ? store : "00000000");

    if (attempt > 1 && used < BREV_NAME_MAX)
        snprintf(out + used, BREV_NAME_SIZE - (size_t)used, "_%d", attempt % 1000);
}

static bool is_made_of(const char *text, size_t length, const char *characters)
{
    return length > 0 && strspn(text, characters) >= length;
}

bool brev_name_read(const char *name, struct brev_mark *mark)
{
    const char *end = name + strlen(name), *at = strrchr(name, '_');
    size_t length;

    mark->attempt = 1;
    if (at && end - at <= 4 && is_made_of(at + 1, (size_t)(end - at - 1), "0123456789")) {
        mark->attempt = atoi(at + 1);
        end = at;
        at = memrchr(name, '_', (size_t)(end - name));
    }
    if (!at || end - at != BREV_STORE_SIZE || !is_made_of(at + 1, BREV_STORE_SIZE - 1, "0123456789abcdef"))
        return false;
    snprintf(mark->store, sizeof mark->store, "%.*s", BREV_STORE_SIZE - 1, at + 1);
    end = at;
    at = memrchr(name, '_', (size_t)(end - name));
    length = at ? (size_t)(end - at - 1) : 0;
    if (length == 0 || length >= sizeof mark->job || at == name)
        return false;
    snprintf(mark->job, sizeof mark->job, "%.*s", (int)length, at + 1);
    return sw_id_valid(mark->job);
}

/* ---- complaints ---------------------------------------------------------------------------------- */

#define LOG_IN "log in with `brev login`, or set BREV_API_TOKEN (tokens last about an hour)"
#define UPDATE "update the brev program; Slipway was written for 0.6.327"

static const struct brev_complaint {
    const char *said;                /* as has_words() looks for it; the first row counts */
    enum sw_code code;
    const char *means, *hint;
} complaints[] = {
    { "duplicate workspace", SW_E_CONFLICT, "Brev has an instance of that name already", NULL },
    { "logged out", SW_E_CREDENTIAL, "brev is not logged in", LOG_IN },
    { "log in", SW_E_CREDENTIAL, "brev is not logged in", LOG_IN },
    { "unauthorized", SW_E_CREDENTIAL, "Brev refuses the login", LOG_IN },
    { "unauthenticated", SW_E_CREDENTIAL, "Brev refuses the login", LOG_IN },
    { "401", SW_E_CREDENTIAL, "Brev refuses the login", LOG_IN },
    { "403", SW_E_CREDENTIAL, "Brev refuses the login, or does not allow the request", LOG_IN },
    { "stdin", SW_E_CREDENTIAL, "brev asks a question instead of answering: it is not logged in", LOG_IN },
    { "no tty", SW_E_CREDENTIAL, "brev asks a question instead of answering: it is not logged in", LOG_IN },
    { "unknown flag", SW_E_UNSUPPORTED, "this brev lacks a required option", UPDATE },
    { "unknown shorthand", SW_E_UNSUPPORTED, "this brev lacks a required option", UPDATE },
    { "unknown command", SW_E_UNSUPPORTED, "this brev lacks a required command", UPDATE },
    { "no such host", SW_E_UNREACHABLE, "brev cannot reach its service", NULL },
    { "dial tcp", SW_E_UNREACHABLE, "brev cannot reach its service", NULL },
    { "connection refused", SW_E_UNREACHABLE, "brev cannot reach its service", NULL },
    { "connection reset", SW_E_UNREACHABLE, "brev cannot reach its service", NULL },
    { "timeout", SW_E_UNREACHABLE, "Brev's service does not answer", NULL },
    { "deadline exceeded", SW_E_UNREACHABLE, "Brev's service does not answer", NULL },
    { "unexpected eof", SW_E_UNREACHABLE, "the connection to Brev's service was cut", NULL },
    { "502", SW_E_UNREACHABLE, "Brev's service has trouble", NULL },
    { "503", SW_E_UNREACHABLE, "Brev's service has trouble", NULL },
};

int brev_explain(const char *said, struct sw_error *err)
{
    const char *space = *said ? ": " : "";

    for (size_t i = 0; i < SW_COUNT(complaints); i++) {
        const struct brev_complaint *row = &complaints[i];

        if (!has_words(said, row->said))
            continue;
        sw_fail(err, row->code, "%s%s%.300s", row->means, space, said);
        return row->hint ? sw_hint(err, "%s", row->hint) : -1;
    }
    return sw_fail(err, SW_E_REFUSED, "the brev program failed%s%.300s", space, said);
}

/* ---- ssh ----------------------------------------------------------------------------------------- */

static bool has_host(const char *config, const char *alias)
{
    size_t length = strlen(alias);

    for (const char *line = config; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strspn(line, " \t");

        if (strncasecmp(at, "Host", 4) != 0 || !strchr(" \t", at[4]) || !at[4])
            continue;
        at += 4;
        at += strspn(at, " \t");
        if (strncmp(at, alias, length) == 0 && strchr(" \t\r\n", at[length]))
            return true;
    }
    return false;
}

char *brev_ssh_alias(const char *config, const char *name)
{
    sw_autofree char *machine = sw_format("%s-host", name);

    return has_host(config, machine) ? sw_take(machine) : has_host(config, name) ? sw_strdup(name) : NULL;
}
