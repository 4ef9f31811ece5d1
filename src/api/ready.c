/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready.c - which platforms are ready: each is asked what it has, all at the same time, since one that does
 * not answer takes its time to say so. For `doctor` and `platforms`.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/buf.h"
#include "base/parallel.h"
#include "base/text.h"
#include "base/units.h"
#include "core/finding.h"

enum { PLATFORMS_MAX = 16 };

/* An inventory in a few words: "node vm, cpus 2, memory 23.5 GiB, gpus 0". */
static char *in_words(const json_t *inventory)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)inventory, key, value) {
        bool is_size = sw_text_ends(key, "_bytes");
        char size[32];

        if (json_is_null(value) || json_is_object(value))
            continue;
        sw_buf_addf(&out, "%s%.*s ", out.length ? ", " : "",
                    (int)(strlen(key) - (is_size ? strlen("_bytes") : 0)), key);
        if (is_size) {
            sw_size_format(json_integer_value(value), size);
            sw_buf_add(&out, size);
        } else if (json_is_array(value)) {
            sw_buf_addf(&out, "%zu", json_array_size(value));
        } else if (json_is_string(value)) {
            sw_buf_add(&out, json_string_value(value));
        } else {
            sw_autofree char *text = sw_json_dump(value);

            sw_buf_add(&out, text);
        }
    }
    return sw_buf_steal(&out);
}

json_t *api_ready(struct sw_session *session, const struct sw_platform *platform)
{
    struct sw_error why = { 0 };
    struct sw_connection *conn = api_connect(session, platform, NULL, &why);
    sw_auto(json) json_t *here = conn && platform->inventory ? platform->inventory(conn, &why) : NULL;
    sw_autofree char *seen = here ? in_words(here) : NULL;
    sw_autofree char *title = sw_format("platform %s", platform->name);
    sw_auto(json) json_t *rows = json_array();
    bool good = conn && (here || !platform->inventory);

    if (!good && api_is_idle(session, platform, &why))
        sw_finding_open(rows, title, SW_STATE_NOT_SET_UP, why.message, why.hint);
    else
        sw_finding(rows, title, good, !good ? why.message : seen ? seen : "ready", why.hint);
    return json_incref(json_array_get(rows, 0));
}

struct api_ready_ask {
    struct sw_session *session;
    json_t *rows[PLATFORMS_MAX];
};

static void ask_one(void *context, size_t index)
{
    struct api_ready_ask *asking = context;

    asking->rows[index] = api_ready(asking->session, sw_platform_at(index));
}

void api_ready_rows(struct sw_session *session, json_t *rows)
{
    struct api_ready_ask asking = { .session = session };
    size_t count = 0;

    while (count < PLATFORMS_MAX && sw_platform_at(count))
        count++;
    sw_parallel(count, count, ask_one, &asking);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, asking.rows[i]);
}
