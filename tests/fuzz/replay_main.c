/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_main.c - runs a fuzz target over its seeds, in place of libFuzzer.
 *
 *     fuzz_yaml seeds/yaml
 *
 * Every seed runs from an exact-size copy, so that a sanitizer sees a read past its end.
 */
#include <dirent.h>
#include <string.h>

#include "base/file.h"
#include "fuzz.h"

static void replay(const char *path)
{
    struct sw_error err = { 0 };
    size_t length = 0;
    sw_autofree char *text = sw_file_read(path, 16 * 1024 * 1024, &length, &err);
    sw_autofree uint8_t *copy = malloc(length ? length : 1);

    if (!text || !copy) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    fprintf(stderr, "%s\n", path);                 /* the last one printed is the one that broke */
    memcpy(copy, text, length);
    LLVMFuzzerTestOneInput(copy, length);
}

static int replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        sw_autofree char *seed = sw_path_join(path, entry->d_name);

        if (entry->d_name[0] == '.')
            continue;
        replay(seed);
        count++;
    }
    if (folder)
        closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    printf("%d seeds replayed\n", count);
    return count > 0 ? 0 : 1;                      /* a target without seeds proves nothing */
}
