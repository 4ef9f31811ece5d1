/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_digest.h - which image it was, by its content.
 */
#ifndef SW_PLATFORM_KIT_IMAGE_DIGEST_H
#define SW_PLATFORM_KIT_IMAGE_DIGEST_H

#include "core/observation.h"

/* "sha256:..." of what a platform calls the image that it started: "docker-pullable://app@sha256:...",
 * "app@sha256:...", "sha256:..."; "": it says none. */
void sw_image_digest(const char *said, char out[SW_DIGEST_TEXT]);

#endif
