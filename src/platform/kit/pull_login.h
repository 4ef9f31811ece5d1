/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_login.h - the login that a place needs to pull a job's image, as this machine has it, and what to call
 * it there: a name with a hash of its content is the same login, and a changed key has another name.
 */
#ifndef SW_PLATFORM_KIT_PULL_LOGIN_H
#define SW_PLATFORM_KIT_PULL_LOGIN_H

#include "base/digest.h"
#include "core/registry_login.h"
#include "platform/platform.h"

struct sw_pull_login {
    struct sw_registry_login login;      /* login.secret NULL: none is needed, or none can be used */
    char *registry;                      /* as struct sw_image_ref has it */
    char hash[SW_DIGEST_HEX];            /* of both */
};
void sw_pull_login_done(struct sw_pull_login *pull);
static inline void sw_pull_login_auto(struct sw_pull_login *pull) { sw_pull_login_done(pull); }

/* `tokens`: identity tokens can be used there, too. Of a login that cannot be used the user is warned. */
int sw_pull_login_find(const struct sw_connect_options *given, const char *image, bool tokens,
                       struct sw_pull_login *out, struct sw_error *err);

#endif
