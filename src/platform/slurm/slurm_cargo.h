/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_cargo.h - the bytes that go to the cluster beside a submit's script.
 *
 * Some of them are the same for many jobs (the runner, the certificates that the user named): these
 * are the stock. Each lies there once, under a name made of its content, and is sent only when it is
 * missing. Secrets and code are each job's own and always travel.
 */
#ifndef SW_PLATFORM_SLURM_CARGO_H
#define SW_PLATFORM_SLURM_CARGO_H

#include "plan/bundle.h"
#include "platform/slurm/slurm_internal.h"

enum { SLURM_STOCK_CA = SLURM_MACHINES, SLURM_STOCK };        /* the runners by kind come first */

struct slurm_cargo {               /* slurm_cargo_done() */
    struct slurm_stock stock[SLURM_STOCK];
    const char *ca_file;           /* where the certificates are here, borrowed from the plan; NULL: none */
    struct sw_buf certificates;    /* what the stock's bytes may point to */
    int secrets;                   /* memory file; -1: none */
    size_t secrets_size;
    struct sw_bundle code;
};
#define SLURM_CARGO_INIT { .secrets = -1 }

int slurm_cargo_load(struct slurm_cargo *cargo, struct sw_connection *conn, const struct sw_plan *plan,
                     const char *base, int attempt, const struct sw_secrets *secrets,
                     struct sw_error *err);
void slurm_cargo_done(struct slurm_cargo *cargo);
static inline void slurm_cargo_auto(struct slurm_cargo *cargo) { slurm_cargo_done(cargo); }

/* Script lines: of the stock, take what is `sent` (a bit for each) from the standard input, and answer
 * "need|WHAT..." when something of the rest is missing. */
void slurm_cargo_stock(struct sw_buf *out, const struct slurm_job *job,
                       const struct slurm_cargo *cargo, unsigned sent);
/* The bits of such an answer; 0: it is none. */
unsigned slurm_cargo_missing(const char *said);
/* Script lines for what is the job's own; a function `refuse` is there. */
void slurm_cargo_own(struct sw_buf *out, const struct slurm_job *job,
                     const struct slurm_cargo *cargo);

/* The standard input for both, in that order; how many pieces. */
enum { SLURM_PIECES = SLURM_STOCK + 2 };
int slurm_cargo_pieces(struct slurm_cargo *cargo, unsigned sent,
                       struct sw_ssh_piece pieces[SLURM_PIECES], size_t *count,
                       struct sw_error *err);

#endif
