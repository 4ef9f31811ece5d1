/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h - a secret is a type of its own that no formatting function accepts.
 *
 * Values live in struct sw_secrets only; they leave it through sw_secrets_send() (a pipe to a
 * process of ours) or sw_secrets_export() (the child's environment), and nothing else. The
 * redactor replaces every secret value in a stream by "[redacted]", also across pieces, and the forms
 * that secret_forms.h lists; secrets that overlap are one mask.
 */
#ifndef SW_BASE_SECRET_H
#define SW_BASE_SECRET_H

#include "base/buf.h"
#include "base/environment.h"
#include "base/error.h"

struct sw_secrets;    /* name -> value; wiped when released */

struct sw_secrets *sw_secrets_new(void);
void sw_secrets_free(struct sw_secrets *secrets);
SW_DEFINE_AUTO(sw_secrets, struct sw_secrets *, sw_secrets_free)

/* Take the value of environment variable `name`: -1 SW_E_CREDENTIAL when it is not set. */
int sw_secrets_add_env(struct sw_secrets *secrets, const char *name, struct sw_error *err);
/* The same from other places than the process's environment. */
int sw_secrets_add_from(struct sw_secrets *secrets, const char *name, sw_env_fn *env,
                        void *env_context, struct sw_error *err);
/* One that was written down somewhere, so that it is redacted. */
void sw_secrets_add_value(struct sw_secrets *secrets, const char *name, const char *value);
size_t sw_secrets_count(const struct sw_secrets *secrets);
const char *sw_secrets_name(const struct sw_secrets *secrets, size_t index);  /* borrowed */

int sw_secrets_send(const struct sw_secrets *secrets, int fd);                /* to a pipe */
struct sw_secrets *sw_secrets_receive(int fd, struct sw_error *err);          /* until EOF */
void sw_secrets_export(const struct sw_secrets *secrets);                     /* setenv() each */

struct sw_redactor;
struct sw_redactor *sw_redactor_new(const struct sw_secrets *secrets);
void sw_redactor_free(struct sw_redactor *redactor);
SW_DEFINE_AUTO(sw_redactor, struct sw_redactor *, sw_redactor_free)
/* Feed bytes, get clean bytes appended to `out`. A piece that may be the beginning of a secret
 * is held back until the next feed or flush. Bounded: holds at most the longest form of a secret. */
void sw_redactor_feed(struct sw_redactor *redactor, const char *bytes, size_t length,
                      struct sw_buf *out);
void sw_redactor_flush(struct sw_redactor *redactor, struct sw_buf *out);

#endif
