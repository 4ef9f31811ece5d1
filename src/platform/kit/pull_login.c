/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_login.c - see pull_login.h.
 */
#include "platform/kit/pull_login.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/image_ref.h"

void sw_pull_login_done(struct sw_pull_login *pull)
{
    sw_registry_login_done(&pull->login);
    free(pull->registry);
}

static void warn(const struct sw_connect_options *given, const struct sw_pull_login *pull)
{
    sw_autofree char *text = pull->login.trouble
        ? sw_format("%s; the image is pulled without a login", pull->login.trouble)
        : sw_format("the login of %s is an identity token, which cannot be used there; the image is pulled "
                    "without it", pull->registry);

    if (given->warn)
        given->warn(given->warn_context, text);
}

int sw_pull_login_find(const struct sw_connect_options *given, const char *image, bool tokens,
                       struct sw_pull_login *out, struct sw_error *err)
{
    sw_auto(sw_image_ref) struct sw_image_ref ref = { 0 };
    struct sw_buf config = SW_BUF_INIT;

    if (sw_image_ref_parse(image, &ref, err) < 0)
        return -1;
    if (!ref.registry)
        return 0;
    out->registry = sw_strdup(ref.registry);
    sw_registry_login_find(&(struct sw_registry_query){ .registry = out->registry, .env = given->env,
                                                        .env_context = given->env_context }, &out->login);
    if (out->login.trouble || (out->login.secret && out->login.is_token && !tokens))
        warn(given, out);
    if (out->login.is_token && !tokens) {
        sw_secret_free(out->login.secret);
        out->login.secret = NULL;
    }
    if (!out->login.secret)
        return 0;
    sw_registry_docker_config(&out->login, out->registry, &config);
    sw_sha256_hex(config.data, config.length, out->hash);
    sw_buf_wipe(&config);
    return 0;
}
