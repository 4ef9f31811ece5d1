/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_rest.c - the registry of the contract suite: every platform, and the one of this folder.
 */
#define SW_TEST_PLATFORM sw_platform_rest
#include "platform/registry.c"
