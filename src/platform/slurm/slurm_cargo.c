/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_cargo.c - the bytes that go to the cluster beside a submit's script; see slurm_cargo.h.
 *
 * A submit usually sends none of the stock, so it should not read it either: what the runner and the
 * certificates are called is found once per connection, the latter again when their file changes.
 */
#include "platform/slurm/slurm_cargo.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/text.h"
#include "base/trusted.h"

void slurm_cargo_done(struct slurm_cargo *cargo)
{
    for (size_t i = 0; i < SLURM_STOCK; i++)
        free(cargo->stock[i].path);
    sw_buf_done(&cargo->certificates);
    if (cargo->secrets >= 0)
        close(cargo->secrets);
    sw_bundle_done(&cargo->code);
}

/* ---- loading ----------------------------------------------------------------------------------- */

/* Reads them, and what they are called. */
static int read_certificates(struct slurm_cargo *cargo, char name[SLURM_CA_ROOM],
                             struct sw_error *err)
{
    char hash[SW_DIGEST_HEX];

    sw_buf_clear(&cargo->certificates);
    if (sw_payload_read_ca(cargo->ca_file, &cargo->certificates, err) < 0)
        return -1;
    cargo->stock[SLURM_STOCK_CA].bytes = sw_buf_text(&cargo->certificates);
    cargo->stock[SLURM_STOCK_CA].size = cargo->certificates.length;
    sw_sha256_hex(cargo->certificates.data, cargo->certificates.length, hash);
    snprintf(name, SLURM_CA_ROOM, "ca-%.16s.pem", hash);
    return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A file that is not there is for read_certificates() to complain about. */
static int load_certificates(struct slurm_cargo *cargo, struct sw_connection *conn, const char *base,
                             struct sw_error *err)
{
    char name[SLURM_CA_ROOM] = "";
    struct stat info = { 0 };

    if (!cargo->ca_file)
        return 0;
    if (stat(cargo->ca_file, &info) == 0) {
        pthread_mutex_lock(&conn->lock);
        if (same_file(&info, &conn->ca_file))
            memcpy(name, conn->ca_name, sizeof name);
        pthread_mutex_unlock(&conn->lock);
    }
    if (!name[0]) {
        if (read_certificates(cargo, name, err) < 0)
            return -1;
        pthread_mutex_lock(&conn->lock);
        conn->ca_file = info;
        memcpy(conn->ca_name, name, sizeof name);
        pthread_mutex_unlock(&conn->lock);
    }
    cargo->stock[SLURM_STOCK_CA].path = sw_format("%s/entrypoints/%s", base, name);
    return 0;
}

static int load_secrets(struct slurm_cargo *cargo, const struct sw_secrets *secrets,
                        struct sw_error *err)
{
    struct stat info;

    if (sw_secrets_count(secrets) == 0)
        return 0;
    cargo->secrets = memfd_create("slipway-secrets", MFD_CLOEXEC);
    if (cargo->secrets < 0 || sw_secrets_send(secrets, cargo->secrets) < 0 ||
        fstat(cargo->secrets, &info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot hold the secrets");
    cargo->secrets_size = (size_t)info.st_size;
    return 0;
}

/* Packed at the first attempt; a later one runs the same code, whatever was edited since. */
static int load_code(struct slurm_cargo *cargo, const struct sw_plan *plan, int attempt,
                     struct sw_error *err)
{
    if (!plan->code || attempt > 1)
        return 0;
    return sw_bundle_code(plan->code, plan->base_dir, &cargo->code, NULL, err);
}

int slurm_cargo_load(struct slurm_cargo *cargo, struct sw_connection *conn, const struct sw_plan *plan,
                     const char *base, int attempt, const struct sw_secrets *secrets,
                     struct sw_error *err)
{
    cargo->ca_file = sw_plan_ca(plan);
    if (slurm_runners_load(cargo->stock, conn, plan, base, err) < 0 ||
        load_certificates(cargo, conn, base, err) < 0 || load_secrets(cargo, secrets, err) < 0)
        return -1;
    return load_code(cargo, plan, attempt, err);
}

/* ---- the script's side ------------------------------------------------------------------------- */

#define RUNNERS ((1u << SLURM_MACHINES) - 1)

/* `mode`: what it has from the moment it is there. */
static void take(struct sw_buf *out, const struct slurm_stock *stock, const char *mode)
{
    slurm_set(out, "file", stock->path);
    sw_buf_addf(out, "take %zu \"$file\" %s\n", stock->size, mode);
}

void slurm_cargo_stock(struct sw_buf *out, const struct slurm_job *job,
                       const struct slurm_cargo *cargo, unsigned sent)
{
    const struct slurm_stock *certificates = &cargo->stock[SLURM_STOCK_CA];

    sw_buf_add(out, "need=\n");
    for (size_t kind = 0; kind < SLURM_MACHINES; kind++) {
        if (sent & 1u << kind)
            take(out, &cargo->stock[kind], "700");
    }
    if (!(sent & RUNNERS))
        slurm_runners_look(out, job);
    if (sent & 1u << SLURM_STOCK_CA) {
        take(out, certificates, "600");
    } else if (certificates->path) {
        slurm_set(out, "file", certificates->path);
        sw_buf_add(out, "[ -s \"$file\" ] || need=\"$need certificates\"\n");
    }
    sw_buf_add(out, "[ -z \"$need\" ] || { echo \"need|$need\"; exit 0; }\n");
}

unsigned slurm_cargo_missing(const char *said)
{
    if (!sw_text_starts(said, "need|"))
        return 0;
    return slurm_runners_needed(said) | (strstr(said, "certificates") ? 1u << SLURM_STOCK_CA : 0);
}

void slurm_cargo_own(struct sw_buf *out, const struct slurm_job *job,
                     const struct slurm_cargo *cargo)
{
    if (cargo->secrets >= 0)
        sw_buf_addf(out, "take %zu \"$secrets\" 600\n", cargo->secrets_size);
    if (!job->plan->code)
        return;
    slurm_set(out, "code", job->names->code);
    if (cargo->code.bytes)
        sw_buf_addf(out, "take %zu \"$code\" 600\n", cargo->code.length);
    else
        sw_buf_add(out, "[ -s \"$code\" ] || refuse 'refused|the code of the first attempt is "
                        "gone'\n");
}

/* ---- the input --------------------------------------------------------------------------------- */

/* Should the file have changed meanwhile, the first submit that finds it so has the new name. */
static int need_bytes(struct slurm_cargo *cargo, struct sw_error *err)
{
    char name[SLURM_CA_ROOM];

    if (cargo->stock[SLURM_STOCK_CA].bytes)
        return 0;
    if (read_certificates(cargo, name, err) < 0)
        return -1;
    if (strcmp(strrchr(cargo->stock[SLURM_STOCK_CA].path, '/') + 1, name) != 0)
        return sw_fail(err, SW_E_CONFLICT, "the file of certificates changes while it is read");
    return 0;
}

int slurm_cargo_pieces(struct slurm_cargo *cargo, unsigned sent,
                       struct sw_ssh_piece pieces[SLURM_PIECES], size_t *count,
                       struct sw_error *err)
{
    *count = 0;
    if (sent & 1u << SLURM_STOCK_CA && need_bytes(cargo, err) < 0)
        return -1;
    for (unsigned i = 0; i < SLURM_STOCK; i++)
        if (sent & 1u << i)
            pieces[(*count)++] = (struct sw_ssh_piece){ .bytes = cargo->stock[i].bytes,
                                                        .length = cargo->stock[i].size, .fd = -1 };
    if (cargo->secrets_size)
        pieces[(*count)++] = (struct sw_ssh_piece){ .length = cargo->secrets_size,
                                                    .fd = cargo->secrets };
    if (cargo->code.length)
        pieces[(*count)++] = (struct sw_ssh_piece){ .bytes = cargo->code.bytes,
                                                    .length = cargo->code.length, .fd = -1 };
    return 0;
}
