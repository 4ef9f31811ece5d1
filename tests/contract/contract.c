/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contract.c - one suite for every platform: `contract local`, `contract rehearsal logs`.
 *
 * The second word chooses a group, so that groups run side by side; the third a single claim. A
 * claim that cannot hold on a platform is printed with the reason, never left out in silence.
 */
#include "cases.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"

static const struct fixture *const fixtures[] = {
    &fixture_local, &fixture_docker, &fixture_kubernetes, &fixture_lepton, &fixture_ray,
    &fixture_rehearsal, &fixture_rest,
    &fixture_runai, &fixture_slurm, &fixture_brev,
};

static const struct group {
    const char *name;
    const struct contract_case *cases;
} groups[] = {
    { "end", cases_end },       { "cancel", cases_cancel }, { "logs", cases_logs },
    { "attach", cases_attach }, { "faults", cases_faults }, { "data", cases_data },
    { "secrets", cases_secrets }, { "settings", cases_settings }, { "layout", cases_layout },
    { "truth", cases_truth },   { "why", cases_why },         { "meaning", cases_meaning },
    { "collect", cases_collect }, { "many", cases_many }, { "reach", cases_reach },
};

enum { MOST_CASES = 200 };

/* Why this platform cannot do what the case needs; NULL: it can. */
static const char *why_not(const struct fixture *fixture, unsigned needs)
{
    for (unsigned i = 0; i < NEED_COUNT; i++) {
        unsigned bit = 1u << i;

        if (!(needs & bit))
            continue;
        if (fixture->lacks[i])
            return fixture->lacks[i];
        if (fixture->missing && fixture->missing(bit))
            return fixture->missing(bit);
    }
    return NULL;
}

static size_t add_group(const struct group *group, const char *only, struct CMUnitTest *tests,
                        size_t count)
{
    for (const struct contract_case *c = group->cases; c->claim && count < MOST_CASES; c++) {
        const char *reason = why_not(the_fixture, c->needs);

        if (only && strcmp(only, c->claim) != 0)
            continue;
        if (reason) {
            printf("not applicable: %s on %s: %s\n", c->claim, the_fixture->name, reason);
            continue;
        }
        tests[count++] = (struct CMUnitTest){ .name = c->claim, .test_func = c->prove,
                                              .setup_func = trial_begin,
                                              .teardown_func = trial_end };
    }
    return count;
}

static int usage(void)
{
    fprintf(stderr, "usage: contract PLATFORM [GROUP [CLAIM]]\nplatforms:");
    for (size_t i = 0; i < SW_COUNT(fixtures); i++)
        fprintf(stderr, " %s", fixtures[i]->name);
    fprintf(stderr, "\ngroups:");
    for (size_t i = 0; i < SW_COUNT(groups); i++)
        fprintf(stderr, " %s", groups[i].name);
    fprintf(stderr, "\n");
    return 64;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[MOST_CASES];
    char title[64];
    size_t count = 0;

    for (size_t i = 0; argc > 1 && i < SW_COUNT(fixtures); i++)
        if (strcmp(argv[1], fixtures[i]->name) == 0)
            the_fixture = fixtures[i];
    if (!the_fixture)
        return usage();
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < SW_COUNT(groups); i++)
        if (argc < 3 || strcmp(argv[2], groups[i].name) == 0)
            count = add_group(&groups[i], argc > 3 ? argv[3] : NULL, tests, count);
    snprintf(title, sizeof title, "contract of %s", the_fixture->name);
    return _cmocka_run_group_tests(title, tests, count, NULL, NULL);
}
