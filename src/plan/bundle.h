/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle.h - the user's code, packed to travel with the job.
 *
 *     bundle_ignore.c    .gitignore, with git's meaning                    (pure)
 *     bundle_select.c    which files of the tree travel
 *     bundle_pack.c      the same files -> the same bytes: tar, gzip       (pure)
 *     bundle_zip.c       the same as a zip                                 (pure)
 *     bundle_code.c      the block `code:` of a job
 *
 * Deterministic: names sorted, owner, group and times fixed, modes reduced to "may be run or not" and
 * "for its owner alone or not".
 * So the content's hash is its name, and what was sent once need not be sent again.
 */
#ifndef SW_PLAN_BUNDLE_H
#define SW_PLAN_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

/* ---- .gitignore ------------------------------------------------------------------------------ */

struct sw_ignore;      /* patterns of several .gitignore files, the later ones stronger */
struct sw_ignore *sw_ignore_new(void);
void sw_ignore_free(struct sw_ignore *ignore);
SW_DEFINE_AUTO(sw_ignore, struct sw_ignore *, sw_ignore_free)
/* The text of a .gitignore that lies in `folder` (relative to the root; "" is the root). */
void sw_ignore_add(struct sw_ignore *ignore, const char *folder, const char *text, size_t length);
/* Is this path itself ignored? Of its parents the caller takes care: git never looks into a folder
 * that is ignored. */
bool sw_ignore_matches(const struct sw_ignore *ignore, const char *path, bool is_folder);
/* One pattern as git's wildmatch has it: `*` and `?` stop at '/', `**` does not. */
bool sw_wildmatch(const char *pattern, const char *path);

/* ---- what travels ---------------------------------------------------------------------------- */

struct sw_bundle_file {
    char *path;              /* relative, '/' between */
    int64_t size;
    bool executable;
    bool is_private;         /* readable by its owner alone */
    char *target;            /* of a link; NULL: a file */
};

struct sw_bundle_list {
    struct sw_bundle_file *items;     /* sorted by path */
    size_t count;
    int64_t bytes;
    size_t ignored;          /* left out by .gitignore, rules or lists */
    json_t *notes;           /* array of texts for people: what was left out that one might miss
                                (credentials, links that lead out, pipes), the first hundred; and
                                credentials that were asked for by name. NULL: none */
};
void sw_bundle_list_done(struct sw_bundle_list *list);
static inline void sw_bundle_list_auto(struct sw_bundle_list *l) { sw_bundle_list_done(l); }

struct sw_bundle_rules {
    const char *root;
    const json_t *include;   /* array of patterns; none: all */
    const json_t *exclude;
    const char *recipe;      /* of packages with recipes/: only this family; NULL: all */
    bool whole;              /* nothing is left out: a clone as git made it */
    int64_t most_bytes;      /* 0: 256 MiB */
};

int sw_bundle_select(const struct sw_bundle_rules *rules, struct sw_bundle_list *out,
                     struct sw_error *err);
/* Does a file of this name, or in such a folder, usually hold a credential? */
bool sw_bundle_is_secret(const char *path);
/* "3 files, 1.2 MiB; large: weights.bin (1.1 MiB)": for people; owned. */
char *sw_bundle_describe(const struct sw_bundle_list *list);

struct sw_bundle {
    char *bytes;             /* .tar.gz */
    size_t length;
    char hash[65];           /* sha256 of the bytes */
};
void sw_bundle_done(struct sw_bundle *bundle);
static inline void sw_bundle_auto(struct sw_bundle *bundle) { sw_bundle_done(bundle); }

int sw_bundle_pack(const char *root, const struct sw_bundle_list *list, struct sw_bundle *out,
                   struct sw_error *err);
/* What the block `code:` of a job names, packed; *what in words (NULL: not wanted), owned. */
int sw_bundle_code(const json_t *code, const char *base_dir, struct sw_bundle *out, char **what,
                   struct sw_error *err);
/* The same without packing: *what in words and *notes as above (NULL: none), both owned. */
int sw_bundle_look(const json_t *code, const char *base_dir, char **what, json_t **notes,
                   struct sw_error *err);
/* The files it names, and the folder they are in (owned). */
int sw_bundle_list_code(const json_t *code, const char *base_dir, char **root, struct sw_bundle_list *out,
                        struct sw_error *err);

/* ---- zip ------------------------------------------------------------------------------------- */

struct sw_zip {
    struct sw_buf bytes, directory;
    size_t count;
};
#define SW_ZIP_INIT { SW_BUF_INIT, SW_BUF_INIT, 0 }
void sw_zip_done(struct sw_zip *zip);
static inline void sw_zip_auto(struct sw_zip *zip) { sw_zip_done(zip); }
/* A file of less than 4 GiB; the same files in the same order give the same bytes. */
void sw_zip_add(struct sw_zip *zip, const char *name, unsigned mode, const void *bytes, size_t length);
void sw_zip_end(struct sw_zip *zip);       /* after it zip->bytes is the archive */
/* The files of the block `code:`. SW_E_SPEC: they would take more than `most` bytes; the largest are
 * named. */
int sw_bundle_zip(const json_t *code, const char *base_dir, size_t most, struct sw_zip *zip,
                  struct sw_error *err);

/* gzip without a time stamp: the same bytes for the same bytes. */
void sw_gzip(const void *bytes, size_t length, struct sw_buf *out);

#endif
