/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_berth.h - a local platform in a folder of its own, for tests: launch a command, wait for
 * a state with a deadline, and whatever happens end all processes and remove the folder.
 */
#ifndef TESTS_UNIT_PLATFORM_LOCAL_BERTH_H
#define TESTS_UNIT_PLATFORM_LOCAL_BERTH_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "platform/platform.h"

struct berth {
    char folder[64];
    char id[SW_ID_SIZE];          /* of the newest job */
    struct sw_link *link;
    struct sw_plan *plan;         /* what the next launch will start; change it at will */
    struct sw_secrets *secrets;
    struct sw_sighting seen;      /* the last look */
    int jobs;
};

extern const struct sw_platform sw_platform_local;

/* cmocka fixtures: *state is a struct berth. */
int berth_open(void **state);
int berth_close(void **state);

void berth_command(struct berth *here, const char *command);
const char *berth_launch(struct berth *here, const char *command);   /* id of the new job */
void berth_submit(struct berth *here);                               /* here->plan as it stands */
struct sw_sighting *berth_look(struct berth *here, const char *id);
void berth_wait_state(struct berth *here, const char *id, enum sw_state state);
void berth_wait_over(struct berth *here, const char *id);
void berth_wait_file(const char *path);
char *berth_log(struct berth *here, const char *id, int rank);       /* owned */
char *berth_file(struct berth *here, const char *id, const char *name); /* owned path */
int berth_marked(struct berth *here, const char *id);                /* processes alive */
struct sw_jobref berth_ref(const char *id);
/* What the platform adds to the last sighting of that job. */
void berth_evidence(struct berth *here, const struct sw_jobref *job, struct sw_evidence *out);
void berth_option(struct berth *here, const char *key, json_t *value);

#endif
