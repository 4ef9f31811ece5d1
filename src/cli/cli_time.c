/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_time.c - points in time as people write them: "10m" ago, or "2026-05-21T22:50".
 *
 * A time without a zone is in the zone of the times that are printed (cli_zone.c): a copied time finds the
 * line it came from, whatever the zone of the machine.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_flags.h"
#include "cli/cli_zone.h"

/* "Z", " UTC", "+02:00" or nothing, to the end of the text. */
static bool read_zone(const char *text, int64_t *offset_ms)
{
    int hours, minutes, used = 0;
    char sign;

    *offset_ms = 0;
    if (!*text || strcmp(text, "Z") == 0 || strcmp(text, "z") == 0 || strcmp(text, " UTC") == 0)
        return true;
    if (sscanf(text, "%c%2d:%2d%n", &sign, &hours, &minutes, &used) != 3 || text[used] ||
        (sign != '+' && sign != '-') || hours > 23 || minutes > 59)
        return false;
    *offset_ms = (sign == '-' ? -1 : 1) * (hours * 60LL + minutes) * 60000;
    return true;
}

/* ".123456": milliseconds, further digits are dropped. */
static const char *read_fraction(const char *text, int64_t *ms)
{
    int64_t unit = 100;

    *ms = 0;
    if (*text != '.')
        return text;
    for (text++; isdigit((unsigned char)*text); text++, unit /= 10)
        *ms += (*text - '0') * unit;
    return text;
}

bool cli_time_read(const char *text, int64_t *at_ms)
{
    static const char *const forms[] = {
        "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d",
    };

    for (size_t i = 0; i < SW_COUNT(forms); i++) {
        struct tm parts = { .tm_mday = 1 };
        const char *rest = strptime(text, forms[i], &parts);
        int64_t ms, offset_ms, shown_ms;

        rest = rest ? read_fraction(rest, &ms) : NULL;
        if (!rest || !read_zone(rest, &offset_ms))
            continue;
        shown_ms = (int64_t)timegm(&parts) * 1000 + ms;
        *at_ms = *rest ? shown_ms - offset_ms : cli_zone_to_utc(shown_ms);
        return *at_ms > 0;
    }
    return false;
}

int64_t cli_time_ms(const char *text)
{
    int64_t at_ms;

    return text && cli_time_read(text, &at_ms) ? at_ms : 0;
}

int cli_apply_since(void *field, const struct cli_flag *flag, const char *value,
                    struct sw_error *err)
{
    int64_t now_ms = sw_now_ms(), ago_ms;

    if (sw_duration_parse(value, &ago_ms, NULL) == 0) {
        *(int64_t *)field = ago_ms < now_ms ? now_ms - ago_ms : 1;
        return 0;
    }
    if (cli_time_read(value, field))
        return 0;
    sw_fail(err, SW_E_USAGE, "--%s: '%s' is neither a duration nor a time", flag->name, value);
    return sw_hint(err, "write 10m, 2h, 2026-05-21 or 2026-05-21T22:50:54Z");
}
