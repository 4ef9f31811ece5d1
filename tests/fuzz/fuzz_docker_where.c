/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker_where.c - any text as an engine's address: an address or a reason, what is kept of
 * it reads back the same, and nothing that ssh could take for an option gets through.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "platform/docker/docker_where.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(docker_where) struct docker_where where = { 0 }, again = { 0 };
    struct sw_error err = { 0 };
    int result = docker_where_parse(text, &where, &err);

    CLAIM((result == 0) == (err.code == SW_OK));
    if (result < 0)
        return 0;
    CLAIM(where.text && (where.way == DOCKER_UNIX ? where.socket : where.host));
    CLAIM(where.port >= 0 && where.port <= 65535);
    CLAIM(!where.host || (*where.host != '-' && !strpbrk(where.host, " \n'\"$;")));
    CLAIM(!where.user || (*where.user != '-' && !strpbrk(where.user, " \n'\"$;:")));
    CLAIM(!where.remote_socket || !strpbrk(where.remote_socket, " \n'\"$;`"));
    CLAIM(docker_where_parse(where.text, &again, NULL) == 0);
    CLAIM(again.way == where.way && again.port == where.port);
    CLAIM(sw_text_same(again.host, where.host) && sw_text_same(again.socket, where.socket));
    return 0;
}
