/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_arch.c - see gpu_arch.h.
 */
#include "core/gpu_arch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "core/finding.h"

#define BETWEEN " ,;\t\r\n\""

enum { SM_LEAST = 20, SM_MOST = 999 };

/* The number of sm_NN at `text`, which ends at *end; 0: it is none. */
static int number_of(const char *text, const char **end)
{
    char *rest;
    long whole, part = -1;

    if (strncasecmp(text, "sm", 2) == 0)
        text += text[2] == '_' || text[2] == '-' ? 3 : 2;
    if (!isdigit((unsigned char)*text))
        return 0;
    whole = strtol(text, &rest, 10);
    if (*rest == '.' && isdigit((unsigned char)rest[1]))
        part = strtol(rest + 1, &rest, 10);
    *end = rest;
    if (part >= 0 && (part > 9 || whole > 99))
        return 0;
    whole = part >= 0 ? whole * 10 + part : whole;
    return whole >= SM_LEAST && whole <= SM_MOST ? (int)whole : 0;
}

static void add_one(struct sw_gpu_archs *archs, int sm, bool code, bool ptx)
{
    for (size_t i = 0; i < archs->count; i++)
        if (archs->items[i].sm == sm) {
            archs->items[i].code |= code;
            archs->items[i].ptx |= ptx;
            return;
        }
    if (archs->count == SW_GPU_ARCHS_MAX)
        return;
    archs->items[archs->count].sm = sm;
    archs->items[archs->count].code = code;
    archs->items[archs->count++].ptx = ptx;
}

/* What may follow the number: a letter of the architecture, then how it was built. */
static void add_word(struct sw_gpu_archs *archs, const char *word)
{
    static const struct { const char *ending; bool code, ptx; } endings[] = {
        { "", true, false }, { "+PTX", true, true }, { "-real", true, false }, { "-virtual", false, true },
    };
    const char *rest = NULL;
    int sm = number_of(word, &rest);

    if (!sm)
        return;
    rest += *rest == 'a' || *rest == 'f';
    for (size_t i = 0; i < SW_COUNT(endings); i++)
        if (sw_text_same_nocase(rest, endings[i].ending))
            add_one(archs, sm, endings[i].code, endings[i].ptx);
}

void sw_gpu_archs_add(struct sw_gpu_archs *archs, const char *text)
{
    sw_autofree char *copy = sw_strdup(text ? text : "");
    char *rest = copy;

    for (char *word; (word = strsep(&rest, BETWEEN));)
        add_word(archs, word);
}

void sw_gpu_archs_of_image(struct sw_gpu_archs *archs, const json_t *environment)
{
    static const char *const names[] = { "TORCH_CUDA_ARCH_LIST=", "CUDAARCHS=" };
    const json_t *each;
    size_t i;

    json_array_foreach(environment, i, each)
        for (size_t n = 0; n < SW_COUNT(names); n++)
            if (json_is_string(each) && sw_text_starts(json_string_value(each), names[n]))
                sw_gpu_archs_add(archs, json_string_value(each) + strlen(names[n]));
}

void sw_gpu_archs_text(const struct sw_gpu_archs *archs, struct sw_buf *out)
{
    for (size_t i = 0; i < archs->count; i++)
        sw_buf_addf(out, "%ssm_%d%s", i ? ", " : "", archs->items[i].sm, archs->items[i].ptx ? "+PTX" : "");
}

static bool runs_on(const struct sw_gpu_archs *image, int sm)
{
    for (size_t i = 0; i < image->count; i++) {
        int built = image->items[i].sm;

        if ((image->items[i].code && built / 10 == sm / 10 && built <= sm) ||
            (image->items[i].ptx && built <= sm))
            return true;
    }
    return false;
}

bool sw_gpu_archs_fit(const struct sw_gpu_archs *machine, const struct sw_gpu_archs *image,
                      struct sw_gpu_archs *lacks)
{
    for (size_t i = 0; image->count > 0 && i < machine->count; i++)
        if (!runs_on(image, machine->items[i].sm))
            add_one(lacks, machine->items[i].sm, true, false);
    return lacks->count == 0;
}

#define CHECK "GPU architecture"

void sw_gpu_arch_row(json_t *rows, const struct sw_gpu_archs *machine, const struct sw_gpu_archs *image,
                     enum sw_gpu_arch_which which, const char *unseen)
{
    sw_auto(sw_buf) struct sw_buf here = SW_BUF_INIT, built = SW_BUF_INIT, without = SW_BUF_INIT;
    struct sw_gpu_archs lacks = { 0 };
    bool all = sw_gpu_archs_fit(machine, image, &lacks);
    bool fits = all || (which == SW_GPU_ARCH_ANY && lacks.count < machine->count);
    sw_autofree char *message = NULL;

    if (image->count == 0 || machine->count == 0) {
        sw_finding_open(rows, CHECK, SW_STATE_NOT_CHECKED,
                        image->count == 0 ? "the image has no TORCH_CUDA_ARCH_LIST, so what it is built for "
                                            "is unknown" : unseen, NULL);
        return;
    }
    sw_gpu_archs_text(machine, &here);
    sw_gpu_archs_text(image, &built);
    sw_gpu_archs_text(&lacks, &without);
    message = all    ? sw_format("%s: the image is built for %s", sw_buf_text(&here), sw_buf_text(&built))
              : fits ? sw_format("the image is built for %s, and some nodes have %s", sw_buf_text(&built),
                                 sw_buf_text(&without))
                     : sw_format("the image is built for %s, and the GPUs are %s", sw_buf_text(&built),
                                 sw_buf_text(&without));
    sw_finding(rows, CHECK, fits, message, "use an image that is built for these GPUs");
}
