/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_brev_words.c - any bytes as what the brev program prints: instances with proper names, types that are
 * one word of a command line, or a reason and nothing.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/brev/brev_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    struct sw_error err = { 0 };
    sw_auto(json) json_t *list = brev_read_instances((const char *)data, size, &err);
    sw_auto(json) json_t *types = brev_read_types((const char *)data, size, NULL);
    sw_auto(json) json_t *names = brev_choose_types(types, NULL, 1);
    sw_auto(json) json_t *organization = brev_read_organization((const char *)data, size, NULL);
    sw_autofree char *alias = brev_ssh_alias(text, "one");
    struct brev_mark mark;
    const json_t *each;
    size_t i;

    CLAIM((list == NULL) == (err.code != SW_OK));
    CLAIM(!organization || json_is_object(organization) || json_is_string(organization));
    CLAIM(!alias || *alias);
    json_array_foreach(list, i, each) {
        CLAIM(brev_name_valid(sw_json_str(each, "name")) && brev_name_valid(sw_json_str(each, "id")));
        brev_use(each, NULL);
        brev_name_read(sw_json_str(each, "name"), &mark);
    }
    json_array_foreach(names, i, each)
        CLAIM(!strpbrk(json_string_value(each), ", \n") && *json_string_value(each) != '-');
    CLAIM(brev_read_version(text) >= -1);
    if (brev_name_read(text, &mark))
        CLAIM(sw_id_valid(mark.job));
    return 0;
}
