/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.c - `slipway-runner verdict`: what a failure was, judged where it happened.
 *
 *     slipway-runner verdict --exit 1 [--reason WORD] [--gpus N] [--on CAUSES] [--rules FILE]
 *         [--report FILE] [--log FILE:FROM]...
 *
 * Where a platform's own script has to decide whether to try again, no client may be running; the
 * rules are diagnose/'s own, so client and script cannot disagree (docs/decisions/0027). One line
 * comes out: AGAIN CLASS CAUSE RULE NODE, with `again` or `never`, and `-` for what is not known.
 */
#include "core/reason.h"
#include "runner/runner.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "core/report.h"
#include "core/observation.h"
#include "diagnose/diagnose.h"

enum { TAIL_BYTES = 32 * 1024, RULES_MAX = 1024 * 1024 };

struct verdict_request {
    struct sw_evidence evidence;
    struct sw_buf log;
    json_t *on;                   /* NULL: as the rules say */
    json_t *rules;                /* the user's own; NULL: none */
    json_t *report;               /* the runner's; NULL: none */
};

/* ---- what is asked ------------------------------------------------------------------------ */

static int take_exit(struct verdict_request *question, const char *value)
{
    question->evidence.exit_code = atoi(value);
    return 0;
}

static int take_reason(struct verdict_request *question, const char *value)
{
    snprintf(question->evidence.reason, sizeof question->evidence.reason, "%s", value);
    return 0;
}

static int take_gpus(struct verdict_request *question, const char *value)
{
    return json_object_set_new(question->evidence.facts, "gpus_requested",
                               json_integer(atoi(value)));
}

/* "node,gpu"; empty: as the rules say. */
static int take_on(struct verdict_request *question, const char *value)
{
    if (!*value)
        return 0;
    json_decref(question->on);
    question->on = json_array();
    while (*value) {
        size_t length = strcspn(value, ",");

        json_array_append_new(question->on, json_stringn(value, length));
        value += length + (value[length] == ',');
    }
    return 0;
}

/* Rules that cannot be read are none: the built-in ones decide. */
static int take_rules(struct verdict_request *question, const char *value)
{
    size_t length = 0;
    sw_autofree char *text = sw_file_read(value, RULES_MAX, &length, NULL);

    json_decref(question->rules);
    question->rules = text ? sw_json_parse(text, length, value, NULL) : NULL;
    return 0;
}

/* What the runner of the rank that failed has left. */
static int take_report(struct verdict_request *question, const char *value)
{
    size_t length = 0;
    sw_autofree char *text = sw_file_read(value, SW_REPORT_MAX, &length, NULL);

    json_decref(question->report);
    question->report = text ? sw_report_parse(text, length) : NULL;
    return 0;
}

/* The end of a file, from the byte on where this attempt began to write. A log that is not there
 * has said nothing. */
static int take_log(struct verdict_request *question, const char *value)
{
    const char *colon = strrchr(value, ':');
    sw_autofree char *path = sw_strndup(value, colon ? (size_t)(colon - value) : strlen(value));
    off_t from = colon ? (off_t)atoll(colon + 1) : 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;

    if (fd >= 0 && fstat(fd, &info) == 0) {
        char *room = sw_buf_reserve(&question->log, TAIL_BYTES + 1);
        ssize_t got;

        if (info.st_size - from > TAIL_BYTES)
            from = info.st_size - TAIL_BYTES;
        got = pread(fd, room, TAIL_BYTES, from);
        for (ssize_t i = 0; i < got; i++)
            if (room[i] == '\0')
                room[i] = ' ';
        if (got > 0)
            question->log.length += (size_t)got;
        room[got > 0 ? got : 0] = '\0';
        sw_buf_add_char(&question->log, '\n');
    }
    if (fd >= 0)
        close(fd);
    return 0;
}

static const struct {
    const char *name;
    int (*take)(struct verdict_request *question, const char *value);
} words[] = {
    { "--exit", take_exit }, { "--reason", take_reason }, { "--gpus", take_gpus },
    { "--on", take_on },     { "--log", take_log },       { "--rules", take_rules },
    { "--report", take_report },
};

static int read_question(int argc, char **argv, struct verdict_request *question)
{
    for (int i = 2; i < argc; i += 2) {
        size_t w = 0;

        while (w < SW_COUNT(words) && strcmp(words[w].name, argv[i]) != 0)
            w++;
        if (w == SW_COUNT(words) || i + 1 == argc || words[w].take(question, argv[i + 1]) < 0)
            return -1;
    }
    return 0;
}

/* A script that only saw an exit code: the report knows which phase of the runner failed. */
static void add_report(struct verdict_request *question)
{
    const char *reason = sw_report_reason(question->report);

    sw_report_facts(question->report, question->evidence.facts);
    if (reason && question->evidence.exit_code == RUNNER_IO &&
        sw_text_same(question->evidence.reason, SW_REASON_EXIT))
        take_reason(question, reason);
}

/* ---- which node failed first -------------------------------------------------------------- */

static char *node_after(const char *line, const char *before, const char *behind)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *name = sw_text_starts(line, before) ? line + strlen(before) : "";
    size_t length = strspn(name, letters);

    return length > 0 && length < 128 && sw_text_starts(name + length, behind)
        ? sw_strndup(name, length) : NULL;
}

static char *first_node(const char *log, const char *before, const char *behind)
{
    for (const char *line = log; *line;) {
        char *node = node_after(line, before, behind);
        const char *end = strchr(line, '\n');

        if (node)
            return node;
        line = end ? end + 1 : "";
    }
    return NULL;
}

/* A lost node explains why the tasks on the others ended. */
char *runner_failed_node(const char *log)
{
    char *node = first_node(log, "srun: error: Node failure on ", "");

    return node ? node : first_node(log, "srun: error: ", ": task");
}

/* ---- the answer --------------------------------------------------------------------------- */

int runner_verdict(int argc, char **argv)
{
    struct verdict_request question = { .evidence = { .state = SW_ERROR, .reason = SW_REASON_EXIT,
                                               .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1,
                                               .facts = json_object() } };
    sw_auto(json) json_t *verdict = NULL;
    sw_autofree char *node = NULL;
    const char *rule;
    int outcome = read_question(argc, argv, &question);

    if (outcome == 0) {
        add_report(&question);
        question.evidence.log_tail = sw_strdup(sw_buf_text(&question.log));
        node = runner_failed_node(question.evidence.log_tail);
        verdict = sw_diagnose_with(&question.evidence, question.rules);
        rule = sw_json_str(verdict, "rule");
        printf("%s %s %s %s %s\n",
               sw_verdict_is_retriable(verdict, question.on) ? "again" : "never",
               sw_json_str(verdict, "err_class"), sw_json_str(verdict, "cause"),
               sw_text_empty(rule) ? "-" : rule, node ? node : "-");
    }
    sw_buf_done(&question.log);
    json_decref(question.on);
    json_decref(question.rules);
    json_decref(question.report);
    sw_evidence_done(&question.evidence);
    return outcome < 0 ? RUNNER_USAGE : 0;
}
