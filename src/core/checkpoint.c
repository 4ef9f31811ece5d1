/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.c - what a checkpoint's name says, and which one is meant.
 *
 * The selection compares tuples of small numbers, larger wins, so the rules stand in one struct
 * in the order in which they count.
 */
#include "core/checkpoint.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

static const char *const endings[] = {
    ".pth", ".tlt", ".hdf5", ".pt", ".ckpt", ".engine", ".onnx", ".trt",
};

static const char *const skipped_folders[] = { "inputs", "ptm", "__pycache__" };

void sw_checkpoints_done(struct sw_checkpoints *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->items[i].path);
    free(all->items);
    *all = (struct sw_checkpoints){ 0 };
}

/* ---- positions in names -------------------------------------------------------------------- */

/* One word, or two with an optional '_' or '-' between. */
struct position_word {
    const char *first, *second;
};

static const struct position_word epoch_words[] = {
    { "checkpoint", "epoch" }, { "model", "epoch" }, { "model", "best" },
    { "epoch", NULL }, { "ep", NULL },
};
static const struct position_word step_words[] = {
    { "step", NULL }, { "iter", NULL }, { "iteration", NULL },
};

static const char *after_separator(const char *at)
{
    return *at == '_' || *at == '-' ? at + 1 : at;
}

static const char *after_word(const char *at, const char *word)
{
    return at && strncasecmp(at, word, strlen(word)) == 0 ? after_separator(at + strlen(word))
                                                         : NULL;
}

/* Digits to a number; one too large for us is no position. */
static int64_t number_at(const char *at, const char **end)
{
    int64_t value = 0;

    for (; isdigit((unsigned char)*at); at++) {
        if (value > (INT64_MAX - 9) / 10)
            value = SW_NO_POSITION;
        if (value != SW_NO_POSITION)
            value = value * 10 + (*at - '0');
    }
    *end = at;
    return value;
}

static bool begins_a_word(const char *path, const char *at)
{
    return at == path || strchr("/\\_.-", at[-1]);
}

/* "12" and "12.pth", nothing but digits in the base name. */
static int64_t numeric_name(const char *path)
{
    const char *end, *base = path + strlen(path);
    int64_t value;

    while (base > path && base[-1] != '/' && base[-1] != '\\')
        base--;
    if (!isdigit((unsigned char)*base))
        return SW_NO_POSITION;
    value = number_at(base, &end);
    if (*end == '\0')
        return value;
    for (size_t i = 0; i < SW_COUNT(endings); i++)
        if (strcasecmp(end, endings[i]) == 0)
            return value;
    return SW_NO_POSITION;
}

static int64_t position(const char *path, const struct position_word *words, size_t count)
{
    int64_t best = SW_NO_POSITION;

    for (const char *at = path; *at; at++) {
        for (size_t i = 0; begins_a_word(path, at) && i < count; i++) {
            const char *end, *digits = after_word(at, words[i].first);
            int64_t value;

            if (digits && words[i].second)
                digits = after_word(digits, words[i].second);
            if (!digits || !isdigit((unsigned char)*digits))
                continue;
            value = number_at(digits, &end);
            best = value > best ? value : best;
        }
    }
    return best != SW_NO_POSITION ? best : numeric_name(path);
}

int64_t sw_checkpoint_epoch(const char *path)
{
    return position(path, epoch_words, SW_COUNT(epoch_words));
}

int64_t sw_checkpoint_step(const char *path)
{
    return position(path, step_words, SW_COUNT(step_words));
}

/* ---- looking for them ---------------------------------------------------------------------- */

struct scan {
    const char *folder;
    bool directories;
    struct sw_checkpoints *out;
};

static bool below_a_skipped_folder(const char *relative)
{
    for (const char *step = relative; *step;) {
        size_t length = strcspn(step, "/");

        for (size_t i = 0; step[length] && i < SW_COUNT(skipped_folders); i++)
            if (strlen(skipped_folders[i]) == length &&
                strncmp(step, skipped_folders[i], length) == 0)
                return true;
        step += length + (step[length] == '/');
    }
    return false;
}

static bool has_ending(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < SW_COUNT(endings); i++)
        if (length > strlen(endings[i]) &&
            strcasecmp(name + length - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

static int stop_at_once(void *context, const char *relative, const struct stat *info)
{
    (void)context, (void)relative, (void)info;
    return 1;
}

static bool is_position_folder(const char *name, const char *path)
{
    static const char *const starts[] = { "epoch_", "epoch-", "step_", "step-" };

    for (size_t i = 0; i < SW_COUNT(starts); i++)
        if (strncasecmp(name, starts[i], strlen(starts[i])) == 0)
            return sw_walk(path, stop_at_once, NULL, NULL) == 1;     /* something is in it */
    return false;
}

static int64_t mtime_ms(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;
}

static int look_at(void *context, const char *relative, const struct stat *info)
{
    const struct scan *scan = context;
    const char *slash = strrchr(relative, '/'), *name = slash ? slash + 1 : relative;
    sw_autofree char *path = sw_path_join(scan->folder, relative);
    bool is_directory = S_ISDIR(info->st_mode);
    struct sw_checkpoints *out = scan->out;

    if (below_a_skipped_folder(relative))
        return 0;
    if (is_directory ? !scan->directories || !is_position_folder(name, path)
                     : !S_ISREG(info->st_mode) || !has_ending(name))
        return 0;
    out->items = sw_realloc_array(out->items, out->count + 1, sizeof *out->items);
    out->items[out->count++] = (struct sw_checkpoint){
        .path = sw_take(path), .is_directory = is_directory, .mtime_ms = mtime_ms(info) };
    return 0;
}

int sw_checkpoints_scan(const char *folder, bool directories, struct sw_checkpoints *out,
                        struct sw_error *err)
{
    struct scan scan = { folder, directories, out };

    return sw_file_exists(folder) ? sw_walk(folder, look_at, &scan, err) : 0;
}

/* ---- choosing ------------------------------------------------------------------------------ */

enum rank { EPOCH, STEP, ACTION, KIND, LOCATION, NOT_LATEST, NUMBER, MTIME, RANKS };

static bool mentions(const char *path, const char *word)
{
    return strcasestr(path, word) != NULL;
}

static bool is_one_of(const char *word, const char *const *all, size_t count)
{
    for (size_t i = 0; word && i < count; i++)
        if (strcasecmp(word, all[i]) == 0)
            return true;
    return false;
}

static bool is_nvdinov2(const char *model)
{
    sw_autofree char *plain = sw_strdup(model ? model : "");

    for (char *at = plain; *at; at++)
        if (*at == '-')
            *at = '_';
    return strcasecmp(plain, "nvdinov2") == 0 || strcasecmp(plain, "nv_dinov2") == 0 ||
           strcasecmp(plain, "nvdino_v2") == 0;
}

static int64_t action_rank(const char *path, const struct sw_checkpoint_choice *choice)
{
    static const char *const training[] = { "resume", "train" };
    static const char *const using[] = { "eval", "evaluate", "inference", "infer", "export",
                                         "best" };
    bool nvdinov2 = is_nvdinov2(choice->model);
    int64_t rank = 0;

    if (is_one_of(choice->action, training, SW_COUNT(training)) && nvdinov2) {
        rank += mentions(path, "model_epoch") ? 3 : 0;
        rank -= mentions(path, "teacher_epoch") || mentions(path, "student_epoch") ? 3 : 0;
    } else if (is_one_of(choice->action, using, SW_COUNT(using))) {
        rank += mentions(path, "best") ? 4 : 0;
        rank += nvdinov2 && mentions(path, "student_epoch") ? 3 : 0;
    }
    return rank;
}

static int64_t kind_rank(const struct sw_checkpoint *one, bool prefer_directory)
{
    if (one->is_directory)
        return prefer_directory ? 4 : 2;
    return prefer_directory ? 0 : 4;
}

static int64_t location_rank(const char *path)
{
    return mentions(path, "/checkpoints/") ? 2 : mentions(path, "/safetensors/") ? 1 : 0;
}

/* False: it is excluded. */
static bool score(const struct sw_checkpoint *one, const struct sw_checkpoint_choice *choice,
                  int64_t out[RANKS])
{
    int64_t epoch = sw_checkpoint_epoch(one->path), step = sw_checkpoint_step(one->path);
    bool latest = mentions(one->path, "latest");

    if (latest && epoch == SW_NO_POSITION && step == SW_NO_POSITION)
        return false;
    out[EPOCH] = out[STEP] = 0;
    if (choice->epoch != SW_NO_POSITION) {
        if (epoch != choice->epoch && (epoch == SW_NO_POSITION || epoch != choice->epoch - 1))
            return false;
        out[EPOCH] = epoch == choice->epoch ? 3 : 2;
    }
    if (choice->step != SW_NO_POSITION) {
        if (step != choice->step)
            return false;
        out[STEP] = 2;
    }
    out[ACTION] = action_rank(one->path, choice);
    out[KIND] = kind_rank(one, choice->prefer_directory);
    out[LOCATION] = location_rank(one->path);
    out[NOT_LATEST] = !latest;
    out[NUMBER] = step != SW_NO_POSITION ? step : epoch;
    out[MTIME] = one->mtime_ms;
    return true;
}

static bool is_larger(const int64_t a[RANKS], const int64_t b[RANKS])
{
    for (int i = 0; i < RANKS; i++)
        if (a[i] != b[i])
            return a[i] > b[i];
    return false;
}

/* Nothing has a number: the newest "latest", else the newest. */
static const struct sw_checkpoint *newest(const struct sw_checkpoint *items, size_t count)
{
    const struct sw_checkpoint *best = NULL;

    for (size_t i = 0; i < count; i++) {
        bool latest = mentions(items[i].path, "latest");
        bool best_latest = best && mentions(best->path, "latest");

        if (!best || (latest && !best_latest) ||
            (latest == best_latest && items[i].mtime_ms > best->mtime_ms))
            best = &items[i];
    }
    return best;
}

bool sw_checkpoint_wants_directories(const struct sw_checkpoint_choice *choice)
{
    return choice->prefer_directory || (choice->action && strcasecmp(choice->action, "resume") == 0);
}

const struct sw_checkpoint *sw_checkpoint_select(const struct sw_checkpoint *items, size_t count,
                                                 const struct sw_checkpoint_choice *choice)
{
    const struct sw_checkpoint *best = NULL;
    int64_t best_ranks[RANKS], ranks[RANKS];

    for (size_t i = 0; i < count; i++) {
        if (items[i].is_directory && !sw_checkpoint_wants_directories(choice))
            continue;
        if (score(&items[i], choice, ranks) && (!best || is_larger(ranks, best_ranks))) {
            best = &items[i];
            memcpy(best_ranks, ranks, sizeof best_ranks);
        }
    }
    if (best || choice->no_latest || choice->epoch != SW_NO_POSITION ||
        choice->step != SW_NO_POSITION)
        return best;
    return newest(items, count);
}
