/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kube_plugin.c - any bytes as the answer of an exec plugin: a token of one line or a certificate
 * with its key, or a reason and nothing.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/kube/kube_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(kube_exec_credential) struct kube_exec_credential got = { 0 };
    struct sw_error err = { 0 };
    int result = kube_exec_answer((const char *)data, size, "client.authentication.k8s.io/v1", &got, &err);

    CLAIM((result == 0) == (err.code == SW_OK));
    CLAIM((result == 0) == (got.token || got.certificate));
    CLAIM(!got.certificate == !got.key);
    CLAIM(!got.token || !strpbrk(sw_secret_reveal(got.token), "\r\n"));
    CLAIM(got.expires_ms >= 0);
    return 0;
}
