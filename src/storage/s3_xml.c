/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_xml.c - reads S3's replies. The scanner is small because the dialect is: elements, text,
 * a prolog. Attributes are skipped over, comments too.
 */
#include "storage/s3_xml.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define DEPTH_MAX 32

void s3_xml_init(struct s3_xml *xml, const char *bytes, size_t length)
{
    *xml = (struct s3_xml){ .at = bytes, .end = bytes + length };
}

static bool looking_at(const struct s3_xml *xml, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(xml->end - xml->at) >= length && memcmp(xml->at, text, length) == 0;
}

/* Behind the next `text`; false: it never comes. */
static bool skip_past(struct s3_xml *xml, const char *text)
{
    const char *hit = memmem(xml->at, (size_t)(xml->end - xml->at), text, strlen(text));

    if (!hit)
        return false;
    xml->at = hit + strlen(text);
    return true;
}

static bool is_name_end(char c)
{
    return c == '>' || c == '/' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The name at `at`, without its namespace. */
static void take_name(struct s3_xml *xml)
{
    const char *begin = xml->at;

    while (xml->at < xml->end && !is_name_end(*xml->at)) {
        if (*xml->at == ':')
            begin = xml->at + 1;
        xml->at++;
    }
    xml->name = begin;
    xml->name_length = (size_t)(xml->at - begin);
}

/* To the '>' that ends a tag, over quoted attribute values. */
static bool end_tag(struct s3_xml *xml)
{
    while (xml->at < xml->end && *xml->at != '>') {
        if (*xml->at == '"' || *xml->at == '\'') {
            const char *close = memchr(xml->at + 1, *xml->at, (size_t)(xml->end - xml->at - 1));

            if (!close)
                return false;
            xml->at = close;
        }
        xml->empty = *xml->at == '/';
        xml->at++;
    }
    if (xml->at == xml->end)
        return false;
    xml->at++;
    return true;
}

static enum s3_xml_event open_tag(struct s3_xml *xml)
{
    xml->at++;
    take_name(xml);
    xml->empty = false;
    if (!xml->name_length || !end_tag(xml) || xml->depth == DEPTH_MAX)
        return S3_XML_BAD;
    xml->depth++;
    return S3_XML_OPEN;
}

static enum s3_xml_event close_tag(struct s3_xml *xml)
{
    xml->at += 2;
    take_name(xml);
    if (!xml->name_length || !xml->depth || !end_tag(xml))
        return S3_XML_BAD;
    xml->empty = false;
    xml->depth--;
    return S3_XML_CLOSE;
}

enum s3_xml_event s3_xml_next(struct s3_xml *xml)
{
    if (xml->empty) {
        xml->empty = false;
        xml->depth--;
        return S3_XML_CLOSE;
    }
    while (looking_at(xml, "<?") || looking_at(xml, "<!--"))
        if (!skip_past(xml, xml->at[1] == '?' ? "?>" : "-->"))
            return S3_XML_BAD;
    if (xml->at == xml->end)
        return xml->depth ? S3_XML_BAD : S3_XML_END;
    if (looking_at(xml, "<!"))
        return S3_XML_BAD;
    if (looking_at(xml, "</"))
        return close_tag(xml);
    if (*xml->at == '<')
        return open_tag(xml);
    xml->text = xml->at;
    while (xml->at < xml->end && *xml->at != '<')
        xml->at++;
    xml->text_length = (size_t)(xml->at - xml->text);
    return S3_XML_TEXT;
}

bool s3_xml_is(const struct s3_xml *xml, const char *name)
{
    return xml->name_length == strlen(name) && memcmp(xml->name, name, xml->name_length) == 0;
}

/* ---- entities ------------------------------------------------------------------------------- */

static size_t add_utf8(char *out, unsigned long code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* The entity at text[0] == '&': bytes read, 0 when it is none. At most as long as written. */
static size_t entity(const char *text, size_t left, char *out, size_t *written)
{
    static const struct { const char *word; char means; } named[] = {
        { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&apos;", '\'' },
    };
    char number[12];
    const char *semicolon = memchr(text, ';', left < 11 ? left : 11);
    unsigned long code;
    char *end;

    for (size_t i = 0; i < SW_COUNT(named); i++)
        if (left >= strlen(named[i].word) && !memcmp(text, named[i].word, strlen(named[i].word))) {
            *out = named[i].means;
            *written = 1;
            return strlen(named[i].word);
        }
    if (!semicolon || left < 4 || text[1] != '#')
        return 0;
    memcpy(number, text + 2, (size_t)(semicolon - text) - 2);
    number[semicolon - text - 2] = '\0';
    code = number[0] == 'x' ? strtoul(number + 1, &end, 16) : strtoul(number, &end, 10);
    if (*end || !code || code > 0x10FFFF)
        return 0;
    *written = add_utf8(out, code);
    return (size_t)(semicolon - text) + 1;
}

char *s3_xml_decode(const char *text, size_t length)
{
    char *out = sw_alloc(length + 1), *at = out;

    for (size_t i = 0; i < length;) {
        size_t written = 0, used = text[i] == '&' ? entity(text + i, length - i, at, &written) : 0;

        if (used) {
            i += used;
            at += written;
        } else {
            *at++ = text[i++];
        }
    }
    *at = '\0';
    return out;
}

/* ---- replies -------------------------------------------------------------------------------- */

char *s3_xml_find(const char *bytes, size_t length, const char *name)
{
    struct s3_xml xml;
    bool inside = false;

    s3_xml_init(&xml, bytes, length);
    for (;;) {
        switch (s3_xml_next(&xml)) {
        case S3_XML_OPEN:
            inside = s3_xml_is(&xml, name);
            break;
        case S3_XML_TEXT:
            if (inside)
                return s3_xml_decode(xml.text, xml.text_length);
            break;
        case S3_XML_CLOSE:
            if (inside)
                return sw_strdup("");
            break;
        case S3_XML_END:
        case S3_XML_BAD:
            return NULL;
        }
    }
}

/* A page while it is read: the object so far, and the text of the element now open. */
struct s3_page {
    sw_found_fn *found;
    void *context;
    bool encoded;                /* names are percent-encoded, with '+' for a blank */
    bool in_object, in_folder, truncated;
    struct sw_object object;
    char *text, *token;
    int stopped;
};

static char *page_name(const struct s3_page *page)
{
    if (!page->encoded)
        return sw_strdup(page->text);
    for (char *c = page->text; *c; c++)
        *c = *c == '+' ? ' ' : *c;
    return sw_http_decode(page->text, strlen(page->text));
}

static char *unquoted(const char *text)
{
    size_t length = strlen(text);

    return length > 1 && text[0] == '"' && text[length - 1] == '"'
               ? sw_strndup(text + 1, length - 2)
               : sw_strdup(text);
}

static void object_field(struct s3_page *page, const struct s3_xml *xml)
{
    struct sw_object *object = &page->object;

    if (s3_xml_is(xml, "Key") || s3_xml_is(xml, "PartNumber")) {
        free(object->name);
        object->name = page_name(page);
    } else if (s3_xml_is(xml, "Size")) {
        object->size = strtoll(page->text, NULL, 10);
        object->size = object->size < 0 ? -1 : object->size;
    } else if (s3_xml_is(xml, "ETag")) {
        free(object->etag);
        object->etag = unquoted(page->text);
    } else if (s3_xml_is(xml, "LastModified")) {
        object->mtime_ms = sw_http_date(page->text);
        object->mtime_ms = object->mtime_ms < 0 ? 0 : object->mtime_ms;
    }
}

static void hand_over(struct s3_page *page, enum sw_object_kind kind)
{
    page->object.kind = kind;
    if (!sw_text_empty(page->object.name))
        page->stopped = page->found(page->context, &page->object);
    sw_object_done(&page->object);
    page->object = (struct sw_object){ .size = -1 };
    page->in_object = page->in_folder = false;
}

static void page_open(struct s3_page *page, const struct s3_xml *xml)
{
    free(sw_take(page->text));
    if (s3_xml_is(xml, "Contents") || s3_xml_is(xml, "Part"))
        page->in_object = true;
    else if (s3_xml_is(xml, "CommonPrefixes"))
        page->in_folder = true;
}

static void page_close(struct s3_page *page, const struct s3_xml *xml)
{
    if (page->in_object && (s3_xml_is(xml, "Contents") || s3_xml_is(xml, "Part")))
        hand_over(page, SW_OBJECT_FILE);
    else if (page->in_folder && s3_xml_is(xml, "CommonPrefixes"))
        hand_over(page, SW_OBJECT_FOLDER);
    else if (!page->text)
        return;
    else if (page->in_object)
        object_field(page, xml);
    else if (page->in_folder && s3_xml_is(xml, "Prefix")) {
        free(page->object.name);
        page->object.name = page_name(page);
    } else if (s3_xml_is(xml, "IsTruncated"))
        page->truncated = strcmp(page->text, "true") == 0;
    else if (s3_xml_is(xml, "NextContinuationToken") || s3_xml_is(xml, "NextPartNumberMarker")) {
        free(page->token);
        page->token = sw_take(page->text);
    }
    free(sw_take(page->text));
}

int s3_xml_list(const char *bytes, size_t length, sw_found_fn *found, void *context, char **token,
                struct sw_error *err)
{
    static const char mark[] = "<EncodingType>url</EncodingType>";
    struct s3_page page = { .found = found, .context = context, .object = { .size = -1 } };
    enum s3_xml_event event;
    struct s3_xml xml;

    page.encoded = memmem(bytes, length, mark, sizeof mark - 1) != NULL;
    s3_xml_init(&xml, bytes, length);
    while (!page.stopped && (event = s3_xml_next(&xml)) < S3_XML_END) {
        if (event == S3_XML_OPEN)
            page_open(&page, &xml);
        else if (event == S3_XML_CLOSE)
            page_close(&page, &xml);
        else {
            free(page.text);
            page.text = s3_xml_decode(xml.text, xml.text_length);
        }
    }
    sw_object_done(&page.object);
    free(page.text);
    *token = page.truncated ? sw_take(page.token) : NULL;
    free(page.token);
    if (page.stopped)
        return sw_fail(err, SW_E_INTERRUPTED, "the listing was stopped");
    if (event == S3_XML_BAD || (page.truncated && !*token))
        return sw_fail(err, SW_E_REFUSED, "the server's listing cannot be read");
    return 0;
}
