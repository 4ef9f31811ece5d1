/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sending.c - see sending.h.
 */
#include "platform/kit/sending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "core/payload.h"

enum { CODE_MAX = 512 * 1024 * 1024, SECRETS_MAX = 1024 * 1024 };

bool sw_sends_secrets(const struct sw_plan *plan)
{
    return json_array_size(plan->secrets) + json_array_size(plan->credentials) > 0;
}

bool sw_got_secrets(const json_t *plan)
{
    static const char *const lists[] = { "secrets", "credentials", "settings" };
    size_t count = 0;

    for (size_t i = 0; i < SW_COUNT(lists); i++)
        count += json_array_size(json_object_get(plan, lists[i]));
    return !plan || count > 0;
}

/* Their only way out is through a descriptor: into memory that no disk ever sees. */
int sw_secrets_bytes(const struct sw_secrets *secrets, struct sw_buf *out, struct sw_error *err)
{
    sw_autofd int fd = memfd_create("secrets", MFD_CLOEXEC);
    off_t length;

    if (fd < 0 || sw_secrets_send(secrets, fd) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot pass the secrets on");
    length = lseek(fd, 0, SEEK_END);
    if (length < 0 || length > SECRETS_MAX)
        return sw_fail(err, SW_E_SPEC, "the secrets are larger than %d bytes", SECRETS_MAX);
    sw_buf_reserve_wiping(out, (size_t)length + 1);
    if (pread(fd, out->data + out->length, (size_t)length, 0) != length)
        return sw_fail_errno(err, SW_E_IO, "cannot pass the secrets on");
    out->length += (size_t)length;
    out->data[out->length] = '\0';
    return 0;
}

void sw_json_secret(struct sw_buf *out, const char *value)
{
    sw_auto(sw_text_wipe) char *text = sw_text_utf8(value, strlen(value));

    sw_buf_reserve_wiping(out, strlen(text) * 6 + 3);
    sw_buf_add_char(out, '"');
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;

        if (c < 0x20)
            sw_buf_addf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            sw_buf_addf(out, "\\%c", c);
        else
            sw_buf_add_char(out, *at);
    }
    sw_buf_add_char(out, '"');
}

void sw_json_secrets(struct sw_buf *out, const char *shape, const char *const *values)
{
    for (;; shape++) {
        size_t length = strcspn(shape, "?");

        sw_buf_reserve_wiping(out, length + 1);
        sw_buf_add_bytes(out, shape, length);
        shape += length;
        if (!*shape)
            return;
        sw_json_secret(out, *values++);
    }
}

int sw_code_kept(const struct sw_plan *plan, int attempt, const char *folder, struct sw_bundle *out,
                 struct sw_error *err)
{
    sw_autofree char *kept = sw_path_join(folder, "code.tar.gz");

    if (!plan->code)
        return 0;
    if (attempt > 1 && sw_file_exists(kept)) {
        out->bytes = sw_file_read(kept, CODE_MAX, &out->length, err);
        return out->bytes ? 0 : -1;
    }
    return sw_bundle_code(plan->code, plan->base_dir, out, NULL, err) < 0 || sw_mkdirs(folder, 0700, err) < 0
               ? -1 : sw_file_write(kept, out->bytes, out->length, 0600, err);
}

void sw_owner_name(char out[128])
{
    char machine[64] = "";
    const char *user = getenv("USER");
    char number[32];

    gethostname(machine, sizeof machine - 1);
    snprintf(number, sizeof number, "uid-%ld", (long)geteuid());
    snprintf(out, 128, "%.60s@%.60s", sw_text_empty(user) ? number : user, machine);
}

static char *json_of(const struct sw_payload *payload)
{
    sw_auto(json) json_t *document = sw_payload_to_json(payload);

    return sw_json_dump(document);
}

char *sw_payload_text(struct sw_payload *payload, const struct sw_plan *plan, struct sw_buf *pem,
                      struct sw_error *err)
{
    sw_autofree char *text = json_of(payload);

    if (!strstr(text, "://"))
        return sw_take(text);
    return sw_payload_take_ca(payload, sw_plan_ca(plan), pem, err) < 0 ? NULL : json_of(payload);
}
