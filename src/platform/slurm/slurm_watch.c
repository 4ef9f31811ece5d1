/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_watch.c - look at all jobs in one round trip: one squeue, and one sacct for those it forgot.
 *
 * The script asks squeue about the numbers we know and then goes through the list of the jobs. Only those
 * that are neither waiting nor running have records to be read. One of them may have sent a successor,
 * which has another number and costs a second squeue. It answers in lines, a letter first:
 *     J|index|number      which Slurm job it is, by our own record
 *     E|index|record      our script's last word
 *     T|index|n|record    that of task n of an array
 *     C|index             a cancel was asked for
 *     R|index|line        what its runs left, if that is more than the first one's begin
 *     L|index             its submitter may still be at work
 *     M|time|path         when a log last grew
 *     P|index|report      what the runner of rank 0 said last, of a job that is over or looked at alone
 *     Q|..., A|...        rows of squeue and sacct
 *     N|                  accounting could not be asked; O|: there is none
 * Everything in it but squeue and sacct is done by the shell itself, without a pipe or a here-document
 * (it would read them byte by byte), so that five hundred jobs cost about what one costs. Slurm not
 * answering says nothing about jobs: then nothing changes.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/report.h"
#include "platform/slurm/slurm_retry.h"

/* Rows of squeue. */
static const char ask_text[] =
    SLURM_WHOLE
    "ask() {\n"
    "    rows=$(squeue -h -t all -S i \"$@\" -o 'Q|" SLURM_SQUEUE_FORMAT "' 2>&1) || case $rows in\n"
    "    *'Invalid job id'*) rows= ;; *) printf '%s\\n' \"$rows\" >&2; exit 75 ;; esac\n"
    "    printf '%s\\n' \"$rows\"\n"
    "}\n"
    "blind=\n"
    "which_job() {\n"
    "    number=$2\n"
    "    if [ -s \"$meta/$3/job\" ]; then\n"
    "        read -r number <\"$meta/$3/job\"\n"
    "        if whole \"$number\"; then echo \"J|$1|$number\"; else number=$2; fi\n"
    "    fi\n"
    "    eval \"number_$1=$number\"\n"
    "}\n"
    "before() {\n"
    "    which_job \"$@\"\n"
    "    if [ \"$number\" = 0 ]; then blind=1; else numbers=$numbers,$number; fi\n"
    "}\n";

static const char report_text[] =
    "report() {\n"
    "    [ ! -s \"$meta/$2/rank-0.json\" ] || {\n"
    "        printf 'P|%s|' \"$1\"; tr -d '\\n' <\"$meta/$2/rank-0.json\"; echo; }\n"
    "}\n";

static const char first_text[] =
    "if [ -n \"$blind\" ]; then ask -u \"$(id -un)\"; else ask -j \"${numbers#,}\"; fi\n";

/* Nothing happened: each job waits or runs as it did, in rows that are in order, and has not begun a run that
 * we do not know of: it was not submitted again since we looked, or has left no file that tells of one.
 * Cutting the rows into words costs more than all of this. */
static const char calm_text[] =
    "calm() {\n"
    "    for want in $wanted; do\n"
    "        case $1 in \"Q|${want%% *}|\"*\"|${want#* }|\"*) shift ;; *) return 1 ;; esac\n"
    "    done\n"
    "    [ $# -eq 0 ] || return 1\n"
    "    for file in $news; do [ ! -e \"$meta/$file\" ] || return 1; done\n"
    "}\n"
    "set -f; IFS='\n'\n"
    "set -- $rows\n"
    "unset IFS\n"
    "! calm \"$@\" || exit 0\n"
    "set +f\n";

/* What the rows say about each number, and which job has it: its name and comment. */
static const char heard_text[] =
    "heard() {\n"
    "    set -f; IFS='\n'\n"
    "    for row in $rows; do\n"
    "        row=${row#*|}; word=${row%%|*}; row=${row#*|}; id=${row%%[_+|]*}\n"
    "        whole \"$id\" || continue\n"
    "        row=${row#*|*|*|*|*|*|}\n"
    "        eval \"tag_$id=\\$row\"\n"
    "        case $word in\n"
    "        PENDING) eval \"said_$id=waits\" ;;\n"
    "        RUNNING) eval \"said_$id=runs\" ;;\n"
    "        CANCELLED) eval \"said_$id=\\${said_$id:-cut}\" ;;\n"
    "        " SLURM_OVER ")\n"
    "            eval \"case \\${said_$id-} in waits | runs | live) ;; *) said_$id=over ;; esac\" ;;\n"
    "        *) eval \"case \\${said_$id-} in waits | runs) ;; *) said_$id=live ;; esac\" ;;\n"
    "        esac\n"
    "    done\n"
    "    set +f; unset IFS\n"
    "}\n"
    "heard\n";

/* The list of jobs calls `job INDEX NUMBER FOLDER ARRAY` for each in its folder $meta, named with $prefix.
 * A number that another job has now says nothing about ours: `said NUMBER FOLDER`. One that squeue says is
 * waiting or running, and that never ran before, has nothing more to tell; the others go to $act. */
static const char job_text[] =
    "more= slow= past=\n"
    "said() {\n"
    "    eval \"said=\\${said_$1-} tag=\\${tag_$1-}\"\n"
    "    mark=slipway:${2%.*}:${2##*.}\n"
    "    case $tag in \"$prefix${2%.*}|\"* | *\"|$mark\" | *\"|$mark \"*) ;; *) said= ;; esac\n"
    "}\n"
    "job() {\n"
    "    said \"$2\" \"$3\"\n"
    "    case $said$4 in\n"
    "    runs0) [ -e \"$meta/$3/attempts.d/2\" ] || return 0 ;;\n"
    "    waits? | runs?) [ -s \"$meta/$3/attempts\" ] || return 0 ;;\n"
    "    esac\n"
    "    \"$act\" \"$@\"\n"
    "}\n"
    "again() {\n"
    "    slow=1\n"
    "    which_job \"$@\"\n"
    "    [ \"$number\" = \"$2\" ] || [ \"$2\" = 0 ] || more=$more,$number\n"
    "    [ ! -s \"$meta/$3/attempts\" ] || { read -r first; while read -r row; do "
    "[ -z \"$first\" ] || echo \"R|$1|$first\"; first=; echo \"R|$1|$row\"; done; } "
    "<\"$meta/$3/attempts\"\n"
    "}\n";

/* After squeue: the records of those that are not waiting or running, and whom to ask sacct about: it has
 * nothing to add where our own record tells the end, or squeue says that our cancel was carried out. The
 * secrets of a job that Slurm killed go when its end is seen; one that has sent a successor needs them.
 * What a submitter sent may come into the queue after it died, or after it could not tell: for a while
 * nothing is said about such a job. */
static const char after_text[] =
    "forget() {\n"
    "    [ ! -d \"$state/attempts.d/after-$number\" ] || return 0\n"
    "    secrets=${meta%/meta}/env/${1%.*}.secrets\n"
    "    [ ! -e \"$secrets\" ] || rm -f \"$secrets\"\n"
    "}\n"
    "after() {\n"
    "    eval \"number=\\$number_$1\"\n"
    "    said \"$number\" \"$3\"\n"
    "    case $said in waits | runs) return 0 ;; esac\n"
    "    state=$meta/$3 told=\n"
    "    [ ! -f \"$state/exit\" ] || {\n"
    "        read -r record <\"$state/exit\"; echo \"E|$1|$record\"; report \"$1\" \"$3\"; told=1; }\n"
    "    [ \"$4\" = 0 ] || for file in \"$state\"/task-*/exit; do\n"
    "        [ ! -f \"$file\" ] || { read -r record <\"$file\"; task=${file%/exit}\n"
    "            echo \"T|$1|${task##*-}|$record\"; }\n"
    "    done\n"
    "    [ ! -e \"$state/canceled\" ] || { echo \"C|$1\"; [ \"$said\" != cut ] || told=1; }\n"
    "    if [ \"$number\" != 0 ]; then\n"
    "        case $said in\n"
    "        live) ;;\n"
    "        over | cut) forget \"$3\" ;;\n"
    "        *) [ \"$number\" != \"$2\" ] || forget \"$3\" ;;\n"
    "        esac\n"
    "        case $said$told in live* | over1 | cut1) ;; *) past=$past,$number ;; esac\n"
    "        return 0\n"
    "    fi\n"
    "    [ -s \"$state/owner\" ] || return 0\n"
    "    read -r host pid since token <\"$state/owner\"\n"
    "    case $host in \"$(uname -n)\") young=30 ;; -) young=60 ;; *) young=600 ;; esac\n"
    "    if [ \"$young\" = 30 ] && whole \"$pid\" && kill -0 \"$pid\" 2>/dev/null; then echo \"L|$1\"\n"
    "    elif [ -n \"$(find \"$state/owner\" -newermt \"-$young seconds\")\" ]; then echo \"L|$1\"; fi\n"
    "}\n";

static const char look_text[] =
    "act=again; each\n"
    "[ -z \"$more\" ] || { ask -j \"${more#,}\"; heard; }\n"
    "[ -n \"$slow\" ] || exit 0\n"
    "act=after; each\n"
    "[ -n \"$past\" ] || exit 0\n"
    "rows=$(sacct -n -P -j \"${past#,}\" --format=" SLURM_SACCT_FORMAT " 2>&1) || {\n"
    "    case $rows in *disabled*) echo 'O|' ;; *) echo 'N|' ;; esac\n"
    "    rows=\n"
    "}\n"
    "[ -z \"$rows\" ] || printf '%s\\n' \"$rows\" | sed 's/^/A|/'\n";

struct memory {                    /* what is known about each job besides the rows; by index */
    int64_t *numbers;
    json_t **exits, **reports;
    json_t **task_exits;
    int *tasks;                    /* which task that is */
    bool *canceled, *busy;
    struct sw_buf *runs;
    int64_t *grown_ms;
    struct slurm_live *live;
    struct slurm_past *past;
    size_t live_count, past_count, live_room, past_room;
    bool no_accounting, accounting_off;
    bool search;                   /* some number is not known: the rows are of all jobs */
    struct slurm_mark *marks;      /* owned texts */
    size_t count;
};

static void memory_init(struct memory *memory, size_t count)
{
    *memory = (struct memory){
        .numbers = sw_alloc((count + 1) * sizeof *memory->numbers),
        .exits = sw_alloc((count + 1) * sizeof *memory->exits),
        .reports = sw_alloc((count + 1) * sizeof *memory->reports),
        .task_exits = sw_alloc((count + 1) * sizeof *memory->task_exits),
        .tasks = sw_alloc((count + 1) * sizeof *memory->tasks),
        .marks = sw_alloc((count + 1) * sizeof *memory->marks),
        .runs = sw_alloc((count + 1) * sizeof *memory->runs),
        .canceled = sw_alloc(count + 1), .busy = sw_alloc(count + 1),
        .grown_ms = sw_alloc((count + 1) * sizeof *memory->grown_ms), .count = count,
    };
}

static void memory_auto(struct memory *memory)
{
    for (size_t i = 0; i < memory->count; i++) {
        json_decref(memory->exits[i]);
        json_decref(memory->reports[i]);
        json_decref(memory->task_exits[i]);
    }
    for (size_t i = 0; i < memory->count; i++) {
        sw_buf_done(&memory->runs[i]);
        free((char *)memory->marks[i].name);
        free((char *)memory->marks[i].comment);
    }
    free(memory->marks);
    free(memory->runs);
    free(memory->numbers);
    free(memory->exits);
    free(memory->reports);
    free(memory->task_exits);
    free(memory->tasks);
    free(memory->canceled);
    free(memory->busy);
    free(memory->grown_ms);
    free(memory->live);
    free(memory->past);
}

static void add_live(struct memory *memory, char *line)
{
    if (memory->live_count == memory->live_room) {
        memory->live_room = memory->live_room ? memory->live_room * 2 : 64;
        memory->live = sw_realloc_array(memory->live, memory->live_room, sizeof *memory->live);
    }
    memory->live_count += slurm_squeue_line(line, &memory->live[memory->live_count]);
}

static void add_past(struct memory *memory, char *line)
{
    if (memory->past_count == memory->past_room) {
        memory->past_room = memory->past_room ? memory->past_room * 2 : 64;
        memory->past = sw_realloc_array(memory->past, memory->past_room, sizeof *memory->past);
    }
    memory->past_count += slurm_sacct_line(line, &memory->past[memory->past_count]);
}

/* "INDEX" or "INDEX|rest". */
static char *indexed(char *text, size_t count, size_t *index)
{
    char *end = NULL;
    unsigned long long number = strtoull(text, &end, 10);

    if (end == text || number >= count || (*end && *end != '|'))
        return NULL;
    *index = (size_t)number;
    return *end ? end + 1 : end;
}

static void note_growth(struct memory *memory, char *text, const char *const *logs)
{
    char *path = strchr(text, '|');

    if (!path)
        return;
    *path++ = '\0';
    for (size_t i = 0; i < memory->count; i++)
        if (logs[i] && strcmp(logs[i], path) == 0)
            memory->grown_ms[i] = slurm_when(text);
}

/* "N|record": kept when it failed and no task before it did. */
static void note_task(struct memory *memory, size_t index, const char *rest)
{
    char *end = NULL;
    long task = strtol(rest, &end, 10);
    sw_auto(json) json_t *record = *end == '|' ? sw_json_parse(end + 1, strlen(end + 1),
                                                               "exit record", NULL) : NULL;

    if (!record || sw_json_int(record, "exit_code", 0) == 0 || task < 0 || task > INT32_MAX ||
        (memory->task_exits[index] && memory->tasks[index] <= (int)task))
        return;
    json_decref(memory->task_exits[index]);
    memory->task_exits[index] = sw_take(record);
    memory->tasks[index] = (int)task;
}

static void remember(struct memory *memory, char *line, const char *const *logs)
{
    char letter = line[0];
    size_t index = 0;
    char *rest;

    if (!letter || line[1] != '|')
        return;
    line += 2;
    if (letter == 'Q') {
        add_live(memory, line);
    } else if (letter == 'A') {
        add_past(memory, line);
    } else if (letter == 'N') {
        memory->no_accounting = true;
    } else if (letter == 'O') {
        memory->accounting_off = true;
    } else if (letter == 'M') {
        note_growth(memory, line, logs);
    } else if ((rest = indexed(line, memory->count, &index))) {
        if (letter == 'J')
            memory->numbers[index] = strtoll(rest, NULL, 10);
        else if (letter == 'C')
            memory->canceled[index] = true;
        else if (letter == 'R')
            sw_buf_addf(&memory->runs[index], "%s\n", rest);
        else if (letter == 'L')
            memory->busy[index] = true;
        else if (letter == 'T')
            note_task(memory, index, rest);
        else if (letter == 'P' && !memory->reports[index])
            memory->reports[index] = sw_report_parse(rest, strlen(rest));
        else if (letter == 'E' && !memory->exits[index])
            memory->exits[index] = sw_json_parse(rest, strlen(rest), "exit record", NULL);
    }
}

/* ---- one job ------------------------------------------------------------------------------------ */

static void judge(struct memory *memory, size_t i, struct sw_observation *seen, int64_t now_ms)
{
    sw_auto(slurm_attempts) struct slurm_attempts attempts = { 0 };
    const struct slurm_answers answers = { memory->live, memory->live_count, memory->past,
                                           memory->past_count };
    const json_t *options = json_object_get(seen->job.plan, "options");
    const struct slurm_known known = { .slurm_id = memory->numbers[i], .mark = memory->marks[i],
                                       .search = memory->search,
                                       .exit = memory->exits[i], .canceled = memory->canceled[i],
                                       .task_exit = memory->task_exits[i],
                                       .task = memory->tasks[i], .now_ms = now_ms,
                                       .dependency = sw_json_str(options, "dependency"),
                                       .accounting = !memory->no_accounting &&
                                                     !memory->accounting_off };

    if (slurm_seen(&answers, &known, seen)) {
        seen->last_output_ms = memory->grown_ms[i];
        if (seen->state != SW_PENDING)
            seen->runner = sw_take(memory->reports[i]);
        slurm_attempts_parse(sw_buf_text(&memory->runs[i]), memory->runs[i].length, &attempts);
        slurm_attempts_tell(&attempts, seen);
        if (!json_object_get(seen->job.details, "attempt"))       /* submitted by an older version */
            seen->attempt = 0;
        return;
    }
    if (memory->canceled[i] && !known.slurm_id) {
        seen->presence = SW_PRESENT;
        seen->state = SW_CANCELED;
        snprintf(seen->reason, sizeof seen->reason, SW_REASON_CANCELED);
        snprintf(seen->message, sizeof seen->message, "canceled before it was submitted");
        return;
    }
    seen->presence = memory->busy[i] || (known.slurm_id && memory->no_accounting) ? SW_UNSEEN
                                                                                 : SW_ABSENT;
}

static bool is_guarded(const struct sw_jobref *job)
{
    return sw_json_str(json_object_get(job->plan, "guard"), "no_output") != NULL;
}

static void add_word(struct sw_buf *out, const char *word)
{
    sw_buf_add_char(out, ' ');
    sw_buf_add_quoted(out, word);
}

static void add_meta(struct sw_buf *out, const char *base)
{
    sw_buf_add(out, "meta=");
    sw_buf_add_quoted(out, base);
    sw_buf_add(out, "/meta\n");
}

/* The folder is named as slurm_names.c names `state`; an id has no character that needs quoting. */
static void add_job(struct sw_buf *out, const char *function, size_t index, int64_t number,
                    const struct sw_jobref *job)
{
    sw_buf_add(out, function);
    sw_buf_add_char(out, ' ');
    sw_buf_add_number(out, (int64_t)index);
    sw_buf_add_char(out, ' ');
    sw_buf_add_number(out, number);
    sw_buf_add_char(out, ' ');
    sw_buf_add(out, job->id);
    sw_buf_add_char(out, '.');
    sw_buf_add_number(out, slurm_submitted_as(job));
    sw_buf_add(out, slurm_is_array(job) ? " 1\n" : " 0\n");
}

/* A job that may turn out to be as it was. */
struct calm {
    int64_t number;
    const char *word;              /* what squeue said of it */
    const char *name;              /* in the queue; borrowed */
    const char *id, *run;          /* together the file that would tell of another run, below $meta */
    int64_t submit_ms;             /* with this time no file need be looked at; 0: not known */
};

/* Of whatever begins with one. */
static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The list as pieces of the script. */
struct list {
    struct sw_buf each;            /* a line for each job */
    struct sw_buf numbers;         /* those that are known, a comma before each */
    struct sw_buf unknown;         /* lines for the others: our own record may know */
    struct sw_buf files;           /* logs whose growth is of interest */
    struct sw_buf alone;           /* what is asked of a single job besides */
    struct calm *calm;             /* room for all */
    size_t count, calm_count;
    const char *first_base, *base; /* of the first job, and of the one before; borrowed */
    const char *prefix;            /* of the one before; borrowed */
};

static void list_auto(struct list *list)
{
    sw_buf_done(&list->each);
    sw_buf_done(&list->numbers);
    sw_buf_done(&list->unknown);
    sw_buf_done(&list->files);
    sw_buf_done(&list->alone);
    free(list->calm);
}

static void list_calm(struct list *list, const struct sw_jobref *job, int64_t number, const char *name)
{
    static const struct { enum sw_state state; const char *word, *run; } kinds[] = {
        { SW_PENDING, "PENDING|", ".1/attempts\n" }, { SW_RUNNING, "RUNNING|", ".1/attempts.d/2\n" },
    };

    if (number <= 0 || job->attempt != 1 || slurm_is_array(job) ||
        strcmp(list->base, list->first_base) != 0 || slurm_word_check("job_name_prefix", name, NULL) < 0)
        return;
    for (size_t i = 0; i < SW_COUNT(kinds); i++)
        if (job->state == kinds[i].state)
            list->calm[list->calm_count++] =
                (struct calm){ number, kinds[i].word, name, job->id, kinds[i].run, 0 };
}

/* What stands before the name of each job. */
static void list_prefix(struct list *list, const char *prefix)
{
    if (!list->prefix || strcmp(list->prefix, prefix) != 0)
        slurm_set(&list->each, "prefix", prefix);
    list->prefix = prefix;
}

static int list_job(struct list *list, struct sw_connection *conn, const struct sw_jobref *job, size_t index,
                    int64_t number, struct slurm_mark *mark, char **log, struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    const char *base = slurm_base(conn, job->details, err), *prefix = slurm_prefix(conn, job->details);

    if (!base)
        return -1;
    mark->name = sw_format("%s%s", prefix, job->id);
    mark->comment = slurm_comment(job->id, slurm_submitted_as(job));
    list_prefix(list, prefix);
    if (!list->first_base)
        list->first_base = base;
    if (!list->base || strcmp(list->base, base) != 0)
        add_meta(&list->each, base);
    list->base = base;
    add_job(&list->each, "job", index, number, job);
    if (list->count == 1) {
        add_meta(&list->alone, base);
        sw_buf_addf(&list->alone, "report 0 %s.%d\n", job->id, slurm_submitted_as(job));
    }
    list_calm(list, job, number, mark->name);
    if (number > 0) {
        sw_buf_add_char(&list->numbers, ',');
        sw_buf_add_number(&list->numbers, number);
    } else {
        add_meta(&list->unknown, base);
        add_job(&list->unknown, "before", index, 0, job);
    }
    if (is_guarded(job) && slurm_names_of(conn, job, &names, err) == 0) {
        *log = sw_format("%s/main.out", names.logs);
        add_word(&list->files, *log);
    }
    return 0;
}

/* Both are in the order of their numbers. */
static void recall(struct sw_connection *conn, struct list *list)
{
    size_t at = 0;

    qsort(list->calm, list->calm_count, sizeof *list->calm, by_number);
    pthread_mutex_lock(&conn->lock);
    for (size_t i = 0; i < list->calm_count; i++) {
        while (at < conn->met_count && conn->met[at].number < list->calm[i].number)
            at++;
        if (at < conn->met_count && conn->met[at].number == list->calm[i].number)
            list->calm[i].submit_ms = conn->met[at].submit_ms;
    }
    pthread_mutex_unlock(&conn->lock);
}

/* A job that told of its runs is not kept: who asked may not have written it down. */
static void keep_met(struct sw_connection *conn, const struct memory *memory)
{
    struct slurm_met *met = sw_alloc((memory->count + 1) * sizeof *met);
    size_t count = 0;

    for (size_t i = 0; i < memory->count; i++) {
        const struct slurm_live *row = slurm_live_find(memory->live, memory->live_count, memory->numbers[i]);

        if (row && memory->runs[i].length == 0 && slurm_is_ours(&memory->marks[i], row->name, row->comment))
            met[count++] = (struct slurm_met){ row->id.job, row->submit_ms };
    }
    qsort(met, count, sizeof *met, by_number);
    pthread_mutex_lock(&conn->lock);
    free(conn->met);
    conn->met = met;
    conn->met_count = count;
    pthread_mutex_unlock(&conn->lock);
}

static void write_calm(struct sw_buf *out, const struct list *list)
{
    sw_buf_add(out, "wanted='");
    for (size_t i = 0; i < list->calm_count; i++) {
        sw_buf_add(out, list->calm[i].word);
        sw_buf_add_number(out, list->calm[i].number);
        if (list->calm[i].submit_ms) {
            sw_buf_add_char(out, '|');
            sw_buf_add_number(out, list->calm[i].submit_ms / 1000);
        }
        sw_buf_add_char(out, ' ');
        sw_buf_add(out, list->calm[i].name);
        sw_buf_add_char(out, '\n');
    }
    sw_buf_add(out, "'\nnews='");
    for (size_t i = 0; i < list->calm_count; i++)
        if (!list->calm[i].submit_ms) {
            sw_buf_add(out, list->calm[i].id);
            sw_buf_add(out, list->calm[i].run);
        }
    sw_buf_add(out, "'\n");
    add_meta(out, list->first_base);
    sw_buf_add(out, calm_text);
}

/* What comes last is not even read by the shell when nothing happened. */
static void write_script(struct sw_buf *out, const struct list *list)
{
    sw_buf_add(out, SLURM_ENVIRONMENT);
    sw_buf_add(out, ask_text);
    sw_buf_addf(out, "numbers=%s\n%s", sw_buf_text(&list->numbers), sw_buf_text(&list->unknown));
    if (list->files.length)
        sw_buf_addf(out, "stat -c 'M|%%Y|%%n'%s 2>/dev/null\n", sw_buf_text(&list->files));
    sw_buf_add(out, report_text);
    if (list->count == 1)
        sw_buf_add(out, sw_buf_text(&list->alone));
    sw_buf_add(out, first_text);
    if (list->calm_count == list->count)
        write_calm(out, list);
    sw_buf_add(out, heard_text);
    sw_buf_add(out, job_text);
    sw_buf_add(out, after_text);
    sw_buf_add(out, "each() {\n");
    sw_buf_add(out, sw_buf_text(&list->each));
    sw_buf_add(out, "}\n");
    sw_buf_add(out, look_text);
}

static int look(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                struct memory *memory, char **logs, struct sw_error *err)
{
    sw_auto(list) struct list list = { .calm = sw_alloc(count * sizeof *list.calm), .count = count };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    int64_t now_ms;
    char *rest;

    for (size_t i = 0; i < count; i++) {
        const char *known = jobs[i].job.remote_id;

        memory->numbers[i] = known ? strtoll(known, NULL, 10) : 0;
        if (list_job(&list, conn, &jobs[i].job, i, memory->numbers[i], &memory->marks[i], &logs[i], err) < 0)
            return -1;
    }
    recall(conn, &list);
    write_script(&script, &list);
    if (slurm_ask(conn, script.data, NULL, 0, true, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_UNREACHABLE, "the login node could not ask Slurm: %.500s",
                       sw_buf_text(&reply.errors));
    rest = reply.output.data;
    for (char *line; (line = strsep(&rest, "\n"));)
        remember(memory, line, (const char *const *)logs);
    slurm_live_sort(memory->live, memory->live_count);
    memory->search = list.unknown.length > 0;
    now_ms = sw_now_ms();
    for (size_t i = 0; i < count; i++)
        judge(memory, i, &jobs[i], now_ms);
    keep_met(conn, memory);
    return 0;
}

int slurm_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count, struct sw_error *err)
{
    __attribute__((cleanup(memory_auto))) struct memory memory;
    sw_autofree char **logs = sw_alloc((count + 1) * sizeof *logs);
    int result;

    memory_init(&memory, count);
    if (count == 0)
        return 0;
    result = look(conn, jobs, count, &memory, logs, err);
    for (size_t i = 0; i < count; i++)
        free(logs[i]);
    return result;
}
