/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.c - see finding.h.
 */
#include "core/finding.h"

#include "base/text.h"
#include "base/units.h"

/* Most servers say whole seconds, and an answer takes its time. */
enum { CLOCKS_AGREE_MS = 2 * 1000, CLOCKS_APART_MS = 5 * 60 * 1000 };

static void add(json_t *rows, const char *check, json_t *ok, const char *state, const char *message,
                const char *fix)
{
    json_array_append_new(rows, sw_json_object(
        SW_STR("check", check), SW_SUB("ok", ok), SW_STR("message", message),
        SW_STR_OPT("fix", json_is_true(ok) || sw_text_empty(fix) ? NULL : fix), SW_STR("state", state)));
}

void sw_finding(json_t *rows, const char *check, bool ok, const char *message, const char *fix)
{
    add(rows, check, json_boolean(ok), ok ? "ok" : "failed", message, fix);
}

bool sw_finding_error(json_t *rows, const char *check, const struct sw_error *why)
{
    sw_finding(rows, check, false, why->message, why->hint);
    return false;
}

void sw_finding_open(json_t *rows, const char *check, const char *state, const char *message, const char *fix)
{
    add(rows, check, json_null(), state, message, fix);
}

void sw_finding_clock(json_t *rows, const char *whose, int64_t theirs_ms, int64_t ours_ms)
{
    int64_t apart_ms = theirs_ms > ours_ms ? theirs_ms - ours_ms : ours_ms - theirs_ms;
    bool good = apart_ms < CLOCKS_APART_MS;
    sw_autofree char *message = NULL;
    char apart[32];

    sw_duration_format(apart_ms / 1000 * 1000, apart);
    message = apart_ms <= CLOCKS_AGREE_MS ? sw_format("%s and this machine agree", whose)
                              : sw_format("%s is %s %s this machine", whose, apart,
                                          theirs_ms > ours_ms ? "ahead of" : "behind");
    sw_finding(rows, "clock", good, message,
               "set both by a time server (chrony, systemd-timesyncd): certificates, tokens and signatures "
               "depend on it");
}

const char *sw_finding_state(const json_t *row)
{
    const json_t *ok = json_object_get(row, "ok");
    const char *said = sw_json_str(row, "state");

    return json_is_true(ok) ? "ok" : json_is_null(ok) ? (said ? said : SW_STATE_NOT_SET_UP) : "failed";
}
