/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_package.c - code, runner and payload as one zip, which Ray unpacks into the driver's folder.
 *
 * The code lies at the root of it, as Ray programs expect: tasks on other nodes import it from there. What is
 * ours is in one folder beside it. The zip is named after its bytes, so what the cluster has is not sent
 * again. Ray forgets a package that no job uses; a later attempt finds it missing and sends the same bytes
 * from the notes of the job.
 */
#include "platform/ray/ray_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "core/runner_image.h"
#include "platform/kit/sending.h"

static const char *const arches[] = { "x86_64", "aarch64" };

void ray_package_done(struct ray_package *package)
{
    free(package->bytes);
    *package = (struct ray_package){ 0 };
}

void ray_package_name(const void *bytes, size_t length, char out[RAY_PACKAGE_SIZE])
{
    char hash[SW_DIGEST_HEX];

    sw_sha256_hex(bytes, length, hash);
    snprintf(out, RAY_PACKAGE_SIZE, "_ray_pkg_%.32s.zip", hash);
}

/* The runners of all processors that this build has, or of the one that the job names. */
static int add_runners(struct sw_zip *zip, const char *wanted, struct sw_error *err)
{
    bool any = sw_text_same(wanted, "auto");
    struct sw_error why = { 0 };
    int added = 0;

    for (size_t i = 0; i < SW_COUNT(arches); i++) {
        sw_autofree char *name = sw_format(RAY_OWN_FOLDER "/slipway-runner-%s", arches[i]);
        const void *bytes;
        size_t size;

        if ((!any && strcmp(wanted, arches[i]) != 0) || !(bytes = sw_embedded_runner(arches[i], &size, &why)))
            continue;
        sw_zip_add(zip, name, 0755, bytes, size);
        added++;
    }
    return added ? 0 : sw_pass(err, &why);
}

static int pack(const struct sw_plan *plan, const struct sw_payload *payload, struct sw_zip *zip,
                struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf ca = SW_BUF_INIT;
    sw_autofree char *text = sw_payload_text((struct sw_payload *)payload, plan, &ca, err);

    if (!text || add_runners(zip, ray_job_options(plan->options).arch, err) < 0)
        return -1;
    sw_zip_add(zip, RAY_OWN_FOLDER "/payload.json", 0644, text, strlen(text));
    if (ca.length)
        sw_zip_add(zip, RAY_OWN_FOLDER "/" SW_PAYLOAD_CA, 0644, ca.data, ca.length);
    if (plan->code && sw_bundle_zip(plan->code, plan->base_dir, RAY_PACKAGE_MOST, zip, err) < 0)
        return sw_wrap(err, "a Ray cluster takes 100 MiB at most");
    sw_zip_end(zip);
    return zip->bytes.length <= RAY_PACKAGE_MOST ? 0
           : sw_fail(err, SW_E_SPEC, "a Ray cluster takes 100 MiB at most, and the job is larger");
}

int ray_package_make(struct sw_connection *conn, const struct sw_plan *plan, const struct sw_payload *payload,
                     int attempt, struct ray_package *out, struct sw_error *err)
{
    sw_autofree char *folder = sw_path_join(sw_cloud_of(conn)->root, plan->job_id);
    sw_autofree char *kept = sw_path_join(folder, "package.zip");
    sw_auto(sw_zip) struct sw_zip zip = SW_ZIP_INIT;

    if (attempt > 1 && sw_file_exists(kept)) {
        out->bytes = sw_file_read(kept, RAY_PACKAGE_MOST, &out->length, err);
    } else if (pack(plan, payload, &zip, err) == 0) {
        out->length = zip.bytes.length;
        out->bytes = sw_buf_steal(&zip.bytes);
        if (sw_mkdirs(folder, 0700, err) < 0 || sw_file_write(kept, out->bytes, out->length, 0600, err) < 0)
            return -1;
    }
    if (!out->bytes)
        return -1;
    ray_package_name(out->bytes, out->length, out->name);
    return 0;
}

/* Asking for it also keeps it for ten minutes, until the job refers to it. */
int ray_package_send(struct sw_connection *conn, const struct ray_package *package, struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/api/packages/gcs/%s", package->name);
    struct sw_error why = { 0 };

    if (ray_ask(conn, &(struct sw_rest_call){ .path = path, .repeatable = true }, NULL, &why) == 0)
        return 0;
    if (why.code != SW_E_NOT_FOUND)
        return sw_pass(err, &why);
    return ray_ask(conn, &(struct sw_rest_call){
        .method = "PUT", .path = path, .bytes = package->bytes, .length = (int64_t)package->length,
        .repeatable = true }, NULL, err) < 0 ? sw_wrap(err, "cannot send the package") : 0;
}
