/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_room_share.c - any text in the file of a share: what counts is not negative, and an id is one.
 */
#include <string.h>

#include "base/auto.h"
#include "core/id.h"
#include "fuzz.h"
#include "platform/local/local_room.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    struct room_holder holder;

    if (!room_share_parse(text, &holder))
        return 0;
    CLAIM(holder.room.cpus >= 0 && holder.room.memory_bytes >= 0);
    CLAIM(strcmp(holder.job_id, "?") == 0 || sw_id_valid(holder.job_id));
    return 0;
}
