/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_credential.c - who makes a call: a token that is kept until the server refuses it, or what
 * options.authorize says each time.
 *
 * Several threads may get a 401 for one and the same credential. It is renewed once: a 401 counts only
 * when it is about the generation that is in use.
 */
#include "platform/kit/rest_internal.h"

static int take_token(struct sw_rest *rest, struct sw_buf *value, struct sw_error *err)
{
    if (!rest->token) {
        rest->token = rest->options.token(rest->options.token_context, rest->token_refused, err);
        rest->generation++;
    }
    if (!rest->token)
        return -1;
    sw_buf_add(value, "Bearer ");
    sw_buf_add(value, sw_secret_reveal(rest->token));
    return 0;
}

static int take_credential(struct sw_rest *rest, struct sw_rest_credential *out, struct sw_error *err)
{
    if (!rest->options.authorize)
        return rest->options.token ? take_token(rest, &out->authorization, err) : 0;
    rest->generation += rest->token_refused;
    return rest->options.authorize(rest->options.authorize_context, rest->token_refused, out, err);
}

int rest_credential(struct sw_rest *rest, struct rest_credential *out, struct sw_error *err)
{
    int result;

    if (rest->beside)
        return rest_credential(rest->beside, out, err);
    pthread_mutex_lock(&rest->lock);
    result = take_credential(rest, &out->is, err);
    if (result == 0)
        rest->token_refused = false;
    out->generation = rest->generation;
    pthread_mutex_unlock(&rest->lock);
    return result;
}

void rest_credential_refused(struct sw_rest *rest, unsigned generation)
{
    if (rest->beside)
        rest = rest->beside;
    pthread_mutex_lock(&rest->lock);
    if (generation == rest->generation) {
        sw_secret_free(sw_take(rest->token));
        rest->token_refused = true;
    }
    pthread_mutex_unlock(&rest->lock);
}

void rest_credential_done(struct rest_credential *credential)
{
    sw_buf_wipe(&credential->is.authorization);
    sw_rest_certificate_free(credential->is.certificate);
}
