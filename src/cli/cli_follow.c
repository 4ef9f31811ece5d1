/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_follow.c - what people see beside a log that is being followed.
 *
 * The log's bytes come first: the status line is taken away before they are written and comes back
 * only below a finished line. A job that draws its own bar (a line that is never ended) keeps
 * the terminal to itself.
 */
#include "cli/cli_follow.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_progress.h"
#include "core/reason.h"

#define LOOK_EVERY_MS 200       /* into the store only: following asks the platform itself */
#define READ_EVERY_MS 1000      /* the log is read for progress, for at most READ_MS */
#define READ_SOON_MS  250       /* and sooner when it has something new: the bar shall not lag behind it */
#define READ_MS       200
#define PATIENCE_MS   1000
#define STUCK_MS      2000      /* a scheduler may change its mind for a new job */
#define BAR_WIDTH     20

static const char *const words[] = {
    [SW_UNKNOWN] = "its state is unknown", [SW_PENDING] = "waiting",
    [SW_RUNNING] = "running",              [SW_PAUSED] = "paused",
};

void cli_follow_init(struct cli_follow *follow, struct cli *cli, const char *id, int rank,
                     int64_t every_ms)
{
    int64_t now_ms = sw_monotonic_ms();

    *follow = (struct cli_follow){
        .cli = cli, .id = id, .begun_ms = now_ms, .every_ms = every_ms,
        .next_words_ms = now_ms + every_ms, .live = { .fd = STDERR_FILENO },
    };
    cli_log_init(&follow->log, cli, id, rank);
    if (cli->screen.err_terminal && cli->screen.moves && !cli->quiet)
        cli->live = &follow->live;
}

/* "waiting: 2 GPUs are in use"; NULL for states that the summary will tell. */
static char *news_of(const json_t *job, const char *message)
{
    enum sw_state state = cli_job_state(job);

    if (sw_state_is_final(state))
        return NULL;
    if (state == SW_RUNNING || sw_text_empty(message))
        return sw_strdup(words[state]);
    if (sw_text_starts(message, words[state]))              /* "waiting for 2 GPUs" */
        return sw_strdup(message);
    return sw_format("%s: %s", words[state], message);
}

/* `shown`: the same with a countdown, which alone makes no new line. */
static void tell(struct cli_follow *f, char *news, const char *shown)
{
    bool start = sw_text_same(news, words[SW_RUNNING]);

    if (!news || sw_text_same(news, f->printed) || (start && !f->printed && !f->tells_start)) {
        free(news);
        return;
    }
    cli_say_job(f->cli, f->id, "%s", shown ? shown : news);
    free(f->printed);
    f->printed = news;
}

/* "running for 3m, epoch 3/10, 1.2 steps/s, 5m left" */
static char *sentence(const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT, pace = SW_BUF_INIT;
    struct cli_progress progress;
    char took[24];

    sw_buf_add(&out, words[cli_job_state(job)]);
    cli_job_age(job, cli_job_state(job) == SW_RUNNING ? "duration_ms" : "age_ms", took);
    sw_buf_addf(&out, " for %s", took);
    if (!cli_progress_read(job, &progress))
        return sw_buf_steal(&out);
    sw_buf_add(&out, ", ");
    cli_progress_words(&out, &progress);
    cli_progress_pace(&pace, &progress);
    if (pace.length)
        sw_buf_addf(&out, ", %s", sw_buf_text(&pace));
    return sw_buf_steal(&out);
}

static void say_regularly(struct cli_follow *f, const json_t *job, int64_t now_ms)
{
    sw_autofree char *text = NULL;

    if (!f->every_ms || now_ms < f->next_words_ms || f->cli->screen.err_terminal)
        return;
    f->next_words_ms = now_ms + f->every_ms;
    text = sentence(job);
    cli_say_job(f->cli, f->id, "%s", text);
}

/* "train-k3v9q2xa  ████░░░░  epoch 3/10  1.2 steps/s, 5m left" in one row. */
static void draw_line(struct cli_follow *f, const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT, pace = SW_BUF_INIT;
    sw_autofree char *cut = NULL;
    struct cli_progress progress;
    size_t columns, rows;

    if (f->cli->live != &f->live || (f->log.terminal && f->log.mid_line) ||
        !cli_progress_read(job, &progress))
        return;
    cli_screen_size(f->live.fd, &columns, &rows);
    sw_buf_addf(&line, "%s  ", f->id);
    if (progress.share >= 0) {
        cli_progress_bar(&line, progress.share, BAR_WIDTH);
        sw_buf_add(&line, "  ");
    }
    cli_progress_words(&line, &progress);
    cli_progress_pace(&pace, &progress);
    if (pace.length)
        sw_buf_addf(&line, "  %s", sw_buf_text(&pace));
    /* Room for the cursor and for the "^C" of the terminal: a line that breaks is not erased whole. */
    cut = sw_text_fit(sw_buf_text(&line), columns > 3 ? columns - 3 : 1);
    cli_status_lines_draw(&f->live, cut);
}

static int hear_nothing(void *context, const char *document)
{
    (void)context, (void)document;
    return 0;
}

/* Progress is read out of the log only when it is about to be shown. */
static void read_progress(struct cli_follow *f, int64_t now_ms)
{
    struct sw_watch_options once = { .size = sizeof once, .rounds = 1, .every_ms = READ_MS };
    bool say = f->every_ms && now_ms >= f->next_words_ms && !f->cli->screen.err_terminal;

    if (!say && (f->cli->live != &f->live || now_ms < f->next_read_ms))
        return;
    f->last_read_ms = now_ms;
    f->next_read_ms = now_ms + READ_EVERY_MS;
    sw_watch(f->cli->session, &f->id, 1, &once, hear_nothing, NULL, NULL);
}

static void look(struct cli_follow *f)
{
    int64_t now_ms = sw_monotonic_ms();
    sw_auto(json) json_t *job = NULL;
    sw_autofree char *news = NULL, *message = NULL, *shown = NULL;

    if (f->cli->quiet || f->silent || now_ms < f->next_look_ms)
        return;
    f->next_look_ms = now_ms + LOOK_EVERY_MS;
    read_progress(f, now_ms);
    job = cli_document(sw_status(f->cli->session, f->id, SW_LOOK_STORED, NULL), NULL);
    news = job ? news_of(job, sw_json_str(job, "message")) : NULL;
    if (!news)
        return;
    message = cli_job_message(job);
    shown = news_of(job, message);
    if (!sw_text_same(news, words[SW_PENDING]) || now_ms >= f->begun_ms + PATIENCE_MS)
        tell(f, sw_take(news), shown);     /* a job that is about to start does not "wait" */
    draw_line(f, job);
    say_regularly(f, job, now_ms);
}

/* Bytes prove that it runs; the platform's answer may be a moment behind its log. */
static void begin_log(struct cli_follow *f)
{
    sw_auto(json) json_t *job = NULL;

    if (f->log_begun || f->cli->quiet || f->silent)
        return;
    f->log_begun = true;
    job = cli_document(sw_status(f->cli->session, f->id, SW_LOOK_STORED, NULL), NULL);
    if (job && !sw_state_is_final(cli_job_state(job)))
        tell(f, sw_strdup(words[SW_RUNNING]), NULL);
}

/* The platform says that the job can never start, and has said so for a moment. */
static bool is_stuck(struct cli_follow *f)
{
    int64_t now_ms = sw_monotonic_ms();
    sw_auto(json) json_t *job = NULL;

    if (!f->gives_up || f->log_begun || now_ms < f->next_stuck_ms)
        return f->stuck;
    f->next_stuck_ms = now_ms + LOOK_EVERY_MS;
    job = cli_document(sw_status(f->cli->session, f->id, SW_LOOK_STORED, NULL), NULL);
    if (!job || cli_job_state(job) != SW_PENDING ||
        !sw_text_same(sw_json_str(job, "reason"), SW_REASON_UNSCHEDULABLE))
        f->stuck_ms = 0;
    else if (!f->stuck_ms)
        f->stuck_ms = now_ms;
    f->stuck = f->stuck_ms && now_ms >= f->stuck_ms + STUCK_MS;
    return f->stuck;
}

int cli_follow_idle(void *context)
{
    struct cli_follow *f = context;

    if (cli_log_catch_up(&f->log))
        return 1;
    look(f);
    return cli_interrupt_count() > 0 || is_stuck(f);
}

/* The next refresh reads progress, unless that was done a moment ago or no bar is shown. */
static void look_soon(struct cli_follow *f)
{
    if (f->cli->live == &f->live && sw_monotonic_ms() >= f->last_read_ms + READ_SOON_MS)
        f->next_look_ms = f->next_read_ms = 0;
}

int cli_follow_bytes(void *context, int rank, int64_t at_ms, const char *bytes, size_t length)
{
    struct cli_follow *f = context;
    sw_autofree char *line = NULL;
    int rc;

    if (cli_interrupt_count() > 0)
        return 1;
    begin_log(f);
    line = sw_strdup(f->live.shown);
    cli_status_lines_erase(&f->live);
    rc = cli_log_write(&f->log, rank, at_ms, bytes, length);
    if (line && !(f->log.terminal && f->log.mid_line))
        cli_status_lines_draw(&f->live, line);
    look_soon(f);
    look(f);
    return rc;
}

void cli_follow_attempt(void *context, int attempt)
{
    struct cli_follow *f = context;

    cli_status_lines_erase(&f->live);
    cli_log_end(&f->log);
    if (!f->silent)
        cli_say_job(f->cli, f->id, "attempt %d", attempt);
    f->log_begun = false;
}

void cli_follow_end(struct cli_follow *follow)
{
    cli_status_lines_erase(&follow->live);
    cli_log_end(&follow->log);
}

void cli_follow_done(struct cli_follow *follow)
{
    cli_status_lines_erase(&follow->live);
    follow->cli->live = NULL;
    free(sw_take(follow->printed));
}
