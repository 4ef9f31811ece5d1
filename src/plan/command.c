/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - the user's command with its placeholders filled in.
 *
 * Only {config_path}, {results_dir} and {job_id} are ours. Every other brace stays as it is:
 * shell functions, awk programs and JSON in a command need no doubling (weakness 67 of the
 * contract). A value is quoted for the shell unless it stands inside quotes already.
 *
 * Pure: no I/O.
 */
#include <string.h>

#include "base/buf.h"
#include "plan/plan.h"

struct placeholder {
    const char *word;
    const char *value;      /* NULL: the placeholder stays as it is */
};

static const struct placeholder *placeholder_at(const struct placeholder *all, size_t count,
                                                const char *at)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].value && strncmp(at, all[i].word, strlen(all[i].word)) == 0)
            return &all[i];
    return NULL;
}

char *sw_command_fill(const char *command, const char *config_path, const char *results_dir,
                      const char *job_id)
{
    const struct placeholder all[] = {
        { "{config_path}", config_path },
        { "{results_dir}", results_dir },
        { "{job_id}", job_id },
    };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char quote = '\0';          /* the quote we are inside of, as the shell sees it */

    for (const char *at = command; *at;) {
        const struct placeholder *found = placeholder_at(all, SW_COUNT(all), at);

        if (found) {
            if (quote)
                sw_buf_add(&out, found->value);
            else
                sw_buf_add_quoted(&out, found->value);
            at += strlen(found->word);
            continue;
        }
        if (*at == '\\' && quote != '\'' && at[1])
            sw_buf_add_char(&out, *at++);
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (*at == quote)
            quote = '\0';
        sw_buf_add_char(&out, *at++);
    }
    return sw_buf_steal(&out);
}
