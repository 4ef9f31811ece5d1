/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kubernetes_words.c - any bytes as the scheduler's words or as a time: the answer is a text that ends
 * in its room.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/kubernetes/kubernetes_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = sw_strndup((const char *)data, size);
    char out[256], small[8];

    memset(out, 'x', sizeof out);
    memset(small, 'x', sizeof small);
    if (k8s_explain_scheduler(text, out, sizeof out)) {
        CLAIM(strnlen(out, sizeof out) < sizeof out && *out);
        CLAIM(k8s_explain_scheduler(text, small, sizeof small));
        CLAIM(strnlen(small, sizeof small) < sizeof small);
    }
    CLAIM(k8s_time_ms(text) >= 0);
    free(text);
    return 0;
}
