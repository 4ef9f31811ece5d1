/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xid.c - NVIDIA's Xid numbers: whose fault is it?
 *
 * An Xid is not always broken hardware: 13, 31 and 43 are what a kernel with a wild pointer
 * leaves behind, and retrying those repeats the bug. Nor is it always an end: 63 and 92 only
 * record what the hardware mended itself. A number that is not in the table has no cause.
 */
#include "diagnose/diagnose_internal.h"

#include <string.h>

static const struct {
    int code;
    enum diag_xid kind;
    const char *meaning;
} xids[] = {
    { 13,  DIAG_XID_PROGRAM,  "graphics engine exception" },
    { 31,  DIAG_XID_PROGRAM,  "a kernel used a bad address" },
    { 43,  DIAG_XID_PROGRAM,  "a kernel was stopped after a fault" },
    { 48,  DIAG_XID_HARDWARE, "double bit ECC error" },
    { 61,  DIAG_XID_HARDWARE, "internal micro-controller breakpoint" },
    { 62,  DIAG_XID_HARDWARE, "internal micro-controller halt" },
    { 64,  DIAG_XID_HARDWARE, "row remapping failed" },
    { 68,  DIAG_XID_PROGRAM,  "video engine exception" },
    { 74,  DIAG_XID_HARDWARE, "NVLink error" },
    { 79,  DIAG_XID_HARDWARE, "the GPU has fallen off the bus" },
    { 94,  DIAG_XID_HARDWARE, "contained memory error" },
    { 95,  DIAG_XID_HARDWARE, "uncontained memory error" },
    { 110, DIAG_XID_HARDWARE, "security fault" },
    { 119, DIAG_XID_HARDWARE, "the GPU's system processor does not answer" },
    { 120, DIAG_XID_HARDWARE, "error of the GPU's system processor" },
    { 136, DIAG_XID_HARDWARE, "NVLink training failed" },
    { 140, DIAG_XID_HARDWARE, "unrecovered ECC error" },
    { 143, DIAG_XID_HARDWARE, "the GPU did not initialise" },
    { 149, DIAG_XID_HARDWARE, "NVLink error" },
};

enum diag_xid diag_xid_kind(int64_t code, const char **meaning)
{
    for (size_t i = 0; i < SW_COUNT(xids); i++) {
        if (xids[i].code == code) {
            if (meaning)
                *meaning = xids[i].meaning;
            return xids[i].kind;
        }
    }
    return DIAG_XID_UNKNOWN;
}

/* "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, ..." -> 79; -1: no such line. */
static int64_t code_of_line(const struct diag_line *line)
{
    static const char before[] = "): ";
    const char *word = memmem(line->text, line->length, "Xid (PCI:", 9);
    const char *end = line->text + line->length;
    const char *at = word ? memmem(word, (size_t)(end - word), before, sizeof before - 1) : NULL;
    int64_t code = -1;

    if (!at)
        return -1;
    for (at += sizeof before - 1; at < end && *at >= '0' && *at <= '9' && code < 10000; at++)
        code = (code < 0 ? 0 : code * 10) + (*at - '0');
    return code;
}

bool diag_line_is_hardware_xid(const struct diag_line *line)
{
    return diag_xid_kind(code_of_line(line), NULL) == DIAG_XID_HARDWARE;
}

bool diag_line_is_program_xid(const struct diag_line *line)
{
    return diag_xid_kind(code_of_line(line), NULL) == DIAG_XID_PROGRAM;
}
