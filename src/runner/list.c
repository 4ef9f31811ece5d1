/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - `slipway-runner list FOLDER FILE|-`: the names in a folder, for a client that cannot see it.
 *
 * An engine on another machine shows its files to containers only. The answer is a file and no
 * output, since names may hold anything: {"names": [...]}, or {"message": "...", "error": "not_found"}. Only
 * where output arrives as it is ("-") it is the output.
 */
#include "runner/runner.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"

int runner_list(const char *folder, const char *file)
{
    struct sw_error err = { 0 };
    json_t *names = sw_folder_names(folder, &err);
    sw_auto(json) json_t *answer = sw_json_object(
        SW_SUB("names", names), SW_STR_OPT("message", names ? NULL : err.message),
        SW_STR_OPT("error", names ? NULL : sw_code_name(err.code)));
    sw_autofree char *text = sw_json_dump(answer);

    if (strcmp(file, "-") == 0)
        return sw_write_all(STDOUT_FILENO, text, strlen(text)) == 0 && names ? 0 : RUNNER_IO;
    return sw_file_write(file, text, strlen(text), 0600, NULL) == 0 && names ? 0 : RUNNER_IO;
}
