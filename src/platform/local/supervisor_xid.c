/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_xid.c - the Xid codes that the kernel logged for the GPUs of a job.
 *
 * Only the kernel's messages have them. A user who may not read those (most users, on most machines)
 * gets none, and that is no error. A message counts when it is about one of
 * the job's own GPUs and came after its commands began.
 */
#include "platform/local/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KMSG_RECORD_MAX = 8192, KMSG_RECORDS_MAX = 100000, XIDS_MAX = 16 };

/* "6,123,4567890,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=..." -> 79; -1: not such a record, from
 * before `since_us`, or of another GPU than those in `addresses`. */
int sup_xid_of(const char *record, int64_t since_us, const char addresses[][32], int count)
{
    const char *said = strchr(record, ';');
    long long at_us;
    char address[32];
    int code;

    if (!said || sscanf(record, "%*u,%*u,%lld", &at_us) != 1 || at_us < since_us)
        return -1;
    said = strstr(said, "NVRM: Xid (PCI:");
    if (!said || sscanf(said, "NVRM: Xid (PCI:%31[0-9a-fA-F:]): %6d", address, &code) != 2)
        return -1;
    for (int i = 0; i < count; i++)
        if (strcasecmp(address, addresses[i]) == 0)
            return code;
    return -1;
}

static void add_once(json_t *codes, int code)
{
    size_t i;
    json_t *known;

    json_array_foreach(codes, i, known)
        if (json_integer_value(known) == code)
            return;
    if (json_array_size(codes) < XIDS_MAX)
        json_array_append_new(codes, json_integer(code));
}

void sup_find_xids(const struct sup *sup)
{
    sw_autofd int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    sw_auto(json) json_t *codes = json_array();
    char addresses[SW_GPU_MAX][32], record[KMSG_RECORD_MAX];
    int count = 0;

    for (int i = 0; i < sup->lease->count; i++)
        count += sw_gpu_meter_pci(sup->usage.meter, i, addresses[count]);
    for (int i = 0; kmsg >= 0 && count > 0 && i < KMSG_RECORDS_MAX; i++) {
        ssize_t n = read(kmsg, record, sizeof record - 1);
        int code;

        if (n < 0 && errno == EPIPE)             /* overwritten while we read: go on after it */
            continue;
        if (n <= 0)
            break;
        record[n] = '\0';
        code = sup_xid_of(record, sup->commands_began_us, (const char(*)[32])addresses, count);
        if (code >= 0)
            add_once(codes, code);
    }
    if (json_array_size(codes) > 0)
        json_object_set(sup->facts, "xid", codes);
}
