/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_entry.c - one cluster, user or context of a kubeconfig, read key by key.
 *
 * The first key that is refused is remembered with its place, so that a reader takes all keys one after
 * the other and asks once at the end.
 */
#include "platform/kube/kube_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

struct kube_entry kube_entry_find(const struct kube_documents *documents, const char *list, const char *kind,
                                  const char *name, struct sw_error *err)
{
    struct kube_entry entry = { .err = err };

    for (size_t i = 0; i < documents->count; i++) {
        const json_t *all = json_object_get(sw_document_value(documents->items[i].document), list);
        size_t at;
        json_t *one;

        json_array_foreach((json_t *)all, at, one) {
            if (!sw_text_same(sw_json_str(one, "name"), name))
                continue;
            entry.in = &documents->items[i];
            entry.value = json_object_get(one, kind);
            snprintf(entry.path, sizeof entry.path, "%s[%zu].%s", list, at, kind);
            if (!json_is_object(entry.value))
                entry.failed = kube_entry_refuse(&entry, "", "is not a mapping") < 0;
            return entry;
        }
    }
    return entry;
}

int kube_entry_refuse(struct kube_entry *entry, const char *key, const char *why)
{
    sw_autofree char *path = sw_format("%s%s%s", entry->path, *key ? "." : "", key);
    struct sw_position at = sw_document_place(entry->in->document, path);

    if (!entry->failed)
        sw_fail(entry->err, SW_E_SPEC, "%s:%d:%d: `%s` %s", sw_document_name(entry->in->document), at.line,
                at.column, *key ? key : entry->path, why);
    entry->failed = true;
    return -1;
}

/* Borrowed; NULL as below. */
static const char *find_text(struct kube_entry *entry, const char *key)
{
    const json_t *value = json_object_get(entry->value, key);

    if (!value || json_is_null(value))
        return NULL;
    if (!json_is_string(value)) {
        kube_entry_refuse(entry, key, "is not a string");
        return NULL;
    }
    return sw_text_empty(json_string_value(value)) ? NULL : json_string_value(value);
}

char *kube_entry_text(struct kube_entry *entry, const char *key)
{
    const char *text = find_text(entry, key);

    if (text && strpbrk(text, "\r\n")) {
        kube_entry_refuse(entry, key, "has more than one line");
        return NULL;
    }
    return sw_strdup(text);
}

char *kube_entry_path(struct kube_entry *entry, const char *key)
{
    const char *text = find_text(entry, key);

    return text ? sw_path_absolute(text, entry->in->folder) : NULL;
}

struct sw_secret *kube_entry_secret(struct kube_entry *entry, const char *key)
{
    const char *text = find_text(entry, key);

    if (text && strpbrk(text, "\r\n")) {
        kube_entry_refuse(entry, key, "has more than one line");
        return NULL;
    }
    return text ? sw_secret_new(text) : NULL;
}

struct sw_secret *kube_entry_data(struct kube_entry *entry, const char *key)
{
    const char *text = find_text(entry, key);
    sw_auto(sw_text_wipe) char *plain = text ? sw_unbase64(text) : NULL;

    if (text && sw_text_empty(plain)) {
        kube_entry_refuse(entry, key, "is not base64");
        return NULL;
    }
    return plain ? sw_secret_new(plain) : NULL;
}

bool kube_entry_flag(struct kube_entry *entry, const char *key)
{
    const json_t *value = json_object_get(entry->value, key);

    if (value && !json_is_null(value) && !json_is_boolean(value))
        kube_entry_refuse(entry, key, "is not true or false");
    return json_is_true(value);
}
