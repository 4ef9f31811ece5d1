/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kubernetes_volume.c - any text as a volume: refused, or one whose parts lead nowhere else.
 */
#include "fuzz.h"

#include <string.h>

#include "platform/kubernetes/kubernetes_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    struct k8s_volume volume;

    if (k8s_volume_parse(text, &volume, NULL) < 0) {
        CLAIM(!volume.source && !volume.server && !volume.sub_path);
        return 0;
    }
    CLAIM(volume.source || volume.kind == K8S_VOLUME_EMPTY);
    CLAIM(!volume.source || (!strstr(volume.source, "/../") && *volume.source));
    CLAIM(!volume.sub_path || (*volume.sub_path != '/' && strcmp(volume.sub_path, "..") != 0));
    json_decref(k8s_volume_source(&volume, "volume-0"));
    k8s_volume_done(&volume);
    return 0;
}
