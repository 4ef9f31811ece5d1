/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_store.c - paths of this machine: plain ones, file://, and lustre:// and slurm://, which name
 * places on a file system that every machine of a cluster mounts under the same path.
 */
#include "storage/storage.h"

static char *file_path(const struct sw_uri *uri, struct sw_error *err)
{
    (void)err;
    return sw_strdup(uri->path);
}

const struct sw_storage sw_storage_file = {
    .scheme = "file", .summary = "files of this machine: a path, or file:///path",
    .local = true, .path = file_path,
};
const struct sw_storage sw_storage_lustre = {
    .scheme = "lustre", .summary = "a path on a shared file system: lustre:///path",
    .local = true, .path = file_path,
};
const struct sw_storage sw_storage_slurm = {
    .scheme = "slurm", .summary = "a path on a cluster's shared file system: slurm:///path",
    .local = true, .path = file_path,
};
