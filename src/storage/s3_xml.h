/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_xml.h - the little XML that S3 speaks: a pull scanner, and the three replies read with it.
 *
 * No document type, no entity but the five named and the numeric ones, no processing: whatever is
 * not plain elements and text ends the reading. Never trusts lengths; never recurses.
 */
#ifndef SW_STORAGE_S3_XML_H
#define SW_STORAGE_S3_XML_H

#include <stddef.h>

#include "storage/storage.h"

enum s3_xml_event { S3_XML_OPEN, S3_XML_TEXT, S3_XML_CLOSE, S3_XML_END, S3_XML_BAD };

struct s3_xml {
    const char *at, *end;
    const char *name;            /* OPEN, CLOSE: local name, not terminated */
    size_t name_length;
    const char *text;            /* TEXT: raw, entities still in it */
    size_t text_length;
    size_t depth;
    bool empty;                  /* <a/>: its CLOSE comes next */
};

void s3_xml_init(struct s3_xml *xml, const char *bytes, size_t length);
enum s3_xml_event s3_xml_next(struct s3_xml *xml);
bool s3_xml_is(const struct s3_xml *xml, const char *name);
char *s3_xml_decode(const char *text, size_t length);    /* entities to UTF-8; owned */

/* Text of the first element of that name anywhere; owned, NULL: there is none. */
char *s3_xml_find(const char *bytes, size_t length, const char *name);

/* One page of ListObjectsV2 or ListParts. Calls found() for each object, folder or part; *token is
 * the next page, owned, NULL at the end. */
int s3_xml_list(const char *bytes, size_t length, sw_found_fn *found, void *context, char **token,
                struct sw_error *err);

#endif
