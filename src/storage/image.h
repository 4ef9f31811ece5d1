/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h - what a registry says about an image, asked from this machine: is it there, and which processors
 * is it built for? No layer moves.
 *
 * For places that pull images themselves and answer only when it is too late. The login is the one that a
 * job's pull would use (core/registry_login.h), sent to that registry and to the token server that it names,
 * over https.
 */
#ifndef SW_STORAGE_IMAGE_H
#define SW_STORAGE_IMAGE_H

#include "base/buf.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/json.h"
#include "core/gpu_arch.h"

struct sw_image_seen {
    json_t *platforms;           /* [{"architecture","os"}]; empty: not known */
    json_t *env;                 /* ["NAME=value"] of its build for the machine; NULL: not known */
    int64_t date_ms;             /* the registry's clock; 0: not told */
    bool with_login;             /* a login was found for it, and used if it was asked for */
};
void sw_image_seen_done(struct sw_image_seen *seen);
static inline void sw_image_seen_auto(struct sw_image_seen *seen) { sw_image_seen_done(seen); }

struct sw_image_query {
    const char *image;
    const char *machine;         /* the processor that it runs on; NULL: not known */
    const struct sw_gpu_archs *gpus;     /* that it may get; NULL: none is asked for */
    const char *gpus_unseen;     /* why those are not known, where there are none of them */
    sw_env_fn *env;              /* for the login */
    void *env_context;
};
/* -1: SW_E_SPEC (no reference), SW_E_NOT_FOUND, SW_E_CREDENTIAL (denied), SW_E_UNREACHABLE, SW_E_TIMEOUT,
 * SW_E_REFUSED. `seen` is zeroed by the caller, who releases it in any case. Its environment is asked for
 * only where GPUs are. */
int sw_image_look(const struct sw_image_query *query, struct sw_image_seen *seen, struct sw_error *err);

/* The rows of a report (core/finding.h) about an image that another place pulls. What the registry denies to
 * a machine without a login, and a registry that is not reached from here, leave the question open: that
 * place may have its own way. */
void sw_image_rows(json_t *rows, const struct sw_image_query *query);

/* ---- pure ---------------------------------------------------------------------------------------- */

struct sw_image_challenge {
    bool basic;                  /* a password with each request; else a token from `realm` */
    char *realm, *service, *scope;
};
void sw_image_challenge_done(struct sw_image_challenge *challenge);
static inline void sw_image_challenge_auto(struct sw_image_challenge *c) { sw_image_challenge_done(c); }
/* The WWW-Authenticate of a registry; false: it asks for what is not known here. */
bool sw_image_challenge_parse(const char *header, struct sw_image_challenge *out);

/* Is one of these for this machine? Their names are added to `found`; none, or no machine: not known,
 * and true. */
bool sw_image_fits(const json_t *platforms, const char *machine, struct sw_buf *found);
/* The row about it; none where nothing is known. */
void sw_image_processor_row(json_t *rows, const char *image, const json_t *platforms, const char *machine);

/* Those of a list of manifests, or of an image's configuration; owned, may be empty. */
json_t *sw_image_platforms(const json_t *document);

#endif
