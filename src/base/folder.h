/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - the names in a folder, as a document: what every platform answers to `slipway ls`; and
 * whether one could be made.
 */
#ifndef SW_BASE_FOLDER_H
#define SW_BASE_FOLDER_H

#include "base/error.h"
#include "base/json.h"

/* Sorted array of texts, without "." and ".."; owned. NULL: SW_E_NOT_FOUND, SW_E_IO. */
json_t *sw_folder_names(const char *folder, struct sw_error *err);

/* Could this folder (an absolute path) be made and written to? It is not: the nearest one above that exists
 * is looked at. SW_E_SPEC names it. */
int sw_folder_may_make(const char *path, struct sw_error *err);

#endif
