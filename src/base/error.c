/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - filling in struct sw_error, and what each kind of error is called outside.
 *
 * Reporting cannot itself fail: texts that are too long are cut, visibly. URIs lose what no reader may
 * see (shown.h). The exit statuses follow sysexits(3), so that a script can tell our faults from the
 * job's own code.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/shown.h"

static void cut_visibly(char *text, size_t size, int wanted)
{
    if (wanted >= (int)size)
        memcpy(text + size - 4, "...", 4);
}

int sw_fail(struct sw_error *err, enum sw_code code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return -1;
    err->code = code;
    err->hint[0] = '\0';
    va_start(args, fmt);
    cut_visibly(err->message, sizeof err->message,
                vsnprintf(err->message, sizeof err->message, fmt, args));
    va_end(args);
    sw_uris_hide(err->message);
    return -1;
}

int sw_fail_errno(struct sw_error *err, enum sw_code code, const char *fmt, ...)
{
    int saved = errno;
    va_list args;
    int used;

    if (!err)
        return -1;
    err->code = code;
    err->hint[0] = '\0';
    va_start(args, fmt);
    used = vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    if (saved && used >= 0 && used < (int)sizeof err->message)     /* 0 would read "Success" */
        snprintf(err->message + used, sizeof err->message - (size_t)used, ": %s", strerror(saved));
    sw_uris_hide(err->message);
    if (saved == ENOSPC || saved == EDQUOT)
        sw_hint(err, "the disk is full: free some space, then try again; nothing was lost");
    else if (saved == EROFS)
        sw_hint(err, "the file system is read-only: choose another place with SLIPWAY_STATE_DIR");
    errno = saved;
    return -1;
}

int sw_wrap(struct sw_error *err, const char *fmt, ...)
{
    char inner[sizeof err->message];
    va_list args;
    int used;

    if (!err)
        return -1;
    memcpy(inner, err->message, sizeof inner);
    va_start(args, fmt);
    used = vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    if (used >= 0 && used < (int)sizeof err->message)
        cut_visibly(err->message + used, sizeof err->message - (size_t)used,
                    snprintf(err->message + used, sizeof err->message - (size_t)used, ": %s",
                             inner));
    sw_uris_hide(err->message);
    return -1;
}

int sw_hint(struct sw_error *err, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return -1;
    va_start(args, fmt);
    cut_visibly(err->hint, sizeof err->hint, vsnprintf(err->hint, sizeof err->hint, fmt, args));
    va_end(args);
    sw_uris_hide(err->hint);
    return -1;
}

static const struct {
    const char *name;
    int exit_status;
} codes[] = {
    [SW_OK]            = { "Ok", 0 },
    [SW_E_USAGE]       = { "UsageError", 64 },
    [SW_E_SPEC]        = { "SpecError", 65 },
    [SW_E_NOT_FOUND]   = { "NotFoundError", 66 },
    [SW_E_CREDENTIAL]  = { "CredentialError", 77 },
    [SW_E_UNREACHABLE] = { "UnreachableError", 69 },
    [SW_E_REFUSED]     = { "RefusedError", 76 },
    [SW_E_CONFLICT]    = { "ConflictError", 68 },
    [SW_E_STORE]       = { "StoreError", 73 },
    [SW_E_IO]          = { "IOError", 74 },
    [SW_E_UNSUPPORTED] = { "UnsupportedError", 78 },
    [SW_E_TIMEOUT]     = { "TimeoutError", 75 },
    [SW_E_INTERRUPTED] = { "InterruptedError", 72 },
    [SW_E_INTERNAL]    = { "InternalError", 70 },
    [SW_E_UNTRUSTED]   = { "UntrustedError", 77 },
};

const char *sw_code_name(enum sw_code code)
{
    return (size_t)code < SW_COUNT(codes) ? codes[code].name : "InternalError";
}

int sw_code_exit_status(enum sw_code code)
{
    return (size_t)code < SW_COUNT(codes) ? codes[code].exit_status : 70;
}

int sw_pass(struct sw_error *err, const struct sw_error *why)
{
    if (err)
        *err = *why;
    return -1;
}
