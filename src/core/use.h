/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.h - what a running job uses, as the lines of use.sh (src/api) say it.
 */
#ifndef SW_CORE_USE_H
#define SW_CORE_USE_H

#include "base/json.h"

/* {"cpu_seconds","memory_bytes","gpus": [{"uuid","name","used_percent","memory_used","memory_total"}]}; null
 * where the text says nothing of it. Pure. */
json_t *sw_use_read(const char *text);

#endif
