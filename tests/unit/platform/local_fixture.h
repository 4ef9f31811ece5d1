/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_fixture.h - a local platform in a folder of its own, for tests: launch a command, wait for
 * a state with a deadline, and whatever happens end all processes and remove the folder.
 */
#ifndef TESTS_UNIT_PLATFORM_LOCAL_FIXTURE_H
#define TESTS_UNIT_PLATFORM_LOCAL_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "platform/platform.h"

struct fixture {
    char folder[64];
    char id[SW_ID_SIZE];          /* of the newest job */
    struct sw_connection *conn;
    struct sw_plan *plan;         /* what the next launch will start; change it at will */
    struct sw_secrets *secrets;
    struct sw_observation seen;      /* the last look */
    int jobs;
};

extern const struct sw_platform sw_platform_local;

/* cmocka fixtures: *state is a struct fixture. */
int fixture_open(void **state);
int fixture_close(void **state);

void fixture_command(struct fixture *here, const char *command);
const char *fixture_launch(struct fixture *here, const char *command);   /* id of the new job */
void fixture_submit(struct fixture *here);                               /* here->plan as it is */
struct sw_observation *fixture_look(struct fixture *here, const char *id);
void fixture_wait_state(struct fixture *here, const char *id, enum sw_state state);
void fixture_wait_over(struct fixture *here, const char *id);
void fixture_wait_file(const char *path);
char *fixture_log(struct fixture *here, const char *id, int rank);       /* owned */
char *fixture_file(struct fixture *here, const char *id, const char *name); /* owned path */
int fixture_marked(struct fixture *here, const char *id);                /* processes alive */
struct sw_jobref fixture_ref(const char *id);
/* What the platform adds to the last observation of that job. */
void fixture_evidence(struct fixture *here, const struct sw_jobref *job, struct sw_evidence *out);
void fixture_option(struct fixture *here, const char *key, json_t *value);

#endif
