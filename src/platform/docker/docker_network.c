/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_network.c - the network of our containers: made when it is missing, removed with the last of them.
 *
 * An engine lets two clients make two networks of one name at the same moment, and then takes the name
 * for neither. No container can be in the younger ones, since only names are used to join; so a client that
 * finds them removes all but the oldest.
 */
#include "platform/docker/docker_job.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { SETTLE_PAUSE_MS = 50 };

int docker_network_make(struct docker_api *api, const char *name, struct sw_error *err)
{
    sw_auto(json) json_t *body = docker_render_network(name);
    struct sw_error why = { 0 };

    if (docker_ask(api, &(struct sw_rest_call){ .method = "POST", .path = "/networks/create",
                                                .json = body }, NULL, &why) == 0 ||
        why.code == SW_E_CONFLICT)               /* another client was faster */
        return 0;
    if (err)
        *err = why;
    return sw_wrap(err, "cannot make the network '%s'", name);
}

/* Older: made before, or at the same time with the smaller id; every client says the same of two. */
static bool is_older(const json_t *one, const json_t *other)
{
    const char *made = sw_json_str(one, "Created"), *made_other = sw_json_str(other, "Created");
    const char *id = sw_json_str(one, "Id"), *id_other = sw_json_str(other, "Id");
    int order = made && made_other ? strcmp(made, made_other) : 0;

    return order < 0 || (order == 0 && id && id_other && strcmp(id, id_other) < 0);
}

static bool is_ours(const json_t *network, const char *name)
{
    return sw_text_same(sw_json_str(network, "Name"), name) &&
           docker_label(network, "slipway.network") && sw_json_str(network, "Id");
}

void docker_network_settle(struct docker_api *api, const char *name)
{
    sw_auto(json) json_t *all = docker_get_list(
        api, docker_filtered("/networks", json_pack("{s:[s]}", "name", name)), NULL);
    const json_t *oldest = NULL;
    json_t *network;
    size_t i;

    if (!all)
        return;
    json_array_foreach(all, i, network)
        if (is_ours(network, name) && (!oldest || is_older(network, oldest)))
            oldest = network;
    json_array_foreach(all, i, network)
        if (is_ours(network, name) && network != oldest)
            docker_forget(api, sw_rest_path("/networks/%s", sw_json_str(network, "Id")), NULL);
    sw_sleep_ms(SETTLE_PAUSE_MS);                /* another client may be about to make one more */
}

void docker_network_drop(struct docker_api *api, const char *name)
{
    sw_auto(json) json_t *network = docker_get(api, sw_rest_path("/networks/%s", name), NULL);

    if (docker_label(network, "slipway.network") &&
        json_object_size(json_object_get(network, "Containers")) == 0)
        docker_forget(api, sw_rest_path("/networks/%s", name), NULL);
}
