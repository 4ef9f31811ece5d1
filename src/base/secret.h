/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h - a secret is a type of its own that no formatting function accepts.
 *
 * Values live in struct sw_secret and struct sw_secrets; they leave them through sw_secret_reveal(),
 * sw_secrets_reveal(), sw_secrets_send() (a pipe to another Slipway process) or sw_secrets_export() (the
 * child's environment), and nothing else. The redactor replaces every secret value in a stream by
 * "[redacted]", also across pieces, and the forms that secret_forms.h lists; secrets that overlap are one
 * mask.
 */
#ifndef SW_BASE_SECRET_H
#define SW_BASE_SECRET_H

#include "base/buf.h"
#include "base/environment.h"
#include "base/error.h"

struct sw_secret;     /* one value; wiped when released */

struct sw_secret *sw_secret_new(const char *value);
void sw_secret_free(struct sw_secret *secret);
SW_DEFINE_AUTO(sw_secret, struct sw_secret *, sw_secret_free)
/* The value, borrowed, for a header or file that its receiver needs; never for a message or a log. */
const char *sw_secret_reveal(const struct sw_secret *secret);

/* Memory that held a secret: overwritten, then released. NULL is fine. */
void sw_text_wipe(char *text);
static inline void sw_text_wipe_auto(char **text) { sw_text_wipe(*text); }
void sw_buf_wipe(struct sw_buf *buf);
/* Room for `more` bytes; a buffer that moves is overwritten where it was. */
void sw_buf_reserve_wiping(struct sw_buf *buf, size_t more);

struct sw_secrets;    /* name -> value; wiped when released */

struct sw_secrets *sw_secrets_new(void);
void sw_secrets_free(struct sw_secrets *secrets);
SW_DEFINE_AUTO(sw_secrets, struct sw_secrets *, sw_secrets_free)

/* Take `value`, which was found under `name`: -1 SW_E_CREDENTIAL when it is NULL or empty. */
int sw_secrets_add(struct sw_secrets *secrets, const char *name, const char *value,
                   struct sw_error *err);
/* The same with the value of environment variable `name`. */
int sw_secrets_add_env(struct sw_secrets *secrets, const char *name, struct sw_error *err);
/* One that was written down somewhere, so that it is redacted. */
void sw_secrets_add_value(struct sw_secrets *secrets, const char *name, const char *value);
size_t sw_secrets_count(const struct sw_secrets *secrets);
const char *sw_secrets_name(const struct sw_secrets *secrets, size_t index);  /* borrowed */
/* Several sets in one: those of `from` under "OWNER/NAME", and back. An owner's name has no slash. */
void sw_secrets_add_owned(struct sw_secrets *to, const char *owner, const struct sw_secrets *from);
struct sw_secrets *sw_secrets_owned(const struct sw_secrets *all, const char *owner);
void sw_secrets_drop_owned(struct sw_secrets *all, const char *owner);
struct sw_secrets *sw_secrets_copy(const struct sw_secrets *secrets);         /* owned */
/* The newest value of that name, borrowed, as sw_secret_reveal() gives it; NULL: there is none. */
const char *sw_secrets_reveal(const struct sw_secrets *secrets, const char *name);

int sw_secrets_send(const struct sw_secrets *secrets, int fd);                /* to a pipe */
struct sw_secrets *sw_secrets_receive(int fd, struct sw_error *err);          /* until EOF */
void sw_secrets_export(const struct sw_secrets *secrets);                     /* setenv() each */

/* For a program that holds secrets, first of all it does: its memory is in no core dump, and other
 * processes of the same user cannot read it (/proc/PID/mem, environ); what it takes into a set from
 * now on is not swapped out, where the system allows that. A program that it executes is as
 * usual again. */
void sw_secrets_guard(void);

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
