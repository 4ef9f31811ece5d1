/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a growing text that is always NUL-terminated.
 *
 *     sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
 *     sw_buf_addf(&out, "%d jobs", n);
 *     return sw_buf_steal(&out);
 */
#ifndef SW_BASE_BUF_H
#define SW_BASE_BUF_H

#include <stdint.h>

#include "base/auto.h"

struct sw_buf {
    char *data;      /* NULL while nothing was added */
    size_t length;
    size_t room;
};
#define SW_BUF_INIT { NULL, 0, 0 }

void sw_buf_done(struct sw_buf *buf);
static inline void sw_buf_auto(struct sw_buf *buf) { sw_buf_done(buf); }

void sw_buf_add(struct sw_buf *buf, const char *text);
void sw_buf_add_bytes(struct sw_buf *buf, const void *bytes, size_t length);
void sw_buf_add_char(struct sw_buf *buf, char c);
void sw_buf_add_number(struct sw_buf *buf, int64_t number);
void sw_buf_addf(struct sw_buf *buf, const char *fmt, ...) SW_PRINTF(2, 3);
void sw_buf_add_quoted(struct sw_buf *buf, const char *text);  /* as one shell word */
void sw_buf_clear(struct sw_buf *buf);
char *sw_buf_reserve(struct sw_buf *buf, size_t more);         /* room for `more` bytes */
const char *sw_buf_text(const struct sw_buf *buf);             /* never NULL; valid until changed */
char *sw_buf_steal(struct sw_buf *buf);                        /* owned text; the buffer is empty */

#endif
