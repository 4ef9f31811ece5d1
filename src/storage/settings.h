/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - every setting that data needs, in one table: whose it is, where it is looked for, and how
 * it reaches a job.
 *
 * `slipway cp` reads the table through the storages; a job's plan reads it through sw_settings_here(),
 * so that what works here works there. docs/use/storage.md shows the same table.
 */
#ifndef SW_STORAGE_SETTINGS_H
#define SW_STORAGE_SETTINGS_H

#include "storage/storage.h"

enum sw_setting {
    SW_SET_S3_ACCESS, SW_SET_S3_SECRET, SW_SET_S3_SESSION, SW_SET_S3_ENDPOINT, SW_SET_S3_REGION,
    SW_SET_S3_ADDRESSING, SW_SET_S3_SIGNING, SW_SET_S3_PROFILE, SW_SET_S3_KEYS_FILE, SW_SET_S3_CONFIG_FILE,
    SW_SET_HF_TOKEN, SW_SET_HF_ENDPOINT, SW_SET_HF_TOKEN_FILE, SW_SET_HF_HOME, SW_SET_HF_CACHE,
    SW_SET_NGC_KEY, SW_SET_NGC_API, SW_SET_NGC_AUTH, SW_SET_NGC_HOME,
    SW_SETTINGS
};

enum sw_setting_way {
    SW_SETTING_SECRET,           /* its value travels by the platform's secret channel */
    SW_SETTING_PLAIN,            /* its value travels with the plan */
    SW_SETTING_NAME,             /* it stays: it says where others are found on this machine */
    SW_SETTING_PATH,             /* the same, and its value is a path */
};

enum sw_setting_owner { SW_OWNER_S3, SW_OWNER_HF, SW_OWNER_NGC, SW_OWNERS };

struct sw_setting_row {
    const char *names[3];        /* the first that is set counts; names[0] is the one that travels */
    const char *key;             /* in a profile of ~/.aws; NULL: in none */
    enum sw_setting_owner owner;
    enum sw_setting_way way;
};
extern const struct sw_setting_row sw_setting_rows[SW_SETTINGS];

/* The row of a variable; NULL: it is no setting of data. */
const struct sw_setting_row *sw_setting_find(const char *name, size_t length);

/* The first of its variables that is set; *name (may be NULL) says which. Borrowed; NULL: none is. */
const char *sw_setting_value(const struct sw_storage_options *options, enum sw_setting which,
                             const char **name);

/* ---- what a job needs of it -------------------------------------------------------------------- */

/* Whose settings the URI needs: a bit of enum sw_setting_owner; 0: none. */
unsigned sw_settings_of(const char *uri);

/* One setting that was found on this machine. `value` is borrowed for the call; NULL: it is known only
 * when it is used (a credential_process). `from`: the variable, the profile or the file. */
typedef int sw_setting_fn(void *context, enum sw_setting which, const char *value, const char *from,
                          struct sw_error *err);

/* Tell of every setting of these owners that holds here. With options->look_only no program is run. -1:
 * one cannot be used (half a pair, a profile that is not there, single sign-on). */
int sw_settings_here(unsigned owners, const struct sw_storage_options *options, sw_setting_fn *tell,
                     void *context, struct sw_error *err);

#endif
