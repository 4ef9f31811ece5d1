/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bank.c - see bank.h. Files are regular ones of bounded size; a name is never followed out of its folder.
 */
#include "spec/bank.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "spec/skill.h"

#define BANK_VARIABLE     "TAO_SKILL_BANK_PATH"
#define VERSIONS_VARIABLE "TAO_VERSIONS_FILE"
#define USUAL_FOLDER      "tao-skills-external"
#define VERSIONS          "versions.yaml"
#define MODELS            "skills/models"

enum { MODELS_MAX = 2000 };

struct sw_bank {
    char *folder, *models;
    char *versions[3];             /* where versions.yaml may be, in the order that counts; NULL: not there */
};

/* ---- where ---------------------------------------------------------------------------------------- */

static char *expanded(const char *path)
{
    return sw_text_empty(path) ? NULL
           : sw_text_starts(path, "~/") ? sw_path_home(path + strlen("~/")) : sw_path_absolute(path, NULL);
}

struct sw_bank *sw_bank_open(sw_env_fn *env, void *env_context, bool here, struct sw_error *err)
{
    const char *said = env ? env(env_context, BANK_VARIABLE) : NULL;
    struct sw_bank *bank = sw_new(struct sw_bank);

    bank->folder = sw_text_empty(said) ? sw_path_home(USUAL_FOLDER) : expanded(said);
    bank->models = sw_path_join(bank->folder, MODELS);
    bank->versions[0] = expanded(env ? env(env_context, VERSIONS_VARIABLE) : NULL);
    bank->versions[1] = here ? sw_path_absolute(VERSIONS, NULL) : NULL;
    bank->versions[2] = sw_path_join(bank->folder, VERSIONS);
    if (sw_file_exists(bank->models))
        return bank;
    sw_fail(err, SW_E_NOT_FOUND, "there is no skill bank: '%s' does not exist%s", bank->models,
            sw_text_empty(said) ? ", and " BANK_VARIABLE " is not set" : "");
    sw_hint(err, "set " BANK_VARIABLE " to the folder of a skill bank (it has " MODELS "), or give `image` "
                                                                                       "and "
                 "`command` in the job file");
    sw_bank_close(bank);
    return NULL;
}

void sw_bank_close(struct sw_bank *bank)
{
    if (!bank)
        return;
    free(bank->folder);
    free(bank->models);
    for (size_t i = 0; i < SW_COUNT(bank->versions); i++)
        free(bank->versions[i]);
    free(bank);
}

const char *sw_bank_folder(const struct sw_bank *bank)
{
    return bank->folder;
}

/* ---- files -------------------------------------------------------------------------------------------- */

/* The map that a YAML file holds, owned. */
static json_t *read_map(const char *path, struct sw_error *err)
{
    size_t length = 0;
    sw_autofree char *text = sw_file_read_plain(path, SW_DOCUMENT_MAX, &length, err);
    sw_auto(sw_document) struct sw_document *document =
        text ? sw_document_parse(text, length, SW_YAML, path, err) : NULL;

    if (!document)
        return NULL;
    if (!json_is_object(sw_document_value(document)))
        return sw_null(sw_fail(err, SW_E_SPEC, "%s: expected a mapping", path));
    return json_incref(sw_document_value(document));
}

static char *info_path(const struct sw_bank *bank, const char *model)
{
    return sw_format("%s/%s/references/skill_info.yaml", bank->models, model);
}

/* The models' folders that have such a file: an owned array of names. */
static json_t *model_names(const struct sw_bank *bank, struct sw_error *err)
{
    sw_auto(json) json_t *all = sw_folder_names(bank->models, err);
    json_t *names = all ? json_array() : NULL;
    const json_t *each;
    size_t i;

    json_array_foreach(all, i, each) {
        sw_autofree char *path = info_path(bank, json_string_value(each));

        if (json_array_size(names) < MODELS_MAX && sw_file_exists(path))
            json_array_append(names, (json_t *)each);
    }
    return names;
}

/* ---- the list ------------------------------------------------------------------------------------------ */

/* Why training of this model cannot be searched automatically, owned; NULL: it can. */
static char *no_automl(const struct sw_bank *bank, const char *model, const json_t *info)
{
    sw_autofree char *path = sw_format("%s/%s/schemas/train.schema.json", bank->models, model);
    const char *blocked = sw_json_str(info, "automl_blocked_reason");
    sw_autofree char *text = NULL;
    struct sw_error why = { 0 };
    size_t length = 0;

    if (!sw_json_bool(info, "automl_enabled", false))
        return sw_strdup("automl_enabled is not true");
    if (!sw_text_empty(blocked))
        return sw_strdup(blocked);
    if (!sw_file_exists(path))
        return sw_strdup("schemas/train.schema.json is not there");
    text = sw_file_read_plain(path, SW_DOCUMENT_MAX, &length, &why);
    if (text && sw_skill_schema(text, length, &why) == 0)
        return NULL;
    return sw_format("schemas/train.schema.json: %s", why.message);
}

static json_t *model_row(const struct sw_bank *bank, const char *name)
{
    sw_autofree char *path = info_path(bank, name), *reason = NULL;
    struct sw_error why = { 0 };
    sw_auto(json) json_t *info = read_map(path, &why);
    const char *arch = sw_json_str(info, "network_arch");

    if (!info)
        return sw_json_object(SW_STR("name", name), SW_SUB("actions", json_array()), SW_BOOL("automl", false),
                              SW_STR("problem", why.message));
    reason = no_automl(bank, name, info);
    return sw_json_object(SW_STR("name", name), SW_STR("network_arch", arch ? arch : name),
                          SW_SUB("actions", sw_skill_actions(info)), SW_BOOL("automl", !reason),
                          SW_STR_OPT("reason", reason));
}

json_t *sw_bank_models(const struct sw_bank *bank, struct sw_error *err)
{
    sw_auto(json) json_t *names = model_names(bank, err);
    json_t *rows = names ? json_array() : NULL;
    const json_t *each;
    size_t i;

    json_array_foreach(names, i, each)
        json_array_append_new(rows, model_row(bank, json_string_value(each)));
    return rows;
}

/* ---- one action ---------------------------------------------------------------------------------------- */

/* "nearest" of all names that the bank has for models. */
static int no_such_model(const struct sw_bank *bank, const char *word, const json_t *names,
                         struct sw_error *err)
{
    sw_autofree const char **words = sw_realloc_array(NULL, json_array_size(names) + 1, sizeof *words);
    size_t count = json_array_size(names);
    const char *mean;

    for (size_t i = 0; i < count; i++)
        words[i] = json_string_value(json_array_get(names, i));
    mean = sw_text_nearest(word, words, count);
    sw_fail(err, SW_E_NOT_FOUND, "the skill bank %s has no model '%s'%s%s%s", bank->folder, word,
            mean ? " (did you mean '" : "", mean ? mean : "", mean ? "'?)" : "");
    return sw_hint(err, "`slipway models` lists them");
}

/* The model of this name: its folder's name, which is owned, and what the bank says of it. A folder of
 * exactly that name needs no other to be read. */
static json_t *find_model(const struct sw_bank *bank, const char *word, char **folder, struct sw_error *err)
{
    sw_auto(json) json_t *names = model_names(bank, err), *found = NULL;
    const json_t *each;
    size_t i;

    json_array_foreach(names, i, each) {
        const char *name = json_string_value(each);
        sw_autofree char *path = info_path(bank, name);
        bool exact = strcmp(name, word) == 0;
        sw_auto(json) json_t *info = read_map(path, exact ? err : NULL);

        if (exact && !info)
            return NULL;
        if (!info || !sw_skill_is(info, name, word))
            continue;
        if (found && !exact)
            return sw_null(sw_fail(err, SW_E_SPEC, "the name '%s' fits several models: %s and %s", word,
                                   *folder,
                                   name));
        json_decref(found);
        found = sw_take(info);
        free(*folder);
        *folder = sw_strdup(name);
        if (exact)
            break;
    }
    if (!found && names)
        no_such_model(bank, word, names, err);
    return sw_take(found);
}

/* The reference that a key of versions.yaml stands for; `from` learns where. Owned. */
static char *image_of_key(const struct sw_bank *bank, const char *key, char **from, struct sw_error *err)
{
    for (size_t i = 0; i < SW_COUNT(bank->versions); i++) {
        sw_auto(json) json_t *versions = NULL;
        const char *image;

        if (!bank->versions[i] || !sw_file_exists(bank->versions[i]))
            continue;
        versions = read_map(bank->versions[i], err);
        image = versions ? sw_versions_image(versions, key, err) : NULL;
        if (versions && !image)
            return sw_null(sw_wrap(err, "%s", bank->versions[i]));
        *from = versions ? sw_format("%s images.%s", bank->versions[i], key) : NULL;
        return versions ? sw_strdup(image) : NULL;
    }
    sw_fail(err, SW_E_NOT_FOUND, "no " VERSIONS " says which image '%s' is: %s%s%s%s%s does not exist", key,
            bank->versions[0] ? bank->versions[0] : "", bank->versions[0] ? ", " : "",
            bank->versions[1] ? bank->versions[1] : "", bank->versions[1] ? ", " : "", bank->versions[2]);
    return sw_null(sw_hint(err, "set " VERSIONS_VARIABLE " to such a file, or give `image`"));
}

/* A model with several backends has an image for each, and which one fits depends on the work. */
static json_t *backends_of(const json_t *info)
{
    json_t *names = NULL, *each;
    const char *name;

    json_object_foreach(json_object_get(info, "backend_contracts"), name, each) {
        names = names ? names : json_array();
        json_array_append_new(names, json_string(name));
    }
    return names;
}

static int add_image(const struct sw_bank *bank, const json_t *info, const char *file, json_t *action,
                     struct sw_error *err)
{
    const char *said = sw_json_str(action, "image");
    sw_autofree char *image = NULL, *from = NULL;

    if (!said) {
        json_t *backends = backends_of(info);

        if (backends)
            json_object_set_new(action, "images_of", backends);
        return 0;
    }
    if (!sw_versions_is_key(said)) {
        json_object_set_new(action, "image_from", sw_json_text(file));
        return 0;
    }
    image = image_of_key(bank, said, &from, err);
    if (!image)
        return -1;
    json_object_set_new(action, "image", sw_json_text(image));
    json_object_set_new(action, "image_from", sw_json_text(from));
    return 0;
}

json_t *sw_bank_action(const struct sw_bank *bank, const char *model, const char *action,
                       struct sw_error *err)
{
    sw_autofree char *folder = NULL, *file = NULL;
    sw_auto(json) json_t *info = find_model(bank, model, &folder, err), *found = NULL;
    const char *arch = sw_json_str(info, "network_arch");

    if (!info)
        return NULL;
    file = info_path(bank, folder);
    found = sw_skill_action(info, action, err);
    if (!found)
        return sw_null(sw_wrap(err, "%s: action '%s'", file, action));
    if (add_image(bank, info, file, found, err) < 0)
        return NULL;
    json_object_set_new(found, "model", json_string(folder));
    json_object_set_new(found, "network_arch", sw_json_text(arch ? arch : folder));
    json_object_set_new(found, "action", sw_json_text(action));
    json_object_set_new(found, "file", sw_json_text(file));
    return sw_take(found);
}
