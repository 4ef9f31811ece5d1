/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.c - durations and sizes, in and out.
 *
 * Numbers are read as a whole part and a fraction of at most nine digits, in integers: 0.1
 * seconds is exactly 100 ms and 8EiB is refused instead of rounded. Sizes follow Kubernetes:
 * K, M, G are powers of 1000 and Ki, Mi, Gi of 1024, with or without a B; a small k is accepted
 * as people write it. Months and years are no units, since their length varies.
 *
 * Pure: no I/O, no locale.
 */
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit durations[] = {
    { "w", 604800000 }, { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 },
    { "ms", 1 },
    { "weeks", 604800000 }, { "week", 604800000 }, { "days", 86400000 }, { "day", 86400000 },
    { "hours", 3600000 }, { "hour", 3600000 }, { "hr", 3600000 }, { "hrs", 3600000 },
    { "minutes", 60000 }, { "minute", 60000 }, { "min", 60000 }, { "mins", 60000 },
    { "seconds", 1000 }, { "second", 1000 }, { "sec", 1000 }, { "secs", 1000 },
};

enum { K = 1000, KI = 1024 };

static const struct unit sizes[] = {
    { "B", 1 },
    { "KiB", KI }, { "MiB", (int64_t)KI * KI }, { "GiB", (int64_t)KI * KI * KI },
    { "TiB", (int64_t)KI * KI * KI * KI }, { "PiB", (int64_t)KI * KI * KI * KI * KI },
    { "Ki", KI }, { "Mi", (int64_t)KI * KI }, { "Gi", (int64_t)KI * KI * KI },
    { "Ti", (int64_t)KI * KI * KI * KI }, { "Pi", (int64_t)KI * KI * KI * KI * KI },
    { "KB", K }, { "MB", (int64_t)K * K }, { "GB", (int64_t)K * K * K },
    { "TB", (int64_t)K * K * K * K }, { "PB", (int64_t)K * K * K * K * K },
    { "K", K }, { "M", (int64_t)K * K }, { "G", (int64_t)K * K * K },
    { "T", (int64_t)K * K * K * K }, { "P", (int64_t)K * K * K * K * K },
};

enum { FRACTION_ONE = 1000000000 };    /* nine digits after the point */

struct amount {
    int64_t whole, fraction;           /* fraction in billionths */
};

/* "12", "1.5", ".5": the digits at `*at`, which moves behind them. */
static int read_amount(const char **at, struct amount *out)
{
    const char *start = *at;
    int64_t scale = FRACTION_ONE;

    *out = (struct amount){ 0, 0 };
    for (; isdigit((unsigned char)**at); (*at)++)
        if (__builtin_mul_overflow(out->whole, 10, &out->whole) ||
            __builtin_add_overflow(out->whole, **at - '0', &out->whole))
            out->whole = INT64_MAX;    /* stays out of range whatever the unit is */
    if (**at == '.' && isdigit((unsigned char)(*at)[1]))
        for ((*at)++; isdigit((unsigned char)**at); (*at)++)
            if (scale > 1)
                out->fraction += (**at - '0') * (scale /= 10);
    return *at == start ? -1 : 0;
}

static const struct unit *find_unit(const struct unit *units, size_t count, const char *word,
                                    size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(units[i].name) == length && strncasecmp(units[i].name, word, length) == 0)
            return &units[i];
    return NULL;
}

static bool add_amount(struct amount amount, int64_t factor, int64_t *sum)
{
    int64_t product, part;

    if (amount.whole == INT64_MAX || __builtin_mul_overflow(amount.whole, factor, &product))
        return false;
    /* In two steps: nearly a billion times the largest unit would not fit into 64 bits. */
    part = factor / FRACTION_ONE * amount.fraction +
           factor % FRACTION_ONE * amount.fraction / FRACTION_ONE;
    return !__builtin_add_overflow(product, part, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t");
}

struct grammar {
    const struct unit *units;
    size_t count;
    int64_t bare_factor;          /* a number without a unit */
    bool repeats;                 /* "1h30m" */
    const char *noun, *hint;
};

static int not_one(const struct grammar *g, const char *text, struct sw_error *err)
{
    sw_fail(err, SW_E_SPEC, "'%s' is not a %s", text, g->noun);
    return sw_hint(err, "%s", g->hint);
}

static int read_quantity(const struct grammar *g, const char *text, int64_t *out,
                         struct sw_error *err)
{
    const char *at = skip_space(text);
    int64_t sum = 0;

    for (int part = 0; part == 0 || *at; part++) {
        struct amount amount;
        size_t letters;
        const struct unit *unit;
        int64_t factor = g->bare_factor;

        if ((part > 0 && !g->repeats) || read_amount(&at, &amount) < 0)
            return not_one(g, text, err);
        at = skip_space(at);
        letters = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        unit = find_unit(g->units, g->count, at, letters);
        if (unit)
            factor = unit->factor;
        else if (letters > 0 || part > 0)      /* "1h30": thirty of what? */
            return not_one(g, text, err);
        if (!add_amount(amount, factor, &sum))
            return sw_fail(err, SW_E_SPEC, "the %s '%s' is too large", g->noun, text), SW_TOO_LARGE;
        at = skip_space(at + letters);
    }
    *out = sum;
    return 0;
}

int sw_duration_parse(const char *text, int64_t *ms, struct sw_error *err)
{
    static const struct grammar grammar = {
        durations, SW_COUNT(durations), 1000, true, "duration",
        "write it like 90s, 30m, 12h, 2d or 1h30m; a bare number is seconds",
    };

    return read_quantity(&grammar, text, ms, err);
}

int sw_duration_range_parse(const char *text, int64_t *low_ms, int64_t *high_ms, struct sw_error *err)
{
    const char *dots = strstr(text, "..");
    sw_autofree char *low = dots ? sw_strndup(text, (size_t)(dots - text)) : sw_strdup(text);
    int64_t least = 0, most = 0;

    if (sw_duration_parse(low, &least, err) < 0 || sw_duration_parse(dots ? dots + 2 : low, &most, err) < 0)
        return -1;
    if (least > most)
        return sw_fail(err, SW_E_SPEC, "'%s' ends before it begins", text);
    *low_ms = least;
    *high_ms = most;
    return 0;
}

int sw_size_parse(const char *text, int64_t *bytes, struct sw_error *err)
{
    static const struct grammar grammar = {
        sizes, SW_COUNT(sizes), 1, false, "size",
        "write it like 512GiB (1024 each), 8GB (1000 each) or 500Mi; a bare number is bytes",
    };

    return read_quantity(&grammar, text, bytes, err);
}

void sw_duration_format(int64_t ms, char out[32])
{
    static const struct unit shown[] = {
        { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
    };
    size_t used = 0;

    snprintf(out, 32, "0s");
    for (size_t i = 0; i < SW_COUNT(shown) && ms > 0; i++) {
        if (ms >= shown[i].factor)
            used += (size_t)snprintf(out + used, 32 - used, "%" PRId64 "%s", ms / shown[i].factor,
                                     shown[i].name);
        ms %= shown[i].factor;
    }
}

void sw_size_format(int64_t bytes, char out[32])
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    int64_t one = 1;
    int tenths = 0;
    size_t i = 0;

    while (i + 1 < SW_COUNT(names) && bytes / one >= KI) {
        one *= KI;
        i++;
    }
    if (i > 0)                     /* in 1024ths first: ten times the rest may not fit */
        tenths = (int)(bytes % one / (one / KI) * 10 / KI);
    if (tenths == 0)
        snprintf(out, 32, "%" PRId64 " %s", bytes / one, names[i]);
    else
        snprintf(out, 32, "%" PRId64 ".%c %s", bytes / one, '0' + tenths, names[i]);
}
