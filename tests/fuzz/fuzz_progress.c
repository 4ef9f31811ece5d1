/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_progress.c - any bytes as a log: the reading is the same however the bytes are cut, within
 * its bounds, and survives being saved.
 */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "core/progress.h"

static void feed(struct sw_progress_reader *reader, const char *bytes, size_t size, size_t piece)
{
    for (size_t at = 0; at < size; at += piece) {
        sw_progress_feed(reader, bytes + at, size - at < piece ? size - at : piece, 1);
        CLAIM(reader->partial_length <= 4096 && reader->partial_room <= 4096);
    }
    sw_progress_end(reader, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_progress_reader whole = SW_PROGRESS_READER_INIT, cut = SW_PROGRESS_READER_INIT;
    struct sw_progress_reader again;
    sw_auto(json) json_t *saved = NULL;
    const struct sw_training *now = &whole.now;

    feed(&whole, (const char *)data, size, size + 1);
    feed(&cut, (const char *)data, size, size % 7 + 1);
    CLAIM(now->epoch == cut.now.epoch && now->epochs == cut.now.epochs);
    CLAIM(now->step == cut.now.step && now->steps == cut.now.steps);
    CLAIM(now->fraction == -1 || (now->fraction >= 0 && now->fraction <= 1));
    CLAIM(isfinite(now->rate) && now->rate >= 0);
    CLAIM(now->epoch <= whole.highest_epoch);
    CLAIM(whole.partial == NULL && cut.partial == NULL);
    saved = sw_progress_json(&whole);
    sw_progress_restore(&again, saved);
    CLAIM(again.now.epoch == now->epoch && again.now.step == now->step);
    CLAIM(again.now.fraction == now->fraction && again.highest_epoch == whole.highest_epoch);
    return 0;
}
