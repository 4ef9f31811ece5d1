/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_skill.c - any YAML as a model of a skill bank: each action is understood, or there is a reason; and
 * what is understood resolves as a level of a job file would. */
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "fuzz.h"
#include "spec/skill.h"

static void try_action(const json_t *info, const char *name)
{
    struct sw_error err = { 0 };
    sw_auto(json) json_t *action = sw_skill_action(info, name, &err);
    sw_auto(json) json_t *missing = json_array(), *job = NULL;
    const char *image = sw_json_str(action, "image");

    CLAIM((action == NULL) == (err.code != SW_OK));
    if (!action)
        return;
    job = sw_skill_job(action, info, missing);      /* its own text plays the job's values */
    CLAIM(json_is_object(job) && sw_json_str(job, "command"));
    if (image && sw_versions_is_key(image)) {
        err = (struct sw_error){ 0 };
        CLAIM((sw_versions_image(info, image, &err) == NULL) == (err.code != SW_OK));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse((const char *)data, size, SW_YAML, "fuzz.yaml", NULL);
    const json_t *info = document ? sw_document_value(document) : NULL, *each;
    sw_auto(json) json_t *actions = sw_skill_actions(info);
    char *text = malloc(size + 1);
    size_t i;

    memcpy(text, data, size);
    text[size] = '\0';
    sw_skill_schema(text, size, NULL);
    free(text);
    sw_skill_is(info, "folder", "word");
    json_array_foreach(actions, i, each)
        try_action(info, json_string_value(each));
    return 0;
}
