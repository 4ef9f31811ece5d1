/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kubernetes_quantity.c - any text as a quantity: -1 or an amount, and a digit more never makes it less.
 */
#include "fuzz.h"
#include "platform/kubernetes/kubernetes_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size), *more = sw_format("9%s", text);
    int64_t amount = k8s_quantity(text);

    CLAIM(amount >= -1);
    CLAIM(amount < 0 || *text == '+' || k8s_quantity(more) >= amount);
    return 0;
}
