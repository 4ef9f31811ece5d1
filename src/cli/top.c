/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.c - `slipway top`: all jobs on one screen, with the log of the selected one.
 *
 * This file is the loop: a key or a change, then a frame. It never waits for a platform (top_feed.c)
 * and never composes text (top_draw.c).
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli_interrupt.h"
#include "cli/top_internal.h"

#define REDRAW_MS 1000          /* ages grow by themselves */

struct top {
    struct cli *cli;
    struct top_feed feed;
    struct top_view view;
    json_t *document;           /* what the frame shows; the list must not change under a key */
    char id[SW_ID_SIZE];        /* the selected job: it stays selected when the list moves */
    top_act_fn *asked;          /* what the question is about */
    bool quit;
};

static const json_t *job_at(const struct top *top, size_t index)
{
    return json_array_get(json_object_get(top->document, "jobs"), index);
}

static size_t count_jobs(const struct top *top)
{
    return json_array_size(json_object_get(top->document, "jobs"));
}

static void select_job(struct top *top, size_t index)
{
    const char *id;

    if (index >= count_jobs(top))
        return;
    top->view.selected = index;
    id = sw_json_str(job_at(top, index), "id");
    if (sw_text_same(id, top->id))
        return;
    snprintf(top->id, sizeof top->id, "%s", id ? id : "");
    top->view.follow = true;
    top_feed_select(&top->feed, top->id);
    top_fetch(&top->feed, top->id, top->view.pane);
}

/* New jobs come first in the list: find the selected one where it is now. */
static void take_news(struct top *top)
{
    sw_auto(json) json_t *news = top_feed_document(&top->feed);
    size_t at = 0;

    json_decref(top->document);
    top->document = top_filtered(news, top->view.filter);
    for (size_t i = 0; i < count_jobs(top); i++)
        if (sw_text_same(sw_json_str(job_at(top, i), "id"), top->id))
            at = i;
    select_job(top, at);
}

static void drain(int fd)
{
    char bytes[256];

    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

static void show(struct top *top)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct top_frame frame = { .document = top->document, .log = &top->feed.log, .note = top->feed.note,
                               .color = top->cli->screen.out_color };

    cli_screen_size(STDOUT_FILENO, &frame.columns, &frame.rows);
    pthread_mutex_lock(&top->feed.lock);
    frame.detail = top->feed.detail;
    top_draw(&out, &frame, &top->view);
    pthread_mutex_unlock(&top->feed.lock);
    cli_fullscreen_draw(&out);
}

/* ---- keys -------------------------------------------------------------------------------------- */

static void put_note(struct top *top, const char *what)
{
    pthread_mutex_lock(&top->feed.lock);
    snprintf(top->feed.note, sizeof top->feed.note, "%s %s", top->id, what);
    pthread_mutex_unlock(&top->feed.lock);
}

/* Only an unfinished job can be canceled, only a finished one retried. */
static void ask(struct top *top, top_act_fn *act, const char *verb, bool finished, const char *why_not)
{
    const json_t *job = job_at(top, top->view.selected);

    if (!job)
        return;
    if (sw_state_is_final(cli_job_state(job)) != finished) {
        put_note(top, why_not);
        return;
    }
    top->asked = act;
    snprintf(top->view.question, sizeof top->view.question, "%s %s%s? [y/N]", verb, top->id,
             cli_job_state(job) == SW_COMPLETE ? ", over its results" : "");
}

static void answer_question(struct top *top, int key)
{
    top->view.question[0] = '\0';
    if (key == 'y' || key == 'Y')
        top->asked(&top->feed, top->id);
}

/* The same key again shows the log. */
static void show_pane(struct top *top, enum top_pane pane)
{
    top->view.pane = top->view.pane == pane ? TOP_LOG : pane;
    if (top->id[0])
        top_fetch(&top->feed, top->id, top->view.pane);
}

static void type_filter(struct top *top, int key)
{
    char *filter = top->view.filter;
    size_t length = strlen(filter);

    if (key == '\r' || key == '\n' || key == CLI_KEY_ESCAPE)
        top->view.typing = false;
    if (key == CLI_KEY_ESCAPE)
        filter[0] = '\0';
    else if ((key == 127 || key == '\b') && length > 0)
        filter[length - 1] = '\0';
    else if (key >= ' ' && key < 127 && length + 1 < sizeof top->view.filter)
        snprintf(filter + length, sizeof top->view.filter - length, "%c", key);
}

static void scroll(struct top *top, int lines)
{
    top->view.follow = false;
    if (lines > 0)
        top->view.scrolled += (size_t)lines;
    else
        top->view.scrolled -= top->view.scrolled < (size_t)-lines ? top->view.scrolled
                                                                  : (size_t)-lines;
}

static void press(struct top *top, int key)
{
    size_t at = top->view.selected, last = count_jobs(top) ? count_jobs(top) - 1 : 0;

    switch (key) {
    case 'q': case CLI_KEY_QUIT:        top->quit = true; break;
    case 'k': case CLI_KEY_UP:          select_job(top, at ? at - 1 : 0); break;
    case 'j': case CLI_KEY_DOWN:        select_job(top, at < last ? at + 1 : last); break;
    case 'g': case CLI_KEY_HOME:        select_job(top, 0); break;
    case 'G': case CLI_KEY_END:         select_job(top, last); break;
    case CLI_KEY_PAGE_UP:               scroll(top, 10); break;
    case CLI_KEY_PAGE_DOWN:             scroll(top, -10); break;
    case 'f':                           top->view.follow = true; break;
    case 'l':                           top->view.large_log = !top->view.large_log; break;
    case 'w':                           show_pane(top, TOP_WHY); break;
    case 'a':                           show_pane(top, TOP_ATTEMPTS); break;
    case 'u':                           show_pane(top, TOP_USE); break;
    case '/':                           top->view.typing = true; break;
    case CLI_KEY_ESCAPE:                top->view.filter[0] = '\0'; break;
    case 'c':                           ask(top, top_cancel, "cancel", false, "has finished already"); break;
    case 'r':                           ask(top, top_retry, "retry", true, "has not finished"); break;
    case '?': case 'h':                 top->view.help = true; break;
    default:                            break;
    }
}

/* A question, the help and the filter take the next key for themselves. */
static void on_key(struct top *top, int key)
{
    if (key == CLI_KEY_NONE)
        return;
    pthread_mutex_lock(&top->feed.lock);
    top->feed.note[0] = '\0';
    pthread_mutex_unlock(&top->feed.lock);
    if (key == CLI_KEY_QUIT)
        top->quit = true;
    else if (top->view.question[0])
        answer_question(top, key);
    else if (top->view.typing)
        type_filter(top, key);
    else if (top->view.help)
        top->view.help = false;
    else
        press(top, key);
}

static void loop(struct top *top)
{
    while (!top->quit) {
        int key;

        take_news(top);
        show(top);
        key = cli_fullscreen_key(top->feed.wake[0], REDRAW_MS);
        drain(top->feed.wake[0]);
        on_key(top, key);
    }
}

static int top_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    struct top top = { .cli = cli, .view = { .follow = true } };
    int rc;

    (void)args;
    if (!cli->screen.out_terminal || !cli->screen.moves) {
        sw_fail(err, SW_E_USAGE, "top needs a terminal");
        return sw_hint(err, "'slipway watch' writes one line per change, 'slipway ps' a list");
    }
    if (!cli_session(cli, err))
        return -1;
    rc = top_feed_start(&top.feed, cli, err);
    if (rc == 0)
        rc = cli_fullscreen_enter(err);
    cli->quiet = true;                  /* a warning would spoil the screen */
    if (rc == 0)
        loop(&top);
    cli_fullscreen_leave();
    json_decref(top.document);
    if (!top_feed_end(&top.feed)) {
        cli_interrupt_end();
        _exit(rc == 0 ? 0 : sw_code_exit_status(SW_E_IO));      /* a thread hangs, we do not */
    }
    return rc;
}

const struct command command_top = {
    .name = "top",
    .args = "",
    .summary = "show all jobs on one screen, with a log",
    .description =
        "Show a full screen that updates itself: the jobs with state, age, progress and GPU use where "
        "known, and below them the log of the selected job. The arrow keys (or j and k) select; w "
        "explains why the job failed or is waiting, a lists its attempts, and the same key again "
        "returns to the log. c cancels and r retries, after a question. / shows only the jobs that "
        "hold the text you type in id, name, state, platform or message; Esc shows all. l gives the "
        "log more room, f follows it again after scrolling with PgUp and PgDn, ? lists the keys, q "
        "leaves; the jobs continue. Works on a terminal of any size, also over ssh.",
    .example = "slipway top",
    .run = top_run,
};
