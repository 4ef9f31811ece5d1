/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture.h - what the contract suite needs to know about a platform, and nothing more.
 *
 * The cases speak of behaviours ("exit with 3", "print a thousand lines"); a fixture says how such a
 * job is written for its platform. What a platform cannot do at all is said here with the
 * reason, and the suite prints it: a case is never skipped in silence.
 *
 * A new platform adds one fixture_NAME.c and one line in contract.c.
 */
#ifndef SW_TESTS_CONTRACT_BERTH_H
#define SW_TESTS_CONTRACT_BERTH_H

#include <stdbool.h>
#include <stdint.h>

#include "slipway.h"

enum behaviour {
    EXITS,            /* number: the code */
    SLEEPS,           /* number: milliseconds, then exit 0 */
    DIES,             /* number: the signal it gets */
    EATS_MEMORY,      /* more than its limit of 64 MiB */
    PRINTS,           /* number: lines of log (log_line() in trial.h says which), then exit 0 */
    PRINTS_SLOWLY,    /* number: lines, a few milliseconds apart */
    HOLDS_THE_QUEUE,  /* takes what the next one will wait for */
    WAITS_IN_QUEUE,   /* stays Pending */
};

/* What a case may need that not every platform has. */
enum need {
    COMMANDS = 1 << 0,      /* the job's command really runs, and sees this machine's files */
    QUEUE = 1 << 1,         /* a job can be made to wait */
    MEMORY_LIMIT = 1 << 2,  /* memory: is enforced */
    FAULTS = 1 << 3,        /* the platform's API can be cut, slowed and made to lie */
    OWN_FILES = 1 << 4,     /* inputs and outputs may be paths of this machine */
    OWN_ROOT = 1 << 5,      /* the job has a container */
    EXEC = 1 << 6,          /* a command can be run beside a job */
    LINE_ENDS = 1 << 7,     /* a carriage return at the end of a line stays in the log */
    RAW_LOG = 1 << 8,       /* a log has every byte as it was written, also what is no text */
    RESULTS = 1 << 9,       /* results can be brought to this machine */
    PATHS = 1 << 10,        /* files there can be looked at without a job */
    RANKS = 1 << 11,        /* a job's command runs on each of its nodes */
    TIMES = 1 << 12,        /* the platform knows when each line of a log was written */
};
enum { NEED_COUNT = 13 };

struct fixture {
    const char *name;
    void (*begin)(const char *dir);      /* before each case: set the environment; may be NULL */
    /* A platform that runs shell text: what takes more memory than it may, and the keys of a job that
     * takes all of what another one waits for. */
    const char *eats_memory;
    struct {
        const char *key, *value;
    } queue[4];
    /* One that does not: writes what is wanted into a request that already names platform and secrets. */
    int (*ask)(struct sw_request *request, enum behaviour wanted, int64_t number, struct sw_error *err);
    /* From the next session on its API fails like that, in the words of cases_faults.c; NULL: no
     * more. May be NULL: then SLIPWAY_REHEARSAL_API is set. */
    void (*disturb)(const char *dir, const char *api);
    /* What every request of this platform needs besides (an image, ...); may be NULL. */
    int (*common)(struct sw_request *request, struct sw_error *err);
    const char *lacks[NEED_COUNT];       /* by bit number of enum need: why it has no such thing */
    const char *(*missing)(unsigned bit);/* the same, found out at run time; may be NULL */
    /* Is that the command line of a process of the platform itself, which carries a job's environment and
     * ends a moment after it? NULL: there are none. */
    bool (*is_own)(const char *command_line);
    const char *command_key;             /* the key that shell text goes to; NULL: none */
    /* Where a case sees results of a job to which the platform does not lead; owned. May be NULL. */
    char *(*results)(const char *job);
};

int fixture_ask(const struct fixture *fixture, struct sw_request *request, enum behaviour wanted,
                int64_t number, struct sw_error *err);

/* fixture_docker.c: a socket beside the engine that leads to it, disturbed like `api` (NULL: not); and one
 * GPU for this case alone. */
void docker_fixture_lead(const char *dir, const char *api, char *link, size_t size);
void docker_fixture_own_gpu(const char *dir);

extern const struct fixture fixture_brev;
extern const struct fixture fixture_docker;
extern const struct fixture fixture_kubernetes;
extern const struct fixture fixture_lepton;
extern const struct fixture fixture_local;
extern const struct fixture fixture_ray;
extern const struct fixture fixture_rehearsal;
extern const struct fixture fixture_rest;
extern const struct fixture fixture_runai;
extern const struct fixture fixture_slurm;

#endif
