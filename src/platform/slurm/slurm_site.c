/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_site.c - partitions and nodes as scontrol tells them, counted.
 *
 * One line each, "Key=Value Key=Value"; values may hold blanks, so a value ends before the next
 * " Key=". A node that is down, draining or reserved has GPUs, but none that are free.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- Key=Value --------------------------------------------------------------------------------- */

static const char *next_key(const char *text)
{
    for (; (text = strchr(text, ' ')); text++) {
        const char *at = text + 1;

        while (isalnum((unsigned char)*at) || *at == '_' || *at == '/' || *at == ':')
            at++;
        if (*at == '=' && at > text + 1 && isupper((unsigned char)text[1]))
            return text;
    }
    return NULL;
}

/* The value of a key of the line, owned; NULL: none. "(null)" and "N/A" are none. */
static char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);

    for (const char *at = line; at; at = next_key(at), at = at ? at + 1 : NULL) {
        const char *end;
        sw_autofree char *value = NULL;

        if (strncmp(at, key, length) != 0 || at[length] != '=')
            continue;
        at += length + 1;
        end = next_key(at);
        end = end ? end : at + strlen(at);
        while (end > at && isspace((unsigned char)end[-1]))
            end--;
        value = sw_strndup(at, (size_t)(end - at));
        if (!*value || sw_text_same(value, "(null)") || sw_text_same(value, "N/A"))
            return NULL;
        return sw_take(value);
    }
    return NULL;
}

/* No node has a million millions of anything: such a number is none, so sums and products of them stay
 * numbers. */
static int64_t number_of(const char *line, const char *key)
{
    const long long most = 1LL << 40;
    sw_autofree char *value = value_of(line, key);
    long long number = value ? strtoll(value, NULL, 10) : 0;

    return number < 0 || number > most ? 0 : number;
}

/* ---- GPUs -------------------------------------------------------------------------------------- */

static void count_type(json_t *types, const char *type, int64_t count)
{
    sw_autofree char *name = sw_text_utf8(type, strlen(type));

    json_object_set_new(types, name, json_integer(sw_json_int(types, name, 0) + count));
}

/* "gpu:8", "gpu:a100:8", "gpu", with "(S:0-1)" behind. */
static int64_t one_gres(char *entry, json_t *types)
{
    char *type, *number;
    long long count;

    entry[strcspn(entry, "(")] = '\0';
    type = entry;
    if (!sw_text_same(strsep(&type, ":"), "gpu"))
        return 0;
    number = type ? strrchr(type, ':') : NULL;
    if (number)
        *number++ = '\0';
    else if (type && isdigit((unsigned char)*type))
        number = type, type = NULL;
    count = number ? strtoll(number, NULL, 10) : 1;
    if (count < 0 || count > 1000000)
        return 0;
    if (types && count > 0)
        count_type(types, type && *type ? type : "gpu", count);
    return count;
}

int64_t slurm_gres_gpus(const char *gres, json_t *types)
{
    sw_autofree char *copy = sw_strdup(gres ? gres : "");
    int64_t total = 0;
    int depth = 0;
    char *begin = copy;

    for (char *at = copy;; at++) {               /* commas inside (...) belong to the entry */
        bool end = *at == '\0';

        depth += *at == '(' ? 1 : *at == ')' && depth > 0 ? -1 : 0;
        if (!end && (*at != ',' || depth > 0))
            continue;
        *at = '\0';
        total += one_gres(begin, types);
        begin = at + 1;
        if (end)
            return total;
    }
}

/* ---- nodes into partitions --------------------------------------------------------------------- */

static bool takes_work(const char *state)
{
    static const char *const never[] = { "DOWN", "DRAIN", "FAIL", "MAINT", "RESERVED", "UNKNOWN",
                                         "NOT_RESPONDING", "POWERED_DOWN", "POWERING", "REBOOT", "*" };

    for (size_t i = 0; i < SW_COUNT(never); i++)
        if (!state || strstr(state, never[i]))
            return false;
    return true;
}

static int64_t at_least_0(int64_t number)
{
    return number > 0 ? number : 0;
}

/* What one node adds to its partitions and to the cluster; without a line nothing. */
static json_t *node_of(const char *line)
{
    sw_autofree char *state = value_of(line, "State"), *gres = value_of(line, "Gres");
    sw_autofree char *used = value_of(line, "GresUsed");
    bool works = takes_work(state);
    json_t *types = json_object();
    int64_t gpus = slurm_gres_gpus(gres, types), cpus = number_of(line, "CPUTot");

    return sw_json_object(
        SW_INT("nodes", *line != '\0'), SW_INT("nodes_up", works),
        SW_INT("nodes_idle", works && sw_text_starts(state, "IDLE")), SW_INT("gpus_total", gpus),
        SW_INT("gpus_free", works ? at_least_0(gpus - slurm_gres_gpus(used, NULL)) : 0),
        SW_SUB("gpu_types", types), SW_INT("node_gpus", gpus), SW_INT("cpus_total", cpus),
        SW_INT("cpus_free", works ? at_least_0(cpus - number_of(line, "CPUAlloc")) : 0),
        SW_INT("node_memory_bytes", number_of(line, "RealMemory") * 1048576));
}

/* Sums, but of what is "node_..." the greatest. */
static void add_up(json_t *row, const json_t *more)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)more, key, value) {
        int64_t was = sw_json_int(row, key, 0), number = json_integer_value(value);

        if (json_is_object(value))
            add_up(json_object_get(row, key), value);
        else if (!sw_text_starts(key, "node_"))
            json_object_set_new(row, key, json_integer(was + number));
        else if (number > was)
            json_object_set_new(row, key, json_integer(number));
    }
}

static json_t *partition_named(json_t *partitions, const char *name)
{
    size_t i;
    json_t *row;

    json_array_foreach(partitions, i, row)
        if (sw_text_same(sw_json_str(row, "name"), name))
            return row;
    return NULL;
}

static void place_node(const char *line, json_t *partitions, json_t *all)
{
    sw_autofree char *names = value_of(line, "Partitions");
    sw_auto(json) json_t *node = node_of(line);
    char *rest = names;

    if (!sw_text_starts(line, "NodeName="))
        return;
    add_up(all, node);
    for (char *name; rest && (name = strsep(&rest, ","));) {
        json_t *row = partition_named(partitions, name);

        if (row)
            add_up(row, node);
    }
}

/* ---- partitions -------------------------------------------------------------------------------- */

static json_t *limit_of(const char *line, const char *key)
{
    sw_autofree char *text = value_of(line, key);
    int64_t minutes;

    if (!text || !slurm_time_parse(text, &minutes) || minutes < 0)
        return json_null();
    return json_integer(minutes);
}

static void add_partition(json_t *partitions, const char *line)
{
    sw_autofree char *name = value_of(line, "PartitionName"), *state = value_of(line, "State");
    sw_autofree char *usual = value_of(line, "Default"), *most = value_of(line, "MaxNodes");
    sw_autofree char *accounts = value_of(line, "AllowAccounts");
    json_t *row;

    if (!name || !sw_text_starts(line, "PartitionName="))
        return;
    row = sw_json_object(
        SW_STR("name", name), SW_BOOL("default", sw_text_same(usual, "YES")),
        SW_STR("state", state ? state : ""), SW_SUB("time_limit_minutes", limit_of(line, "MaxTime")),
        SW_SUB("default_time_minutes", limit_of(line, "DefaultTime")),
        SW_SUB("max_nodes", most && isdigit((unsigned char)*most) ? json_integer(number_of(line, "MaxNodes"))
                                                                  : json_null()),
        SW_STR_OPT("accounts", sw_text_same(accounts, "ALL") ? NULL : accounts));
    if (!row)                      /* a name that is not text */
        return;
    {
        sw_auto(json) json_t *zero = node_of("");

        json_object_update(row, zero);
    }
    json_array_append_new(partitions, row);
}

json_t *slurm_site(const char *partition_lines, const char *node_lines)
{
    sw_autofree char *parts = sw_strdup(partition_lines), *nodes = sw_strdup(node_lines);
    json_t *partitions = json_array(), *all = node_of("");
    char *rest = parts;

    for (char *line; (line = strsep(&rest, "\n"));)
        add_partition(partitions, line);
    rest = nodes;
    for (char *line; (line = strsep(&rest, "\n"));)
        place_node(line, partitions, all);
    json_object_set_new(all, "partitions", partitions);
    return all;
}
