/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.c - see ranks.h.
 */
#include "platform/kit/ranks.h"

#include <assert.h>
#include <stdio.h>

#include "core/reason.h"
#include "core/state.h"

static bool is_over(const struct sw_rank *rank)
{
    return rank->presence == SW_PRESENT && sw_state_is_final(rank->state);
}

bool sw_rank_goes_on(const struct sw_rank *rank)
{
    return rank->presence == SW_PRESENT && !sw_state_is_final(rank->state);
}

static bool has_failed(const struct sw_rank *rank)
{
    return sw_state_is_final(rank->state) && rank->state != SW_COMPLETE;
}

bool sw_rank_failed_before(const struct sw_rank *a, const struct sw_rank *b)
{
    bool canceled = a->state == SW_CANCELED || b->state == SW_CANCELED;

    if (a->presence != b->presence && canceled)
        return a->state == SW_CANCELED;
    if (a->follows != b->follows)
        return !a->follows;
    if (!a->ended_ms != !b->ended_ms)
        return a->ended_ms != 0;
    return a->ended_ms < b->ended_ms;
}

int sw_ranks_first_failed(const struct sw_rank *ranks, int count)
{
    int first = -1;

    for (int i = 0; i < count; i++)
        if (has_failed(&ranks[i]) && (first < 0 || sw_rank_failed_before(&ranks[i], &ranks[first])))
            first = i;
    return first;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void count_one(struct sw_ranks *out, const struct sw_rank *rank, int number)
{
    if (rank->presence != SW_PRESENT) {
        out->first_missing = out->missing++ ? out->first_missing : number;
        return;
    }
    if (is_over(rank))
        out->over++;
    else if (rank->state == SW_PENDING)
        out->pending++;
    else if (rank->state == SW_PAUSED)
        out->paused++;
    else
        out->running++;
    if (rank->started_ms && (!out->started_ms || rank->started_ms < out->started_ms))
        out->started_ms = rank->started_ms;
    if (rank->ended_ms > out->ended_ms)
        out->ended_ms = rank->ended_ms;
}

static enum sw_ranks_phase phase_of(const struct sw_ranks *ranks)
{
    if (ranks->count == 0)
        return SW_RANKS_NONE;
    if (ranks->over + ranks->missing == ranks->count)
        return SW_RANKS_OVER;
    if (ranks->first_failed >= 0)
        return SW_RANKS_FAILING;
    if (ranks->missing)
        return SW_RANKS_INCOMPLETE;
    if (ranks->paused)
        return SW_RANKS_PAUSED;
    return ranks->pending ? SW_RANKS_STARTING : SW_RANKS_RUNNING;
}

void sw_ranks_count(struct sw_ranks *out, const struct sw_rank *ranks, int count)
{
    assert(count >= 0);
    *out = (struct sw_ranks){ .count = count, .first_missing = -1 };
    for (int i = 0; i < count; i++)
        count_one(out, &ranks[i], i);
    out->first_failed = sw_ranks_first_failed(ranks, count);
    out->phase = phase_of(out);
    assert(out->missing + out->pending + out->paused + out->running + out->over == count);
}

/* ---- one observation ------------------------------------------------------------------------- */

static void say(struct sw_observation *out, enum sw_state state, const char *reason, const char *message)
{
    out->presence = SW_PRESENT;
    out->state = state;
    snprintf(out->reason, sizeof out->reason, "%s", reason);
    snprintf(out->message, sizeof out->message, "%s", message);
}

static void say_over(const struct sw_ranks *ranks, struct sw_observation *out)
{
    char text[64];

    out->ended_ms = ranks->ended_ms;
    out->failed_replica = ranks->first_failed;
    snprintf(text, sizeof text, "rank %d failed", ranks->first_failed);
    if (ranks->first_failed >= 0)
        say(out, SW_ERROR, SW_REASON_EXIT, text);
    else if (ranks->missing)
        say(out, SW_ERROR, SW_REASON_LOST, "a rank is gone, and how it ended is unknown");
    else
        say(out, SW_COMPLETE, SW_REASON_EXIT, "exit code 0");
}

void sw_ranks_observe(const struct sw_ranks *ranks, struct sw_observation *out)
{
    char text[96];

    out->started_ms = ranks->started_ms;
    out->failed_replica = -1;
    switch (ranks->phase) {
    case SW_RANKS_NONE:
        out->presence = SW_ABSENT;
        break;
    case SW_RANKS_STARTING:
        say(out, SW_PENDING, SW_REASON_STARTING, "not all of its ranks have started yet");
        break;
    case SW_RANKS_RUNNING:
        say(out, SW_RUNNING, "", "");
        break;
    case SW_RANKS_PAUSED:
        say(out, SW_PAUSED, SW_REASON_PAUSED, "it is paused on the platform");
        break;
    case SW_RANKS_INCOMPLETE:
        snprintf(text, sizeof text, "rank %d is gone; the others are being stopped", ranks->first_missing);
        say(out, SW_RUNNING, SW_REASON_ENDING, text);
        break;
    case SW_RANKS_FAILING:
        snprintf(text, sizeof text, "rank %d failed; the others are being stopped", ranks->first_failed);
        say(out, SW_RUNNING, SW_REASON_ENDING, text);
        break;
    case SW_RANKS_OVER:
        say_over(ranks, out);
        break;
    }
}
