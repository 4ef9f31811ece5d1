/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_websocket.c - any bytes as the frames of a WebSocket server: cut in two anywhere, the messages are the
 * same as in one piece, and none is larger than the limit.
 */
#include <string.h>

#include "fuzz.h"
#include "net/websocket_frames.h"

enum { LIMIT = 300 };

static int gather(void *context, enum sw_ws_kind kind, const char *bytes, size_t length)
{
    CLAIM(kind != SW_WS_MORE && length <= (kind < SW_WS_CLOSE ? LIMIT : 125));
    sw_buf_addf(context, "%d %zu ", (int)kind, length);
    sw_buf_add_bytes(context, bytes, length);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_buf whole = SW_BUF_INIT, pieces = SW_BUF_INIT;
    struct sw_ws_reader one = { .take = gather, .context = &whole, .limit = LIMIT };
    struct sw_ws_reader two = { .take = gather, .context = &pieces, .limit = LIMIT };
    size_t cut = size ? data[size - 1] % size : 0;
    int first, second;

    first = sw_ws_feed(&one, (const char *)data, size);
    sw_ws_feed(&two, (const char *)data, cut);
    second = sw_ws_feed(&two, (const char *)data + cut, size - cut);
    CLAIM(first == second || one.wrong == two.wrong);
    CLAIM((first < 0) == (one.wrong != NULL) && (!one.wrong || one.code >= SW_WS_BROKEN));
    CLAIM(whole.length == pieces.length &&
          (!whole.length || memcmp(whole.data, pieces.data, whole.length) == 0));
    sw_ws_reader_done(&one);
    sw_ws_reader_done(&two);
    sw_buf_done(&whole);
    sw_buf_done(&pieces);
    return 0;
}
