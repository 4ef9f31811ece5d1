/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.c - ranks that share a folder tell each other when one of them fails.
 *
 * For places where nobody else ends the others: containers on one engine, while no client looks.
 * The first rank that fails leaves a file named after the attempt; who comes second finds it there
 * already, so the file names the first. The others look once a second.
 */
#include "runner/runner.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static char *note_of(const struct runner *runner)
{
    return sw_format("%s/failed-%s", runner->payload->peers, runner->place.attempt);
}

void runner_peers_failed(const struct runner *runner)
{
    sw_autofree char *note = NULL, *rank = sw_format("%d\n", runner->place.rank);
    sw_autofd int fd = -1;

    if (!runner->payload->peers || sw_mkdirs(runner->payload->peers, 0777, NULL) < 0)
        return;
    note = note_of(runner);
    fd = open(note, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0 && sw_write_all(fd, rank, strlen(rank)) < 0)
        unlink(note);
}

int runner_peers_look(const struct runner *runner)
{
    sw_autofree char *note = runner->payload->peers ? note_of(runner) : NULL;
    sw_autofree char *text = note && sw_file_exists(note) ? sw_file_read(note, 64, NULL, NULL)
                                                          : NULL;

    if (!text || !strchr(text, '\n') || atoi(text) == runner->place.rank)
        return -1;
    return atoi(text);
}
