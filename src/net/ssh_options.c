/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_options.c - the options of ssh_options.h, read.
 */
#include "net/ssh_options.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

static const char *text_of(const json_t *options, const char *key)
{
    const char *text = sw_json_str(options, key);

    return sw_text_empty(text) ? NULL : text;
}

void sw_ssh_options_read(const json_t *options, struct sw_ssh_options *out)
{
    out->identity = text_of(options, "identity");
    out->config_file = text_of(options, "ssh_config");
    out->known_hosts = text_of(options, "known_hosts");
    out->accept_new = sw_json_bool(options, "accept_new", false);
    out->connect_ms = sw_json_duration_ms(options, "connect_timeout", 20000);
    out->persist_ms = sw_json_duration_ms(options, "keep_connection", 600000);
}

void sw_ssh_options_settle(json_t *options)
{
    static const char *const files[] = { "identity", "ssh_config", "known_hosts" };

    for (size_t i = 0; i < SW_COUNT(files); i++) {
        const char *path = text_of(options, files[i]);
        sw_autofree char *whole = NULL;

        if (!path || strchr("/~%", *path) || strcmp(path, "none") == 0)
            continue;
        whole = sw_path_absolute(path, NULL);
        json_object_set_new(options, files[i], sw_json_text(whole));
    }
}
