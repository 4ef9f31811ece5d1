/* SPDX-License-Identifier: Apache-2.0 */
/*
 * models.c - what a skill bank of this machine has: its models, and the image of one action. Nothing is asked
 * over the network.
 */
#include "api/api_internal.h"

#include "base/text.h"
#include "spec/bank.h"

static struct sw_bank *open_bank(struct sw_session *session, struct sw_error *err)
{
    if (api_need(session, err) < 0 || !api_profiles(session, err))    /* ~/.config/tao/.env may name it */
        return NULL;
    return sw_bank_open(api_env, session, false, err);
}

static void keep_automl(json_t *rows)
{
    for (size_t i = json_array_size(rows); i-- > 0;)
        if (!sw_json_bool(json_array_get(rows, i), "automl", false))
            json_array_remove(rows, i);
}

char *sw_models(struct sw_session *session, bool automl, struct sw_error *err)
{
    sw_auto(sw_bank) struct sw_bank *bank = open_bank(session, err);
    json_t *rows = bank ? sw_bank_models(bank, err) : NULL;

    if (!rows)
        return NULL;
    if (automl)
        keep_automl(rows);
    return api_document("models", sw_json_object(SW_STR("bank", sw_bank_folder(bank)), SW_SUB("models",
            rows)));
}

char *sw_image_resolve(struct sw_session *session, const char *model, const char *action,
                       struct sw_error *err)
{
    sw_auto(sw_bank) struct sw_bank *bank = NULL;
    sw_auto(json) json_t *found = NULL;

    if (sw_text_empty(model) || sw_text_empty(action))
        return sw_null(sw_fail(err, SW_E_USAGE, "a model and an action are needed"));
    bank = open_bank(session, err);
    found = bank ? sw_bank_action(bank, model, action, err) : NULL;
    if (!found)
        return NULL;
    if (!sw_json_str(found, "image")) {
        bool several = json_array_size(json_object_get(found, "images_of")) > 0;

        sw_fail(err, SW_E_NOT_FOUND, "%s: no image for action '%s'%s", sw_json_str(found, "file"), action,
                several ? ": the model has several backends, each with its own" : "");
        return sw_null(sw_hint(err, "give `image` in the job file"));
    }
    return api_document("image", sw_json_object(
        SW_STR("model", sw_json_str(found, "model")), SW_STR("network_arch", sw_json_str(found,
                "network_arch")),
        SW_STR("action", action), SW_STR("image", sw_json_str(found, "image")),
        SW_STR("from", sw_json_str(found, "image_from")), SW_STR("command", sw_json_str(found, "command")),
        SW_STR("file", sw_json_str(found, "file"))));
}
