/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf.h - one repository of the Hugging Face Hub, inside: hf_open.c finds it, hf.c asks, hf_reply.c
 * reads the answers.
 */
#ifndef SW_STORAGE_HF_H
#define SW_STORAGE_HF_H

#include "storage/hub.h"

#define HF_HOME_PAGE   "https://huggingface.co"
#define HF_LARGEST     50000000000LL   /* above, the hub serves no plain HTTP, only Xet */

struct hf_root {
    struct sw_root_head head;
    bool dataset;
    char *endpoint;           /* "https://huggingface.co" */
    char *repo;               /* "org/name" */
    char *revision;           /* as the user wrote it, decoded; "main" when he did not */
    char *commit;             /* what the revision meant when we first asked; NULL: not asked yet */
    char *token;              /* NULL: none */
    char *token_from;         /* "HF_TOKEN", or the file; NULL: none */
    struct hub_links links;
};

struct sw_root *hf_open(const struct sw_uri *uri, const struct sw_storage_options *options,
                        char **key, struct sw_error *err);
void hf_close(struct sw_root *root);
/* The token of this user, owned and secret; NULL: there is none (*from is NULL, too), or it is no token
 * (*from names its place, and err says why). */
char *hf_token(const struct sw_storage_options *options, char **from, struct sw_error *err);

/* Cut "name[@revision][/path]" that follows the organisation. Owned results. A revision with
 * slashes is written refs/pr/3, refs/convert/parquet, or with %2F. */
int hf_cut(const char *org, const char *path, char **repo, char **revision, char **key,
           struct sw_error *err);

/* The commit in an answer about a revision; NULL: err. Owned. */
char *hf_read_commit(const struct sw_http_reply *reply, const char *what, struct sw_error *err);

/* Tell op->found of each entry of a page of the tree. 1: it asked to stop. */
int hf_read_tree(const struct sw_http_reply *reply, const char *what, struct sw_operation *op,
                 struct sw_error *err);
/* The entry called op->key in an answer about paths, into op->object; NONE when it is not there. */
int hf_read_paths(const struct sw_http_reply *reply, const char *what, struct sw_operation *op,
                  struct sw_error *err);
/* What the headers of an answer about a file say: size, version, digest. */
void hf_read_file_headers(const struct sw_http_reply *reply, struct sw_object *object);

/* Address in `Link: <...>; rel="next"`, owned; NULL: this was the last page. */
char *hf_next_page(const struct sw_http_reply *reply);

/* The repository and the revision are there, this path is not. */
bool hf_is_no_entry(const struct sw_http_reply *reply);
/* A reply that is neither good nor a redirect, in clear words. */
enum sw_step hf_judge(const struct hf_root *root, const struct sw_http_reply *reply,
                      const char *what, int64_t now_ms, struct sw_operation *op, struct sw_error *err);

#endif
