/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - answers of an API that change rarely (what a place has: groups, shapes, projects), remembered for
 * some minutes, for the next process too: a submit needs several of them.
 */
#ifndef SW_PLATFORM_KIT_FACTS_H
#define SW_PLATFORM_KIT_FACTS_H

#include "platform/kit/rest.h"

struct sw_facts;

/* Kept in `file`, which belongs to one place; for so long. `rest` must outlive it. */
struct sw_facts *sw_facts_open(struct sw_rest *rest, const char *file, int64_t last_ms);
void sw_facts_close(struct sw_facts *facts);

/* GET, remembered; `fresh`: asked in any case. Owned; NULL + err. From several threads. */
json_t *sw_fact(struct sw_facts *facts, const char *path, bool fresh, struct sw_error *err);
void sw_facts_forget(struct sw_facts *facts);

#endif
