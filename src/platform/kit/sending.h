/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sending.h - what a submit sends along with every job, whatever the platform: the secrets as bytes, the code
 * as it was at the first attempt, and who submits it.
 */
#ifndef SW_PLATFORM_KIT_SENDING_H
#define SW_PLATFORM_KIT_SENDING_H

#include "base/buf.h"
#include "base/secret.h"
#include "core/payload.h"
#include "plan/bundle.h"
#include "plan/plan.h"

/* Does this job get a file of secrets? */
bool sw_sends_secrets(const struct sw_plan *plan);
/* Was anything secret sent with the job of this stored plan? NULL, it is not known: maybe. */
bool sw_got_secrets(const json_t *plan);
/* That file, as sw_secrets_send() writes it, appended to `out`, which the caller wipes (sw_buf_wipe). At most
 * 1 MiB. */
int sw_secrets_bytes(const struct sw_secrets *secrets, struct sw_buf *out, struct sw_error *err);

/* A secret as a JSON string with its quotes, into a buffer that the caller wipes (sw_buf_wipe): no json_t
 * ever holds it. Bytes that are no UTF-8 become U+FFFD. */
void sw_json_secret(struct sw_buf *out, const char *value);
/* The same for a piece of JSON, in which each '?' stands for the next of these values. */
void sw_json_secrets(struct sw_buf *out, const char *shape, const char *const *values);

/* The job's code: packed and kept in `folder` at the first attempt; a later one gets the same, whatever
 * was edited since. Without `code:` nothing happens. */
int sw_code_kept(const struct sw_plan *plan, int attempt, const char *folder, struct sw_bundle *out,
                 struct sw_error *err);

/* "ann@laptop", for people who look at the platform. */
void sw_owner_name(char out[128]);

/* The payload as JSON text, owned; what it names in `ca` is put into `pem` (empty: none). `payload` is
 * changed accordingly. A job that transfers nothing needs no certificates. NULL + err. */
char *sw_payload_text(struct sw_payload *payload, const struct sw_plan *plan, struct sw_buf *pem,
                      struct sw_error *err);

#endif
