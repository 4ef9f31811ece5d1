/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker_frames.c - any bytes as the engine's log stream: cut in two anywhere, the messages are the
 * same as in one piece.
 */
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "platform/docker/docker_job.h"

static int gather(void *context, const struct docker_message *message)
{
    CLAIM(message->stream >= 0 && message->stream <= 2);
    sw_buf_addf(context, "%d %lld %zu ", message->stream, (long long)message->at_ns,
                message->length);
    sw_buf_add_bytes(context, message->bytes, message->length);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_buf whole = SW_BUF_INIT, pieces = SW_BUF_INIT;
    struct docker_frames one = { .take = gather, .context = &whole, .stamped = true };
    struct docker_frames two = { .take = gather, .context = &pieces, .stamped = true };
    size_t cut = size ? data[size - 1] % size : 0;
    int first, second;

    first = docker_frames_feed(&one, (const char *)data, size);
    second = docker_frames_feed(&two, (const char *)data, cut);
    if (second == 0)
        second = docker_frames_feed(&two, (const char *)data + cut, size - cut);
    CLAIM(first == second);
    CLAIM(whole.length == pieces.length && (!whole.length ||
                                            memcmp(whole.data, pieces.data, whole.length) == 0));
    docker_frames_done(&one);
    docker_frames_done(&two);
    sw_buf_done(&whole);
    sw_buf_done(&pieces);
    return 0;
}
