/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker_endpoint.c - any text as an engine's address: an address or a reason, what is kept of
 * it reads back the same, and nothing that ssh could take for an option gets through.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "platform/docker/docker_endpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 }, again = { 0 };
    struct sw_error err = { 0 };
    int result = docker_endpoint_parse(text, &endpoint, &err);

    CLAIM((result == 0) == (err.code == SW_OK));
    if (result < 0)
        return 0;
    CLAIM(endpoint.text && (endpoint.way == DOCKER_UNIX ? endpoint.socket : endpoint.host));
    CLAIM(endpoint.port >= 0 && endpoint.port <= 65535);
    CLAIM(!endpoint.host || (*endpoint.host != '-' && !strpbrk(endpoint.host, " \n'\"$;")));
    CLAIM(!endpoint.user || (*endpoint.user != '-' && !strpbrk(endpoint.user, " \n'\"$;:")));
    CLAIM(!endpoint.remote_socket || !strpbrk(endpoint.remote_socket, " \n'\"$;`"));
    CLAIM(docker_endpoint_parse(endpoint.text, &again, NULL) == 0);
    CLAIM(again.way == endpoint.way && again.port == endpoint.port);
    CLAIM(sw_text_same(again.host, endpoint.host) && sw_text_same(again.socket, endpoint.socket));
    return 0;
}
