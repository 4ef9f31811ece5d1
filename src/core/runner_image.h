/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_image.h - the static runner as bytes, for platforms that send it to another machine.
 */
#ifndef SW_CORE_RUNNER_IMAGE_H
#define SW_CORE_RUNNER_IMAGE_H

#include <stddef.h>

#include "base/error.h"

/* The runner for machines of this architecture ("x86_64", "aarch64", as uname -m says it). It
 * lives as long as the process. NULL + err: there is none. */
const void *sw_embedded_runner(const char *arch, size_t *size, struct sw_error *err);

/* The one-file program carries them inside: it says so before anybody asks. `arch` and `bytes`
 * stay the caller's. */
void sw_runner_image_inside(const char *arch, const void *bytes, size_t size);

#endif
