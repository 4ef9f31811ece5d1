/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_diagnose.c - any bytes as facts, user rules and log of a failed job: there is always one
 * whole verdict, of a known class, with evidence that is short and harmless, and one headline that fits the
 * message of an observation.
 *
 * The input is FACTS, a NUL, RULES, a NUL, LOG; what is missing is empty.
 */
#include <string.h>

#include "fuzz.h"
#include "core/observation.h"
#include "diagnose/diagnose.h"

static char *take_text(const uint8_t **data, size_t *size)
{
    const uint8_t *end = memchr(*data, 0, *size);
    size_t length = end ? (size_t)(end - *data) : *size;
    char *text = sw_strndup((const char *)*data, length);

    *data += length + (end != NULL);
    *size -= length + (end != NULL);
    return text;
}

static void claim_whole(const json_t *verdict)
{
    const char *err_class = sw_json_str(verdict, "err_class"), *text;
    const json_t *lines = json_object_get(verdict, "evidence");

    CLAIM(err_class && (!strcmp(err_class, "ERR_PROGRAM") || !strcmp(err_class, "ERR_INFRA")));
    CLAIM(sw_json_str(verdict, "cause") && sw_json_str(verdict, "rule"));
    CLAIM(sw_json_str(verdict, "suggestion")[0]);
    CLAIM(json_array_size(lines) < 32);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        text = json_string_value(json_array_get(lines, i));
        CLAIM(text && strlen(text) <= 300 && !strchr(text, '\033') && !strchr(text, '\n'));
    }
}

static void claim_headline(const struct sw_evidence *evidence, const json_t *verdict)
{
    bool from_log;
    sw_autofree char *said = sw_diagnose_headline(evidence, verdict, &from_log);

    CLAIM(said && *said && strlen(said) < sizeof evidence->message);
    CLAIM(!strchr(said, '\033') && !strchr(said, '\n') && !strchr(said, '\t'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = 1,
                                    .failed_replica = -1 };
    sw_autofree char *facts = take_text(&data, &size), *rules = take_text(&data, &size);
    sw_auto(json) json_t *user_rules = json_loads(rules, 0, NULL);
    sw_auto(json) json_t *verdict = NULL;
    struct sw_error err = { 0 };

    evidence.facts = json_loads(facts, 0, NULL);
    evidence.log_tail = take_text(&data, &size);
    CLAIM((sw_rules_check(user_rules, &err) == 0) == (err.code == SW_OK));
    verdict = sw_diagnose_with(&evidence, user_rules);
    claim_whole(verdict);
    claim_headline(&evidence, verdict);
    sw_evidence_done(&evidence);
    return 0;
}
