/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_failure.c - ranks that share a folder end when one of them fails.
 *
 * On one container engine no scheduler ends the other ranks, and no client may be watching; a scheduler
 * leaves them less time than a stop of ours. The first rank that fails makes a file named after the
 * attempt; a second one finds it there, so the file names the first. The others look once a second.
 *
 * The first rank that lives brings the outputs that all ranks share, once the command of each is over. A
 * rank that does not renew its report is dead: no other rank waits for it.
 */
#include "runner/runner.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/report.h"

static char *note_of(const struct runner *runner)
{
    return sw_format("%s/failed-%s", runner->payload->peers, runner->scratch.attempt);
}

void runner_note_failure(const struct runner *runner)
{
    sw_autofree char *note = NULL, *rank = sw_format("%d\n", runner->scratch.rank);
    sw_autofd int fd = -1;

    if (!runner->payload->peers || sw_mkdirs(runner->payload->peers, 0777, NULL) < 0)
        return;
    note = note_of(runner);
    fd = open(note, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0 && sw_write_all(fd, rank, strlen(rank)) < 0)
        unlink(note);
}

int runner_failed_rank(const struct runner *runner)
{
    sw_autofree char *note = runner->payload->peers ? note_of(runner) : NULL;
    sw_autofree char *text = note && sw_file_exists(note) ? sw_file_read(note, 64, NULL, NULL)
                                                          : NULL;

    if (!text || !strchr(text, '\n') || atoi(text) == runner->scratch.rank)
        return -1;
    return atoi(text);
}

/* ---- what they share is whole when all are over ------------------------------------------------ */

enum { SILENT_MS = 60000, LOOK_MS = 500 };       /* a rank that lives renews its report every 15 s */

int runner_rank_count(void)
{
    const char *count = getenv("NNODES");

    return count ? atoi(count) : 1;
}

/* Where the name of our report ends with our rank, those of the others lie beside it; NULL: they do not. */
static const char *number_of(const struct runner *runner)
{
    const char *own = runner->report_file, *number = own ? strrchr(own, '-') : NULL;

    return number && number[1] >= '0' && number[1] <= '9' && atoi(number + 1) == runner->scratch.rank
               ? number : NULL;
}

bool runner_sees_ranks(const struct runner *runner)
{
    return number_of(runner) != NULL;
}

/* Owned; NULL: not known. */
static char *report_of(const struct runner *runner, int rank)
{
    const char *own = runner->report_file, *number = number_of(runner);

    return number ? sw_format("%.*s-%d.json", (int)(number - own), own, rank) : NULL;
}

static bool is_so_far(const char *report, bool over)
{
    sw_auto(json) json_t *json = report ? json_loads(report, 0, NULL) : NULL;
    const char *phase = sw_json_str(json, "phase");

    return sw_text_same(phase, "over") || sw_text_same(phase, "report") ||
           (!over && sw_text_same(phase, "collect"));
}

static int64_t silent_ms(void)
{
    const char *said = getenv("SLIPWAY_SILENT_MS");

    return said ? atoll(said) : SILENT_MS;
}

/* Its command is over, or it has brought its outputs, too; false: it says nothing any more, or there is no
 * time. */
static bool await(const struct runner *runner, int rank, bool over, int64_t deadline_ms)
{
    sw_autofree char *path = report_of(runner, rank), *last = NULL;
    int64_t since = sw_monotonic_ms();

    for (; path && sw_monotonic_ms() < (deadline_ms ? deadline_ms : INT64_MAX); sw_sleep_ms(LOOK_MS)) {
        char *text = sw_file_exists(path) ? sw_file_read(path, SW_REPORT_MAX, NULL, NULL) : NULL;
        bool same = sw_text_same(text, last) || (!text && !last);

        free(last);
        last = text;
        if (is_so_far(text, over))
            return true;
        if (!same)
            since = sw_monotonic_ms();
        if (sw_monotonic_ms() - since > silent_ms())
            break;
    }
    return false;
}

bool runner_brings_shared(const struct runner *runner, int64_t deadline_ms)
{
    if (!runner_sees_ranks(runner))              /* our caller waited for all of them, or the platform does */
        return runner->scratch.rank == 0;
    for (int rank = 0; rank < runner->scratch.rank; rank++)
        if (await(runner, rank, true, deadline_ms))
            return false;                        /* it has done so */
    for (int rank = runner->scratch.rank + 1; rank < runner_rank_count(); rank++)
        await(runner, rank, false, deadline_ms);
    return true;
}

void runner_wait_for_ranks(const struct runner *runner, int64_t deadline_ms)
{
    for (int rank = 0; rank < runner_rank_count(); rank++)
        if (rank != runner->scratch.rank)
            await(runner, rank, true, deadline_ms);
}
