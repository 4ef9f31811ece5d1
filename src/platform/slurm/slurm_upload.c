/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_upload.c - the bytes that go to the cluster beside a submit's script; see slurm_upload.h.
 *
 * What a runner is called is found once per connection.
 *
 * Which kinds of machines a partition has is asked where the job is submitted, in the same round trip. Which
 * kind a job got is asked by its batch script (`uname -m`), so a partition may have both.
 */
#include "platform/slurm/slurm_upload.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/text.h"
#include "base/trusted.h"
#include "core/runner_image.h"

/* As uname -m says it. */
static const char *const machines[SLURM_MACHINES] = { "x86_64", "aarch64" };

void slurm_upload_done(struct slurm_upload *upload)
{
    for (size_t i = 0; i < SLURM_SHARED_FILES; i++)
        free(upload->shared[i].path);
    sw_buf_done(&upload->certificates);
    if (upload->secrets >= 0)
        close(upload->secrets);
    sw_bundle_done(&upload->code);
}

/* ---- runners ------------------------------------------------------------------------------------ */

/* Its bytes, and its name in slurm->runner_name; false: we have none. Hashed once per connection. */
static bool find_runner(struct slurm_connection *slurm, size_t kind, struct slurm_shared_file *out,
                        struct sw_error *err)
{
    char hash[SW_DIGEST_HEX];

    out->bytes = sw_embedded_runner(machines[kind], &out->size, err);
    if (!out->bytes)
        return false;
    pthread_mutex_lock(&slurm->lock);
    if (slurm->runner[kind] != out->bytes) {
        sw_sha256_hex(out->bytes, out->size, hash);
        snprintf(slurm->runner_name[kind], sizeof slurm->runner_name[kind], "slipway-runner-%s-%.16s",
                 machines[kind], hash);
        slurm->runner[kind] = out->bytes;
    }
    pthread_mutex_unlock(&slurm->lock);
    return true;
}

/* All that we have, or the one that the option names. -1: none. */
static int load_runners(struct slurm_upload *upload, struct slurm_connection *slurm,
                        const struct slurm_job *job, struct sw_error *err)
{
    struct sw_error why = { 0 };
    size_t found = 0;

    for (size_t kind = 0; kind < SLURM_MACHINES; kind++) {
        struct slurm_shared_file *one = &upload->shared[kind];

        if ((job->options.arch && !sw_text_same(job->options.arch, machines[kind])) ||
            !find_runner(slurm, kind, one, &why))
            continue;
        found++;
        one->path = sw_format("%s/runner/%s", job->names.base, slurm->runner_name[kind]);
    }
    if (found == 0 && err)
        *err = why;
    return found > 0 ? 0 : -1;
}

size_t slurm_runner_names(struct sw_connection *conn, const char *names[SLURM_MACHINES])
{
    struct slurm_connection *slurm = slurm_of(conn);
    size_t found = 0;

    for (size_t kind = 0; kind < SLURM_MACHINES; kind++) {
        struct slurm_shared_file one = { 0 };

        if (find_runner(slurm, kind, &one, NULL))
            names[found++] = slurm->runner_name[kind];
    }
    return found;
}

/* ---- certificates, secrets, code --------------------------------------------------------------- */

static int load_certificates(struct slurm_upload *upload, const struct slurm_job *job, struct sw_error *err)
{
    const char *file = sw_plan_ca(job->plan);
    struct slurm_shared_file *out = &upload->shared[SLURM_SHARED_CA];
    char hash[SW_DIGEST_HEX];

    if (!file)
        return 0;
    if (sw_payload_read_ca(file, &upload->certificates, err) < 0)
        return -1;
    out->bytes = sw_buf_text(&upload->certificates);
    out->size = upload->certificates.length;
    sw_sha256_hex(out->bytes, out->size, hash);
    out->path = sw_format("%s/entrypoints/ca-%.16s.pem", job->names.base, hash);
    return 0;
}

static int load_secrets(struct slurm_upload *upload, const struct sw_secrets *secrets,
                        struct sw_error *err)
{
    struct stat info;

    if (sw_secrets_count(secrets) == 0)
        return 0;
    upload->secrets = memfd_create("slipway-secrets", MFD_CLOEXEC);
    if (upload->secrets < 0 || sw_secrets_send(secrets, upload->secrets) < 0 ||
        fstat(upload->secrets, &info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot buffer the secrets");
    upload->secrets_size = (size_t)info.st_size;
    return 0;
}

/* Packed at the first attempt; a later one runs the same code, whatever was edited since. */
static int load_code(struct slurm_upload *upload, const struct slurm_job *job, struct sw_error *err)
{
    if (!job->plan->code || job->attempt > 1)
        return 0;
    return sw_bundle_code(job->plan->code, job->plan->base_dir, &upload->code, NULL, err);
}

int slurm_upload_load(struct slurm_upload *upload, struct sw_connection *conn, struct slurm_job *job,
                      const struct sw_secrets *secrets, struct sw_error *err)
{
    if (load_runners(upload, slurm_of(conn), job, err) < 0 || load_certificates(upload, job, err) < 0 ||
        load_secrets(upload, secrets, err) < 0 || load_code(upload, job, err) < 0)
        return -1;
    for (size_t kind = 0; kind < SLURM_MACHINES; kind++)
        job->runner[kind] = upload->shared[kind].path;
    job->ca = upload->shared[SLURM_SHARED_CA].path;
    return 0;
}

/* ---- the script's side ------------------------------------------------------------------------- */

/* NAME is its path, and NAME_size is empty when it does not come along. */
static void add_file(struct sw_buf *out, const char *name, const char *path, size_t size)
{
    slurm_set(out, name, path);
    sw_buf_addf(out, "%s_size=", name);
    if (size > 0)
        sw_buf_add_number(out, (int64_t)size);
    sw_buf_add_char(out, '\n');
}

void slurm_upload_values(struct sw_buf *out, const struct slurm_job *job, const struct slurm_upload *upload,
                         unsigned sent)
{
    static const char *const names[] = { "runner_x86_64", "runner_aarch64", "certificates" };

    slurm_set(out, "machines", job->options.arch);
    for (size_t i = 0; i < SLURM_SHARED_FILES; i++)
        add_file(out, names[i], upload->shared[i].path, sent & 1u << i ? upload->shared[i].size : 0);
    add_file(out, "secrets", job->names.secrets, upload->secrets_size);
    add_file(out, "code", job->plan->code ? job->names.code : NULL, upload->code.length);
}

unsigned slurm_upload_missing(const char *what)
{
    unsigned missing = strstr(what, "certificates") ? 1u << SLURM_SHARED_CA : 0;

    for (size_t kind = 0; kind < SLURM_MACHINES; kind++)
        if (strstr(what, machines[kind]))
            missing |= 1u << kind;
    return missing;
}

/* ---- the input --------------------------------------------------------------------------------- */

size_t slurm_upload_pieces(const struct slurm_upload *upload, unsigned sent,
                           struct sw_ssh_piece pieces[SLURM_PIECES])
{
    size_t count = 0;

    for (unsigned i = 0; i < SLURM_SHARED_FILES; i++)
        if (sent & 1u << i)
            pieces[count++] = (struct sw_ssh_piece){ .bytes = upload->shared[i].bytes,
                                                     .length = upload->shared[i].size, .fd = -1 };
    if (upload->secrets_size)
        pieces[count++] = (struct sw_ssh_piece){ .length = upload->secrets_size, .fd = upload->secrets };
    if (upload->code.length)
        pieces[count++] = (struct sw_ssh_piece){ .bytes = upload->code.bytes,
                                                 .length = upload->code.length, .fd = -1 };
    return count;
}
