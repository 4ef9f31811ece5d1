/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cloud.c - see cloud.h.
 */
#include "platform/kit/cloud.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { NOTE_MAX = 64 * 1024 };

const char *sw_cloud_variable(const struct sw_connect_options *config, const char *name)
{
    const char *value = config->env(config->env_context, name);

    return sw_text_empty(value) ? NULL : value;
}

void sw_cloud_init(struct sw_cloud *cloud, const char *name, const struct sw_connect_options *config)
{
    cloud->given = *config;
    cloud->given.options = NULL;
    cloud->root = sw_path_join(config->state_dir, name);
    cloud->spools = sw_log_spools_open(cloud->root);
}

void sw_cloud_done(struct sw_cloud *cloud)
{
    sw_facts_close(cloud->facts);
    sw_rest_close(cloud->rest);
    sw_log_spools_close(cloud->spools);
    free(cloud->root);
}

struct sw_log_spools *sw_cloud_log_spools(struct sw_connection *conn)
{
    return sw_cloud_of(conn)->spools;
}

void sw_cloud_warn(struct sw_connection *conn, const char *fmt, ...)
{
    const struct sw_connect_options *given = &sw_cloud_of(conn)->given;
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (given->warn)
        given->warn(given->warn_context, text);
}

/* ---- calls -------------------------------------------------------------------------------------- */

int sw_cloud_call(struct sw_connection *conn, const char *method, const char *path, const json_t *body,
                  json_t **json, struct sw_error *err)
{
    const struct sw_rest_call call = { .method = method, .path = path, .json = body, .repeatable = true };

    return sw_rest_call(sw_cloud_of(conn)->rest, &call, json, err);
}

int sw_cloud_delete(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    struct sw_error why = { 0 };

    return sw_cloud_call(conn, "DELETE", path, NULL, NULL, &why) == 0 || why.code == SW_E_NOT_FOUND
               ? 0 : sw_pass(err, &why);
}

int sw_cloud_post_secret(struct sw_connection *conn, const char *path, struct sw_buf *body, bool repeatable,
                         json_t **json, struct sw_error *err)
{
    const struct sw_rest_call call = { .method = "POST", .path = path, .bytes = body->data,
                                       .length = (int64_t)body->length, .content_type = "application/json",
                                       .repeatable = repeatable };
    int result = sw_rest_call(sw_cloud_of(conn)->rest, &call, json, err);

    sw_buf_wipe(body);
    return result;
}

static int append(void *list, json_t *item)
{
    return json_array_append(list, item);
}

json_t *sw_cloud_list(struct sw_connection *conn, const struct sw_rest_call *call,
                      const struct sw_rest_pages *pages, struct sw_error *err)
{
    sw_auto(json) json_t *list = json_array();

    return sw_rest_list(sw_cloud_of(conn)->rest, call, pages, append, list, err) < 0 ? NULL : sw_take(list);
}

json_t *sw_cloud_fact(struct sw_connection *conn, const char *path, bool fresh, struct sw_error *err)
{
    return sw_fact(sw_cloud_of(conn)->facts, path, fresh, err);
}

/* ---- notes -------------------------------------------------------------------------------------- */

char *sw_cloud_note_path(struct sw_connection *conn, const char *id, int attempt, const char *name)
{
    return sw_format("%s/%s/attempt-%d/%s", sw_cloud_of(conn)->root, id, attempt > 1 ? attempt : 1, name);
}

char *sw_cloud_note(struct sw_connection *conn, const char *id, int attempt, const char *name)
{
    sw_autofree char *path = sw_cloud_note_path(conn, id, attempt, name);

    return sw_file_read(path, NOTE_MAX, NULL, NULL);
}

int sw_cloud_note_write(struct sw_connection *conn, const char *id, int attempt, const char *name,
                        const char *text, struct sw_error *err)
{
    sw_autofree char *folder = sw_cloud_note_path(conn, id, attempt, ""), *path = sw_path_join(folder, name);

    return sw_mkdirs(folder, 0700, err) < 0 ? -1 : sw_file_write(path, text, strlen(text), 0600, err);
}

int sw_cloud_forget(struct sw_connection *conn, const char *id, struct sw_error *err)
{
    sw_autofree char *folder = sw_path_join(sw_cloud_of(conn)->root, id);

    return sw_remove_tree(folder, err);
}
