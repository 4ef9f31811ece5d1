/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_spec.h - platforms whose tables have a row of every type, for the spec's fuzz targets.
 */
#ifndef SW_FUZZ_SPEC_H
#define SW_FUZZ_SPEC_H

#include "spec/spec_internal.h"

static const char *const fuzz_words[] = { "low", "high", NULL };
static const struct sw_option fuzz_fields[] = {
    { "size", SW_SIZE }, { "deep", SW_FREE }, { 0 }
};
static const struct sw_option fuzz_options[] = {
    { "partition", SW_TEXT }, { "count", SW_WHOLE, .least = 1, .most = 9 },
    { "share", SW_NUMBER }, { "tunnel", SW_FLAG }, { "wait", SW_DURATION, .initial = "1m" },
    { "room", SW_SIZE }, { "extra", SW_GPUS }, { "qos", SW_CHOICE, .choices = fuzz_words },
    { "mounts", SW_TEXTS }, { "notes", SW_TEXT_MAP }, { "part", SW_GROUP, .fields = fuzz_fields },
    { "parts", SW_MAP_OF, .fields = fuzz_fields + 1, .list_shorthand = true },
    { "any", SW_FREE }, { "time", SW_DURATION, .initial = "4h" }, { "labels", SW_TEXT_MAP },
    { 0 }
};
static const struct sw_spec_platform fuzz_platforms[] = {
    { "local", (const struct sw_option[]){ { 0 } } }, { "slurm", fuzz_options },
};

#endif
