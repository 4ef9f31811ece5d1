/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - the one list of storages, in the order the help prints them.
 */
#include "storage/storage.h"

#include <string.h>

const struct sw_storage *const sw_storages[] = {
    &sw_storage_s3,   &sw_storage_hf_model, &sw_storage_hf_dataset, &sw_storage_ngc,
    &sw_storage_https, &sw_storage_http,
    &sw_storage_file, &sw_storage_lustre, &sw_storage_slurm,
    NULL,
};

const struct sw_storage *sw_storage_find(const char *scheme, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf known = SW_BUF_INIT;

    for (const struct sw_storage *const *s = sw_storages; *s; s++) {
        if (strcmp((*s)->scheme, scheme) == 0)
            return *s;
        sw_buf_addf(&known, "%s%s://", known.length ? ", " : "", (*s)->scheme);
    }
    sw_fail(err, SW_E_UNSUPPORTED, "unknown scheme %s://", scheme);
    return sw_null(sw_hint(err, "known: %s and paths", sw_buf_text(&known)));
}

const struct sw_storage *sw_storage_open(const char *text, const struct sw_storage_options *options,
                                         struct sw_root **root, char **key, struct sw_error *err)
{
    sw_auto(sw_uri) struct sw_uri uri = { 0 };
    const struct sw_storage *storage;

    *root = NULL;
    *key = NULL;
    if (sw_uri_parse(text, &uri, err) < 0)
        return NULL;
    storage = sw_storage_find(uri.scheme, err);
    if (!storage)
        return NULL;
    if (storage->local)
        *key = storage->path(&uri, err);
    else
        *root = storage->open(&uri, options, key, err);
    return *key ? storage : NULL;
}

void sw_storage_close(struct sw_root *root)
{
    if (root)
        sw_root_storage(root)->close(root);
}
