/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.c - the order of the questions, and the verdict as a document.
 *
 * Nothing is decided here but the order (diagnose.h); the answers are tables: rules.c (what the
 * platform states), facts.c (what was seen), user_rules.c and log_rules.c (what the log says).
 *
 * Pure: no I/O.
 */
#include "diagnose/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/observation.h"
#include "diagnose/diagnose_internal.h"

enum {
    LAST_WORDS = 4,          /* lines shown when nothing explains the failure */
    SAME_START = 64,         /* bytes: two lines that begin so say the same */
    SAME_LEAST = 12,         /* bytes: less may be in another line by chance */
};

static const struct sw_ruling unknown = {
    "", SW_CLASS_PROGRAM, "unknown", "unrecognised failure: see the end of the log"
};
static const struct sw_ruling silent = {
    "", SW_CLASS_PROGRAM, "unknown", "the job wrote nothing to its log: run its command by hand, or let it "
                                 "print more"
};

static const struct sw_ruling unreadable = {
    "", SW_CLASS_PROGRAM, "unknown",
    "unrecognised failure, and the job's log is gone: run it again and follow it"
};

void diag_show_line(json_t *lines, const char *text, size_t length)
{
    size_t cut = length < DIAG_LINE_BYTES ? length : DIAG_LINE_BYTES;
    sw_autofree char *clean = sw_text_printable(text, cut);
    size_t clean_length = strlen(clean);

    if (clean_length > DIAG_EVIDENCE_BYTES) {
        size_t keep = DIAG_EVIDENCE_BYTES - 3;

        while (keep > 0 && ((unsigned char)clean[keep] & 0xc0) == 0x80)
            keep--;                                    /* not in the middle of a character */
        strcpy(clean + keep, "...");
    }
    for (char *at = clean; *at; at++) {
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
    }
    json_array_insert_new(lines, 0, sw_json_text(clean));
}

/* ---- the log ------------------------------------------------------------------------------ */

size_t diag_first_of_last(const struct diag_log *log, size_t n)
{
    size_t i = log->count;

    while (i > 0 && n > 0) {
        i--;
        n -= !log->lines[i].noise && !log->lines[i].launcher;
    }
    return i;
}

static bool show_fits(const struct diag_log_rule *rule, const struct diag_log *log, json_t *lines)
{
    size_t from = diag_first_of_last(log, diag_reach_lines(rule->reach)), found = 0;

    for (size_t i = log->count; i-- > from && found < DIAG_EVIDENCE_LINES;) {
        if (!diag_log_rule_fits(rule, &log->lines[i]))
            continue;
        diag_show_line(lines, log->lines[i].text, log->lines[i].length);
        found++;
    }
    return found > 0;
}

bool diag_log_is_silent(const struct diag_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        if (!log->lines[i].launcher)
            return false;
    return true;
}

static const struct sw_ruling *judge_log(const struct diag_log *log, const json_t *facts,
                                           json_t *lines)
{
    bool no_gpus = sw_json_int(facts, "gpus_requested", -1) == 0;

    for (size_t i = 0; i < diag_log_rule_count; i++) {
        const struct diag_log_rule *rule = &diag_log_rules[i];

        if ((rule->gpus == DIAG_GPUS_NONE && !no_gpus) || (rule->gpus == DIAG_GPUS_SOME && no_gpus))
            continue;
        if (show_fits(rule, log, lines))
            return &rule->ruling;
    }
    return NULL;
}

/* For a person who has to find out: the last lines, among them how the traceback ended; a launcher's own
 * only when the program wrote nothing. */
static size_t show_words(const struct diag_log *log, bool launcher, json_t *lines)
{
    size_t shown = 0;
    bool raised = false;

    for (size_t i = log->count; i-- > 0;) {
        const struct diag_line *line = &log->lines[i];
        bool raises = line->exception && !raised;

        if (line->noise || line->launcher != launcher || (shown >= LAST_WORDS - 1 && !raises))
            continue;
        diag_show_line(lines, line->text, line->length);
        raised |= raises;
        shown++;
    }
    return shown;
}

/* "exited with code 3": nothing that the code alone does not say; or the headline of an earlier look. */
static bool message_is_code(const struct sw_evidence *evidence)
{
    char code[32];
    size_t length, message = strlen(evidence->message);

    if (evidence->signal)
        snprintf(code, sizeof code, "signal %d", evidence->signal);
    else
        snprintf(code, sizeof code, "code %d", evidence->exit_code);
    length = strlen(code);
    return message >= length && strcmp(evidence->message + message - length, code) == 0;
}

static struct sw_ruling judge(const struct sw_evidence *evidence, const json_t *user_rules,
                                json_t *lines)
{
    sw_auto(diag_log) struct diag_log log = { 0 };
    const struct sw_ruling *ruling = diag_judge_reason(evidence);
    struct sw_ruling of_user;
    size_t own_lines;

    if (!ruling)
        ruling = diag_judge_facts(evidence, lines);
    if (ruling)
        return *ruling;
    diag_log_read(&log, evidence->log_tail);
    own_lines = log.count;
    if (own_lines == 0 || !message_is_code(evidence))
        diag_log_add(&log, evidence->message);
    if (diag_judge_user(user_rules, &log, &of_user, lines))
        return of_user;
    ruling = diag_judge_error(evidence);
    if (ruling)
        return *ruling;
    ruling = judge_log(&log, evidence->facts, lines);
    if (ruling)
        return *ruling;
    log.count = own_lines;                /* the message is evidence already */
    if (show_words(&log, false, lines) == 0)
        show_words(&log, true, lines);
    ruling = diag_judge_symptom(evidence);
    if (ruling)
        return *ruling;
    if (sw_json_bool(evidence->facts, SW_FACT_LOG_GONE, false))
        return unreadable;
    return evidence->log_tail && diag_log_is_silent(&log) ? silent : unknown;
}

/* ---- the document ---------------------------------------------------------------------------- */

static void add_peak(json_t *lines, const struct sw_evidence *evidence, const char *fact,
                     const char *what)
{
    int64_t bytes = sw_json_int(evidence->facts, fact, 0);
    char size[32];

    if (bytes <= 0)
        return;
    sw_size_format(bytes, size);
    json_array_append_new(lines, json_sprintf("%s %s", what, size));
}

/* "its runner fetched 3 files, 1.2 GiB", "its runner brought 2 files, 3.0 MiB" */
static void add_moved(json_t *lines, const struct sw_evidence *evidence, const char *way,
                      const char *verb)
{
    const json_t *moved = json_object_get(json_object_get(evidence->facts, "runner"), way);
    int64_t files = sw_json_int(moved, "files", 0);
    char size[32];

    if (files <= 0)
        return;
    sw_size_format(sw_json_int(moved, "bytes", 0), size);
    json_array_append_new(lines, json_sprintf("the runner %s %lld file%s, %s", verb,
                                              (long long)files, sw_text_plural(files), size));
}

static json_t *platform_lines(const struct sw_evidence *evidence, const char *cause)
{
    json_t *lines = json_array();
    char signal[32];

    snprintf(signal, sizeof signal, "signal %d", evidence->signal);
    if (evidence->message[0] && !message_is_code(evidence))
        diag_show_line(lines, evidence->message, strlen(evidence->message));
    if (evidence->signal && !strstr(evidence->message, signal))
        json_array_append_new(lines, json_sprintf("killed by signal %d", evidence->signal));
    else if (!evidence->signal && evidence->exit_code != SW_NO_EXIT_CODE)
        json_array_append_new(lines, json_sprintf("exit code %d", evidence->exit_code));
    if (evidence->failed_replica >= 0 && (sw_json_int(evidence->facts, "nodes", 0) != 1 ||
                                          diag_fact_set(evidence->facts, "array")))
        json_array_append_new(lines, json_sprintf("the first %s to fail was %d",
                                                  diag_fact_set(evidence->facts, "array") ? "task" : "rank",
                                                  evidence->failed_replica));
    add_moved(lines, evidence, "in", "fetched");
    add_moved(lines, evidence, "out", "brought");
    if (strcmp(cause, "memory") == 0) {
        add_peak(lines, evidence, "peak_memory_bytes", "its memory reached");
        add_peak(lines, evidence, "peak_gpu_memory_bytes", "its fullest GPU reached");
    }
    return lines;
}

/* The same words at the start, or all of them inside the other. */
static bool says_the_same(const char *one, const char *other)
{
    return strncmp(one, other, SAME_START) == 0 || (strlen(one) >= SAME_LEAST && strstr(other, one));
}

/* Each thing once: of two lines that say the same the longer one stays. */
static void drop_repeated(json_t *lines)
{
    for (size_t i = 0; i < json_array_size(lines);) {
        const char *line = json_string_value(json_array_get(lines, i));
        bool repeated = false;

        for (size_t k = 0; k < json_array_size(lines) && !repeated; k++)
            repeated = k != i && says_the_same(line, json_string_value(json_array_get(lines, k)));
        if (repeated)
            json_array_remove(lines, i);
        else
            i++;
    }
}

static void name_event(const struct sw_evidence *evidence, char *event, size_t size)
{
    if (evidence->signal)
        snprintf(event, size, "signal-%d", evidence->signal);
    else if (sw_text_same(evidence->reason, SW_REASON_EXIT))
        snprintf(event, size, "exit-%d", evidence->exit_code);
    else
        snprintf(event, size, "%s", evidence->reason);
}

json_t *sw_diagnose_with(const struct sw_evidence *evidence, const json_t *user_rules)
{
    sw_auto(json) json_t *seen = json_array();
    struct sw_ruling ruling;
    json_t *lines;
    char event[64];

    if (evidence->state != SW_ERROR)
        return NULL;
    ruling = judge(evidence, user_rules, seen);
    lines = platform_lines(evidence, ruling.cause);
    json_array_extend(lines, seen);
    drop_repeated(lines);
    name_event(evidence, event, sizeof event);
    return sw_json_object(
        SW_STR("err_class", ruling.err_class),
        SW_STR("cause", ruling.cause),
        SW_STR("rule", ruling.name),
        SW_STR("suggestion", ruling.suggestion),
        SW_SUB("evidence", lines),
        SW_SUB("job_failure_by_node_event",
               json_pack("[o]", sw_json_object(SW_STR("node_event_name", event),
                                               SW_STR("message", evidence->message)))),
        SW_SUB("log_streams", json_array()));
}

json_t *sw_diagnose(const struct sw_evidence *evidence)
{
    return sw_diagnose_with(evidence, NULL);
}
