/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_options.c - files that options of ssh name, as absolute paths.
 */
#include "net/ssh_options.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

void sw_ssh_options_settle(json_t *options)
{
    static const char *const files[] = { "identity", "ssh_config", "known_hosts" };

    for (size_t i = 0; i < SW_COUNT(files); i++) {
        const char *path = sw_json_str(options, files[i]);
        sw_autofree char *whole = NULL;

        if (sw_text_empty(path) || strchr("/~%", *path) || strcmp(path, "none") == 0)
            continue;
        whole = sw_path_absolute(path, NULL);
        json_object_set_new(options, files[i], sw_json_text(whole));
    }
}
