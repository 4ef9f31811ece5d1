/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - files and folders: every write is atomic, every read is bounded.
 */
#ifndef SW_BASE_FILE_H
#define SW_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* Whole file into memory, at most `limit` bytes (more is an error). Owned, NUL-terminated. */
char *sw_file_read(const char *path, size_t limit, size_t *length, struct sw_error *err);
/* The same for files that were found rather than named: a pipe, a device, a folder and what is too large
 * are refused at once, without waiting. */
char *sw_file_read_plain(const char *path, size_t limit, size_t *length, struct sw_error *err);

/* Replace a file so that a reader or a crash sees the old or the new content, whole: written
 * beside it under a unique name, fsync, rename, fsync of the folder. */
int sw_file_write(const char *path, const void *bytes, size_t length, mode_t mode,
                  struct sw_error *err);

int sw_mkdirs(const char *path, mode_t mode, struct sw_error *err);   /* like mkdir -p */
/* Does this folder belong to us, and can no other user enter it? Through no link. */
bool sw_folder_is_private(const char *path);
/* Make such a folder below one that exists; one that is there already must be such. */
int sw_folder_make_private(const char *path, struct sw_error *err);
/* Remove a folder and all in it without following links; missing is success. */
int sw_remove_tree(const char *path, struct sw_error *err);
/* Remove what is in a folder but for `kept` and hidden names; missing is success. */
int sw_remove_all_but(const char *folder, const char *kept, struct sw_error *err);
bool sw_file_exists(const char *path);
/* The same through links, and apart from "not allowed to look": -1. */
int sw_file_look(const char *path, bool *exists, struct sw_error *err);

/* Visit the files below `root`, folders before their content, links not followed. `relative`
 * lives until fn returns; non-zero from fn stops and is returned. */
struct stat;
typedef int sw_walk_fn(void *context, const char *relative, const struct stat *info);
int sw_walk(const char *root, sw_walk_fn *fn, void *context, struct sw_error *err);

/* Copy a file or a folder tree (regular files, folders, links); counts what it copied. */
int sw_copy_tree(const char *from, const char *to, int64_t *files, int64_t *bytes,
                 struct sw_error *err);

char *sw_path_join(const char *folder, const char *name);       /* owned; an absolute name wins */
char *sw_path_absolute(const char *path, const char *folder);   /* owned; `.`, `..` resolved */
char *sw_home(void);       /* $HOME, else the password entry's; owned; NULL: there is none */
char *sw_path_home(const char *below);     /* a path below it, owned; without one it does not exist */

int sw_write_all(int fd, const void *bytes, size_t length);     /* 0, or -1 with errno */

#endif
