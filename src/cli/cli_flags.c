/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_flags.c - the flag parser behind cli_flags.h.
 *
 * A value is always taken as it is, even when it begins with a dash ("--tail -1"): guessing
 * would make "--name -x" mean something else than it says.
 */
#include "cli/cli_flags.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"

int cli_apply_bool(void *field, const struct cli_flag *flag, const char *value,
                   struct sw_error *err)
{
    (void)flag, (void)value, (void)err;
    *(bool *)field = true;
    return 0;
}

int cli_apply_text(void *field, const struct cli_flag *flag, const char *value,
                   struct sw_error *err)
{
    (void)flag, (void)err;
    *(const char **)field = value;
    return 0;
}

int cli_apply_int64(void *field, const struct cli_flag *flag, const char *value,
                    struct sw_error *err)
{
    char *end = NULL;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (errno || end == value || *end || number < 0)
        return sw_fail(err, SW_E_USAGE, "--%s: '%s' is not a non-negative integer", flag->name,
                       value);
    *(int64_t *)field = number;
    return 0;
}

int cli_apply_duration(void *field, const struct cli_flag *flag, const char *value,
                       struct sw_error *err)
{
    int64_t ms;

    if (sw_duration_parse(value, &ms, err) < 0) {
        if (err)
            err->code = SW_E_USAGE;
        return sw_wrap(err, "--%s", flag->name);
    }
    *(int64_t *)field = ms;
    return 0;
}

int cli_apply_choice(void *field, const struct cli_flag *flag, const char *value,
                     struct sw_error *err)
{
    size_t length = strlen(value);
    int index = 0;

    for (const char *word = flag->arg; word; index++) {
        const char *bar = strchr(word, '|');
        size_t word_length = bar ? (size_t)(bar - word) : strlen(word);

        if (word_length == length && memcmp(word, value, length) == 0) {
            *(int *)field = index;
            return 0;
        }
        word = bar ? bar + 1 : NULL;
    }
    return sw_fail(err, SW_E_USAGE, "--%s: '%s' is not one of %s", flag->name, value, flag->arg);
}

void cli_args_done(struct cli_args *args)
{
    free(args->given);
    free(args->words);
    *args = (struct cli_args){ 0 };
}

const char *cli_given_value(const struct cli_args *args, const char *name)
{
    for (size_t i = args->given_count; i-- > 0;)
        if (strcmp(args->given[i].flag->name, name) == 0)
            return args->given[i].value;
    return NULL;
}

const char **cli_given_values(const struct cli_args *args, const char *name, size_t *count)
{
    const char **values = sw_alloc((args->given_count + 1) * sizeof *values);

    *count = 0;
    for (size_t i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].flag->name, name) == 0)
            values[(*count)++] = args->given[i].value;
    return values;
}

/* One parse in progress. */
struct parse {
    const struct cli_flag_set *sets;
    size_t set_count;
    int argc, next;
    const char *const *argv;
    struct cli_args *args;
    struct sw_error *err;
};

struct match {
    const struct cli_flag *flag;     /* NULL: nothing matches */
    void *target;
};

static struct match find_long(const struct parse *p, const char *name, size_t length)
{
    for (size_t s = 0; s < p->set_count; s++)
        for (const struct cli_flag *f = p->sets[s].flags; f && f->name; f++)
            if ((strlen(f->name) == length && memcmp(f->name, name, length) == 0) ||
                (f->also && strlen(f->also) == length && memcmp(f->also, name, length) == 0))
                return (struct match){ f, p->sets[s].target };
    return (struct match){ NULL, NULL };
}

static struct match find_short(const struct parse *p, char letter)
{
    for (size_t s = 0; s < p->set_count; s++)
        for (const struct cli_flag *f = p->sets[s].flags; f && f->name; f++)
            if (f->letter == letter)
                return (struct match){ f, p->sets[s].target };
    return (struct match){ NULL, NULL };
}

static int unknown_long(const struct parse *p, const char *name, size_t length)
{
    sw_autofree char *word = sw_strndup(name, length);
    const char *names[128];
    size_t count = 0;
    const char *nearest;

    for (size_t s = 0; s < p->set_count; s++)
        for (const struct cli_flag *f = p->sets[s].flags; f && f->name; f++)
            if (f->help && count < SW_COUNT(names))
                names[count++] = f->name;
    sw_fail(p->err, SW_E_USAGE, "unknown flag --%s", word);
    nearest = sw_text_nearest(word, names, count);
    return nearest ? sw_hint(p->err, "did you mean --%s?", nearest) : -1;
}

/* The last of two values would win without a word, and the first was meant as well. */
static int check_once(const struct parse *p, const struct cli_flag *flag, const char *value)
{
    const char *before;

    if (!flag->arg || flag->many)
        return 0;
    before = cli_given_value(p->args, flag->name);
    return before ? sw_fail(p->err, SW_E_USAGE, "--%s is given twice: '%s' and '%s'", flag->name,
                            before, value) : 0;
}

static int apply(struct parse *p, struct match match, const char *value)
{
    struct cli_args *args = p->args;

    if (check_once(p, match.flag, value) < 0)
        return -1;
    args->given = sw_realloc_array(args->given, args->given_count + 1, sizeof *args->given);
    args->given[args->given_count++] = (struct cli_given){ match.flag, value };
    if (!match.flag->apply)
        return 0;
    return match.flag->apply((char *)match.target + match.flag->at, match.flag, value, p->err);
}

static int need_value(struct parse *p, const struct cli_flag *flag, const char **value)
{
    if (p->next >= p->argc)
        return sw_fail(p->err, SW_E_USAGE, "--%s needs a value: --%s %s", flag->name, flag->name,
                       flag->arg);
    *value = p->argv[p->next++];
    return 0;
}

static int parse_long(struct parse *p, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    struct match match = find_long(p, text, length);
    const char *value = equals ? equals + 1 : NULL;

    if (!match.flag)
        return unknown_long(p, text, length);
    if (!match.flag->arg && value)
        return sw_fail(p->err, SW_E_USAGE, "--%s takes no value", match.flag->name);
    if (match.flag->arg && !value && need_value(p, match.flag, &value) < 0)
        return -1;
    return apply(p, match, value);
}

static int parse_short(struct parse *p, const char *letters)
{
    for (; *letters; letters++) {
        struct match match = find_short(p, *letters);
        const char *value = NULL;

        if (!match.flag)
            return sw_fail(p->err, SW_E_USAGE, "unknown flag -%c", *letters);
        if (match.flag->arg) {
            value = letters[1] == '=' ? letters + 2 : letters + 1;
            if (!*value && letters[1] != '=' && need_value(p, match.flag, &value) < 0)
                return -1;
            return apply(p, match, value);
        }
        if (apply(p, match, NULL) < 0)
            return -1;
    }
    return 0;
}

static void add_word(struct cli_args *args, const char *word)
{
    args->words = sw_realloc_array(args->words, args->word_count + 1, sizeof *args->words);
    args->words[args->word_count++] = word;
}

int cli_flags_parse(const struct cli_flag_set *sets, size_t set_count, int argc,
                    const char *const *argv, bool first_word_ends, struct cli_args *args,
                    struct sw_error *err)
{
    struct parse p = { sets, set_count, argc, 0, argv, args, err };

    while (p.next < argc) {
        const char *text = argv[p.next];
        int rc = 0;

        if (text[0] != '-' || !text[1]) {           /* "-" alone is an argument: stdin */
            if (first_word_ends)
                break;
            p.next++;
            add_word(args, text);
            continue;
        }
        p.next++;
        if (strcmp(text, "--") == 0) {
            args->rest = argv + p.next;
            args->rest_count = (size_t)(argc - p.next);
            p.next = argc;
            break;
        }
        rc = text[1] == '-' ? parse_long(&p, text + 2) : parse_short(&p, text + 1);
        if (rc < 0)
            return -1;
    }
    return p.next;
}
