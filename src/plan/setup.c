/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.c - `setup:` as words before the job's command, the same on every platform.
 *
 * The runner starts a command behind the words of payload->entrypoint. With a setup these are a shell with
 * a text of ours (setup.sh) that runs the setup and then becomes what is behind it, so no platform and no
 * runner has to know about it. A platform only says where there is room to keep something.
 *
 * Pure.
 */
#include "plan/setup.h"

#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "plan/mounts.h"

enum { SETUP_MAX = 64 * 1024 };                   /* a word that a program gets has at most 128 KiB */

/* The words, in this order; those of the command follow. */
enum { AT_NAME = 3, AT_TEXT, AT_HASH, AT_OWN, AT_CACHE, AT_FRESH };
#define SETUP_NAME "slipway-setup"

static const char *const script[] = {
#include "plan/setup.sh.inc"
    NULL
};

/* Owned. */
static char *text_of(const struct sw_plan *plan)
{
    return sw_json_joined(plan->setup, "\n");
}

int sw_setup_check(const struct sw_plan *plan, struct sw_error *err)
{
    sw_autofree char *text = text_of(plan), *where = sw_plan_where(plan, "setup");

    if (strlen(text) <= SETUP_MAX)
        return 0;
    sw_fail(err, SW_E_SPEC, "%ssetup: %zu KiB are too long, at most %d", where, strlen(text) / 1024,
            SETUP_MAX / 1024);
    return sw_hint(err, "put it into a file that travels with the job ('code:') and run that");
}

static void set_word(struct sw_payload *payload, size_t at, const char *text)
{
    json_array_set_new(payload->entrypoint, at, sw_json_text(text ? text : ""));
}

/* Text and image: what else decides about the result is found where it runs. */
static void set_hash(struct sw_payload *payload, const struct sw_plan *plan, const char *text)
{
    sw_autofree char *whole = sw_format("%s\n%s", plan->image ? plan->image : "", text);
    char hash[SW_DIGEST_HEX];

    sw_sha256_hex(whole, strlen(whole), hash);
    hash[16] = '\0';
    set_word(payload, AT_HASH, hash);
}

void sw_setup_add(struct sw_payload *payload, const struct sw_plan *plan)
{
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    sw_autofree char *text = text_of(plan), *cache = NULL;

    if (!*text)
        return;
    sw_text_once(&all);
    for (const char *const *line = script; *line; line++)
        sw_buf_add(&all, *line);
    cache = plan->cache ? sw_format("%s/.slipway-setup", plan->cache) : NULL;
    payload->entrypoint = json_pack("[s, s, o, s, o, s, s, s, s]", "/bin/sh", "-c",
                                    sw_json_text(sw_buf_text(&all)), SETUP_NAME, sw_json_text(text), "", "",
                                    "", "");
    set_hash(payload, plan, text);
    sw_setup_place(payload, &(struct sw_setup_place){ .cache = cache, .fresh = true });
}

const char *sw_setup_text(const struct sw_payload *payload)
{
    const json_t *words = payload->entrypoint;

    return sw_text_same(json_string_value(json_array_get(words, AT_NAME)), SETUP_NAME)
               ? json_string_value(json_array_get(words, AT_TEXT)) : NULL;
}

void sw_setup_place(struct sw_payload *payload, const struct sw_setup_place *place)
{
    if (!sw_setup_text(payload))
        return;
    set_word(payload, AT_OWN, place->own);
    set_word(payload, AT_CACHE, place->cache);
    set_word(payload, AT_FRESH, place->fresh ? "fresh" : NULL);
}

void sw_setup_then(struct sw_payload *payload, const json_t *words)
{
    if (!payload->entrypoint)
        payload->entrypoint = json_array();
    json_array_extend(payload->entrypoint, (json_t *)words);
}
