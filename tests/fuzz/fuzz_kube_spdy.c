/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kube_spdy.c - any bytes as the SPDY of a port-forward: cut in two anywhere, the same events come, and
 * the same bytes of each stream.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/kube/kube_spdy.h"

/* Data may come in other pieces: only the bytes count. */
static int gather(void *context, const struct kube_spdy_event *event)
{
    if (event->kind != KUBE_SPDY_DATA)
        sw_buf_addf(context, "%d %u %zu ", (int)event->kind, event->stream, event->length);
    sw_buf_add_bytes(context, event->bytes, event->length);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_buf whole = SW_BUF_INIT, pieces = SW_BUF_INIT;
    struct kube_spdy one = { .take = gather, .context = &whole };
    struct kube_spdy two = { .take = gather, .context = &pieces };
    size_t cut = size ? data[size - 1] % size : 0;
    int first, second;

    first = kube_spdy_feed(&one, (const char *)data, size);
    second = kube_spdy_feed(&two, (const char *)data, cut);
    if (second == 0)
        second = kube_spdy_feed(&two, (const char *)data + cut, size - cut);
    CLAIM(first == second);
    CLAIM(whole.length == pieces.length &&
          (!whole.length || memcmp(whole.data, pieces.data, whole.length) == 0));
    kube_spdy_done(&one);
    kube_spdy_done(&two);
    sw_buf_done(&whole);
    sw_buf_done(&pieces);
    return 0;
}
