/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher_kept.c - the secrets that a watcher was given, in its memory alone: those of a job until it is
 * over, and the credentials of platforms, which all jobs share, until the watcher ends.
 *
 * All are one set, each under its owner: a job's id, or API_KEPT_SHARED.
 */
#include "api/api_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct api_kept {
    pthread_mutex_t lock;
    struct sw_secrets *all;
};

struct api_kept *api_kept_new(void)
{
    struct api_kept *kept = sw_new(struct api_kept);

    pthread_mutex_init(&kept->lock, NULL);
    kept->all = sw_secrets_new();
    return kept;
}

void api_kept_free(struct api_kept *kept)
{
    if (!kept)
        return;
    sw_secrets_free(kept->all);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

/* A credential's value may be in use: the same one stays where it is, and a new one comes before it. */
static void add_shared(struct sw_secrets *all, const struct sw_secrets *given)
{
    for (size_t i = 0; i < sw_secrets_count(given); i++) {
        const char *name = sw_secrets_name(given, i), *value = sw_secrets_reveal(given, name);
        sw_autofree char *owned = sw_format(API_KEPT_SHARED "/%s", name);

        if (!sw_text_same(sw_secrets_reveal(all, owned), value))
            sw_secrets_add_value(all, owned, value);
    }
}

void api_kept_give(struct api_kept *kept, const char *owner, const struct sw_secrets *given)
{
    pthread_mutex_lock(&kept->lock);
    if (strcmp(owner, API_KEPT_SHARED) == 0) {
        add_shared(kept->all, given);
    } else {
        sw_secrets_drop_owned(kept->all, owner);
        sw_secrets_add_owned(kept->all, owner, given);
    }
    pthread_mutex_unlock(&kept->lock);
}

void api_kept_take(struct api_kept *kept, struct sw_secrets *all)
{
    if (!all)
        return;
    sw_secrets_free(kept->all);
    kept->all = all;
}

struct sw_secrets *api_kept_of(struct api_kept *kept, const char *owner)
{
    sw_auto(sw_secrets) struct sw_secrets *own = NULL;

    pthread_mutex_lock(&kept->lock);
    own = sw_secrets_owned(kept->all, owner);
    pthread_mutex_unlock(&kept->lock);
    return sw_secrets_count(own) ? sw_take(own) : NULL;
}

const char *api_kept_credential(struct api_kept *kept, const char *name)
{
    sw_autofree char *owned = sw_format(API_KEPT_SHARED "/%s", name);
    const char *value;

    pthread_mutex_lock(&kept->lock);
    value = sw_secrets_reveal(kept->all, owned);
    pthread_mutex_unlock(&kept->lock);
    return value;
}

struct sw_secrets *api_kept_all(struct api_kept *kept)
{
    struct sw_secrets *all;

    pthread_mutex_lock(&kept->lock);
    all = sw_secrets_copy(kept->all);
    pthread_mutex_unlock(&kept->lock);
    return all;
}

static bool is_over(struct sw_store *store, const char *id)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    struct sw_error why = { 0 };

    if (sw_store_get(store, id, SW_COLUMNS_NAMES, &row, &why) < 0)
        return why.code == SW_E_NOT_FOUND;
    return row.phase == SW_PHASE_OVER;
}

/* Whose secret is at this index, owned; NULL: past the end. */
static char *owner_at(struct api_kept *kept, size_t index)
{
    const char *name;
    char *owner;

    pthread_mutex_lock(&kept->lock);
    name = sw_secrets_name(kept->all, index);
    owner = name ? sw_strndup(name, strcspn(name, "/")) : NULL;
    pthread_mutex_unlock(&kept->lock);
    return owner;
}

void api_kept_forget_ended(struct api_kept *kept, struct sw_store *store)
{
    for (size_t i = 0;;) {
        sw_autofree char *owner = owner_at(kept, i);

        if (!owner)
            return;
        if (strcmp(owner, API_KEPT_SHARED) == 0 || !is_over(store, owner)) {
            i++;
            continue;
        }
        pthread_mutex_lock(&kept->lock);
        sw_secrets_drop_owned(kept->all, owner);
        pthread_mutex_unlock(&kept->lock);
    }
}
