/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_image.c - image references taken apart, and put together as Pyxis and enroot want them.
 *
 * enroot reads "name@sha256:..." as a user called "name" unless the registry is said, and knows
 * Docker Hub only by its real host; so references are understood here and written anew.
 *
 * Pure: no I/O.
 */
#include "platform/slurm/slurm_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "plan/paths.h"

#define HUB          "registry-1.docker.io"      /* as enroot knows it */
#define HOW_TO_WRITE "write REGISTRY/NAME:TAG, a path that ends in .sqsh, or none"

enum { PART_MAX = 255, FILE_NAME_MAX = 160 };      /* room for .lock, .part.XXXXXX and a digest */

void slurm_image_done(struct slurm_image *image)
{
    free(image->user);
    sw_image_ref_done(&image->ref);
    free(image->path);
    *image = (struct slurm_image){ 0 };
}

static int refuse(const char *text, const char *why, struct sw_error *err)
{
    sw_autofree char *shown = sw_text_printable(text, strlen(text));

    sw_fail(err, SW_E_SPEC, "image '%.200s': %s", shown, why);
    return sw_hint(err, HOW_TO_WRITE);
}

bool slurm_has_only(const char *text, const char *more)
{
    for (; *text; text++)
        if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
              (*text >= '0' && *text <= '9') || strchr(more, *text)))
            return false;
    return true;
}

/* ---- taking it apart ---------------------------------------------------------------------- */

/* "USER@" before a registry with '#'; what comes before a digest is not a user. */
static const char *take_user(const char *text, struct slurm_image *out)
{
    const char *hash = strchr(text, '#'), *at = hash ? memchr(text, '@', (size_t)(hash - text)) : NULL;

    if (!at)
        return text;
    out->user = sw_strndup(text, (size_t)(at - text));
    return at + 1;
}

static int parse_reference(const char *text, struct slurm_image *out, struct sw_error *err)
{
    const char *bare = sw_text_starts(text, "docker://") ? text + strlen("docker://") : text;
    const char *rest = take_user(bare, out);

    out->kind = SLURM_IMAGE_REGISTRY;
    if (out->user &&
        (!*out->user || strlen(out->user) > PART_MAX || !slurm_has_only(out->user, "_.$~+=-")))
        return refuse(text, "what comes before '@' is not a user", err);
    if (sw_image_ref_parse(rest, &out->ref, err) < 0)
        return sw_hint(err, HOW_TO_WRITE);
    if (!out->ref.registry)
        return refuse(text, "an image id is known only to one Docker engine", err);
    if (*out->ref.registry == '[')
        return refuse(text, "enroot cannot reach a registry by its IPv6 address", err);
    return 0;
}

static int parse_path(const char *text, enum slurm_image_kind kind, const char *wrong,
                      struct slurm_image *out, struct sw_error *err)
{
    out->kind = kind;
    out->path = sw_strdup(text);
    return wrong ? refuse(text, wrong, err) : 0;
}

static int parse(const char *text, struct slurm_image *out, struct sw_error *err)
{
    if (*text == '/' || sw_text_starts(text, "./"))
        return parse_path(text, SLURM_IMAGE_FILE,
                          *text == '.' ? "a file on the cluster needs its absolute path"
                          : slurm_has_only(text, "/._-+@=:") ? NULL
                          : "a path has letters, digits and / . _ - + @ = : only", out, err);
    if (sw_text_starts(text, "dockerd://") || sw_text_starts(text, "podman://"))
        return parse_path(text, SLURM_IMAGE_DAEMON,
                          slurm_has_only(text, "/._:-")
                          ? NULL : "a name has letters, digits and / . _ - : only", out, err);
    return parse_reference(text, out, err);
}

int slurm_image_parse(const char *text, struct slurm_image *out, struct sw_error *err)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };

    *out = image;
    if (sw_text_empty(text) || strcmp(text, "none") == 0)
        return 0;
    if (strlen(text) > 2048)
        return sw_fail(err, SW_E_SPEC, "an image has more than 2048 characters");
    if (parse(text, &image, err) < 0)
        return -1;
    *out = image;
    image = (struct slurm_image){ 0 };
    return 0;
}

/* ---- putting it together ------------------------------------------------------------------ */

static bool is_hub(const struct slurm_image *image)
{
    return strcmp(image->ref.registry, SW_REGISTRY_HUB) == 0;
}

/* As enroot names it where it must be named; NULL: it need not be. */
static const char *registry_of(const struct slurm_image *image)
{
    if (!is_hub(image))
        return image->ref.registry;
    return sw_image_ref_names_host(image->ref.repository) ? HUB : NULL;
}

char *slurm_image_pyxis(const struct slurm_image *image)
{
    const struct sw_image_ref *ref = &image->ref;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *registry;

    if (image->kind != SLURM_IMAGE_REGISTRY)
        return sw_strdup(image->path);
    registry = registry_of(image);
    if (image->user)
        sw_buf_addf(&out, "%s@", image->user);
    if (registry || ref->digest || image->user)
        sw_buf_addf(&out, "%s#", registry ? registry : HUB);
    sw_buf_addf(&out, "%s%c%s", ref->digest ? ref->repository : sw_image_ref_short(ref),
                ref->digest ? '@' : ':', ref->digest ? ref->digest : ref->tag);
    return sw_buf_steal(&out);
}

char *slurm_image_enroot(const struct slurm_image *image)
{
    sw_autofree char *pyxis = slurm_image_pyxis(image);

    return image->kind == SLURM_IMAGE_REGISTRY ? sw_format("docker://%s", pyxis) : NULL;
}

/* The Python SDK's name: '/' and ':' become '_'. Where that could be two images' name, a piece of the
 * reference's hash tells them apart. */
char *slurm_image_file_name(const struct slurm_image *image)
{
    sw_auto(sw_buf) struct sw_buf whole = SW_BUF_INIT;
    sw_auto(sw_buf) struct sw_buf name = SW_BUF_INIT;
    char hash[SW_DIGEST_HEX];
    const char *text, *registry;

    if (image->kind != SLURM_IMAGE_REGISTRY)
        return NULL;
    registry = registry_of(image);
    sw_buf_addf(&whole, "%s%s%s:%s", registry ? registry : "", registry ? "/" : "",
                sw_image_ref_short(&image->ref), image->ref.digest ? image->ref.digest : image->ref.tag);
    text = sw_buf_text(&whole);
    sw_sha256_hex(text, strlen(text), hash);
    for (const char *c = text; *c; c++)
        sw_buf_add_char(&name, *c == '/' || *c == ':' ? '_' : *c);
    if (strchr(text, '_') || strchr(image->ref.registry, ':') ||
        name.length > FILE_NAME_MAX) {
        if (name.length > FILE_NAME_MAX)
            name.data[name.length = FILE_NAME_MAX] = '\0';
        sw_buf_addf(&name, ".%.8s", hash);
    }
    sw_buf_add(&name, ".sqsh");
    return sw_buf_steal(&name);
}

/* ---- the conversion ----------------------------------------------------------------------- */

bool slurm_image_text(struct sw_buf *out, const struct slurm_image *image,
                      const struct slurm_cache *cache)
{
    static const char *const when[] = {
        [SLURM_LATEST_REUSE] = "reuse",
        [SLURM_LATEST_REFRESH] = "refresh",
        [SLURM_LATEST_DIGEST] = "digest",
    };
    sw_autofree char *pyxis = slurm_image_pyxis(image), *uri = slurm_image_enroot(image);
    sw_autofree char *name = slurm_image_file_name(image), *file = NULL;
    bool moves = sw_text_same(image->ref.tag, "latest");     /* it means something else tomorrow */

    if (!name || cache->sqsh == SLURM_SQSH_OFF)
        return false;
    file = sw_format("%s/%s", cache->folder, name);
    slurm_set(out, "SW_IMAGE", uri + strlen("docker://"));
    slurm_set(out, "SW_IMAGE_PYXIS", pyxis);
    slurm_set(out, "SW_IMAGE_URI", uri);
    slurm_set(out, "SW_IMAGE_FILE", file);
    slurm_set(out, "SW_IMAGE_WHEN", when[moves ? cache->latest : SLURM_LATEST_REUSE]);
    slurm_set_number(out, "SW_IMAGE_LIMIT", cache->limit_s > 0 ? cache->limit_s : 1800);
    slurm_set_number(out, "SW_IMAGE_MUST", cache->sqsh == SLURM_SQSH_REQUIRED);
    slurm_set_number(out, "SW_IMAGE_ELSEWHERE", cache->elsewhere);
    slurm_set(out, "SW_IMAGE_TEMP", cache->temp);
    slurm_set(out, "SW_SUBMITTED", cache->submitted);
    slurm_set_patience(out, &cache->patience);
    slurm_text_add(out, SLURM_TEXT_IMAGE);
    return true;
}

void slurm_image_prepare(struct sw_buf *out, const struct slurm_image *image,
                         const struct slurm_cache *cache, const char *or_else)
{
    sw_autofree char *pyxis = slurm_image_pyxis(image);

    if (image->kind == SLURM_IMAGE_NONE)
        return;
    if (slurm_image_text(out, image, cache))
        sw_buf_addf(out, "sw_image || %s\n", or_else);
    else
        slurm_set(out, "SLIPWAY_IMAGE", pyxis);
}
