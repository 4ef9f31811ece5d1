/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orphans.c - see orphans.h.
 */
#include "platform/kit/orphans.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"

/* Whose it is, when it is not this store's; owned; NULL: ours. */
static char *other_owner(const struct sw_orphans *search, const struct sw_orphan *orphan)
{
    if (!orphan->marked || (orphan->store && sw_text_same(orphan->store, search->sweep->store_id)))
        return NULL;
    if (!orphan->store)
        return sw_format("of %s, without a store's mark", orphan->owner ? orphan->owner : "an unknown "
            "user");
    return sw_format("of %s (uid %s), another store", orphan->owner ? orphan->owner : "another user",
                     orphan->uid ? orphan->uid : "?");
}

bool sw_orphan_add(const struct sw_orphans *search, const struct sw_orphan *orphan)
{
    sw_autofree char *owner = other_owner(search, orphan);
    bool goes = search->sweep->remove && !owner && !orphan->kept;

    json_array_append_new(search->found, sw_json_object(
        SW_STR("what", orphan->what), SW_STR("where", orphan->where),
        SW_STR("job", orphan->job ? orphan->job : ""), SW_STR_OPT("owner", owner),
        SW_STR_OPT("kept", owner ? NULL : orphan->kept), SW_BOOL("removed", goes)));
    return goes;
}

void sw_orphan_stays(const struct sw_orphans *search)
{
    json_object_set_new(json_array_get(search->found, json_array_size(search->found) - 1), "removed",
                        json_false());
}

void sw_orphan_folders(const struct sw_orphans *search, const char *root)
{
    sw_auto(json) json_t *names = sw_folder_names(root, NULL);
    json_t *name;
    size_t i;

    json_array_foreach(names, i, name) {
        const char *id = json_string_value(name);
        sw_autofree char *path = sw_path_join(root, id), *results = sw_path_join(path, "results");

        if (*id == '.' || search->sweep->known(search->sweep->context, id) || sw_file_exists(results))
            continue;
        if (sw_orphan_add(search, &(struct sw_orphan){ .what = "folder", .where = path, .job = id }))
            sw_remove_tree(path, NULL);
    }
}
