/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_text.c - the texts of HTTP: headers, dates, locations, percent signs. Nothing here waits.
 */
#include "net/http.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/text.h"

/* ---- requests and replies ---------------------------------------------------------------------- */

void sw_http_request_header(struct sw_http_request *request, const char *name, const char *value)
{
    size_t before = strlen(name), length = strlen(value);
    char *line = sw_alloc(before + 2 + length + 1);

    memcpy(line, name, before);
    /* An empty value: libcurl would take "Name:" for "leave this header out". */
    memcpy(line + before, length ? ": " : ";", length ? 2 : 1);
    memcpy(line + before + 2, value, length);
    request->headers = sw_realloc_array(request->headers, request->header_count + 1,
                                        sizeof *request->headers);
    request->headers[request->header_count++] = line;
}

void sw_http_request_done(struct sw_http_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        explicit_bzero(request->headers[i], strlen(request->headers[i]));
        free(request->headers[i]);
    }
    free(request->headers);
    free(request->url);
    free(request->body_owned);
    *request = (struct sw_http_request)SW_HTTP_REQUEST_INIT;
}

void sw_http_reply_done(struct sw_http_reply *reply)
{
    sw_buf_done(&reply->headers);
    sw_buf_done(&reply->body);
}

char *sw_http_header(const struct sw_http_reply *reply, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = reply->headers.data; line && *line;) {
        const char *end = strchrnul(line, '\n');

        if (((*line ^ *name) & ~32) == 0 && strncasecmp(line, name, length) == 0 &&
            line[length] == ':') {
            line += length + 1;
            while (line < end && (*line == ' ' || *line == '\t'))
                line++;
            while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
            return sw_strndup(line, (size_t)(end - line));
        }
        line = *end ? end + 1 : end;
    }
    return NULL;
}

/* ---- dates ------------------------------------------------------------------------------------- */

static int64_t from_tm(struct tm *when, int64_t ms)
{
    if (when->tm_year < 70 || when->tm_year > 8000)
        return -1;
    return (int64_t)timegm(when) * 1000 + ms;
}

static int64_t iso_date(const char *text)
{
    struct tm when = { 0 };
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &when);
    int64_t ms = 0, scale = 100, offset = 0;

    if (!rest)
        return -1;
    if (*rest == '.')
        for (rest++; isdigit((unsigned char)*rest); rest++, scale /= 10)
            ms += (*rest - '0') * scale;
    if ((*rest == '+' || *rest == '-') && isdigit((unsigned char)rest[1]) &&
        isdigit((unsigned char)rest[2])) {
        bool colon = rest[3] == ':';
        const char *minutes = rest + 3 + colon;

        offset = ((rest[1] - '0') * 10 + rest[2] - '0') * 60;
        if (isdigit((unsigned char)minutes[0]) && isdigit((unsigned char)minutes[1]))
            offset += (minutes[0] - '0') * 10 + minutes[1] - '0';
        offset *= *rest == '-' ? -1 : 1;
    } else if (*rest != 'Z' && *rest != '\0') {
        return -1;
    }
    ms = from_tm(&when, ms);
    return ms < 0 ? -1 : ms - offset * 60000;
}

/* strptime would use the words of the user's language. */
static int month_of(const char *text)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    for (int i = 0; i < 12; i++)
        if (strncasecmp(text, names + 3 * i, 3) == 0)
            return i;
    return -1;
}

static const char *skip_spaces(const char *text)
{
    return text + strspn(text, " \t");
}

/* The number after `before` (a space: any number of them). Returns what follows; NULL: there is none. */
static const char *take_number(const char *text, char before, int digits, int *out)
{
    int count = 0;

    if (!text || (before != ' ' && *text != before))
        return NULL;
    text = before == ' ' ? skip_spaces(text) : text + 1;
    for (*out = 0; count < digits && isdigit((unsigned char)text[count]); count++)
        *out = *out * 10 + text[count] - '0';
    return count ? text + count : NULL;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT". Every reply has one or two: sscanf() would take ten times as long. */
static int64_t rfc_date(const char *text)
{
    struct tm when = { 0 };

    text = strchr(text, ',');
    text = take_number(text ? text + 1 : NULL, ' ', 2, &when.tm_mday);
    text = text ? skip_spaces(text) : NULL;
    when.tm_mon = text ? month_of(text) : -1;
    if (when.tm_mon < 0)
        return -1;
    text = take_number(text + 3, ' ', 4, &when.tm_year);
    text = take_number(text, ' ', 2, &when.tm_hour);
    text = take_number(text, ':', 2, &when.tm_min);
    text = take_number(text, ':', 2, &when.tm_sec);
    when.tm_year -= 1900;
    if (!text || strncmp(skip_spaces(text), "GMT", 3) != 0 || when.tm_mday < 1 ||
        when.tm_mday > 31 || when.tm_hour > 23 || when.tm_min > 59 || when.tm_sec > 60)
        return -1;
    return from_tm(&when, 0);
}

int64_t sw_http_date(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return isdigit((unsigned char)*text) ? iso_date(text) : rfc_date(text);
}

/* ---- URLs -------------------------------------------------------------------------------------- */

static bool is_web(const char *url)
{
    return strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
}

/* Length of "scheme://host:port". */
static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
}

char *sw_http_location(const char *url, const char *location)
{
    size_t origin = origin_length(url);
    size_t folder = strcspn(url, "?#");

    if (!is_web(url))
        return NULL;
    if (strstr(location, "://") && strcspn(location, "/?#") > (size_t)(strstr(location, "://") - location))
        return is_web(location) ? sw_strdup(location) : NULL;
    if (location[0] == '/' && location[1] == '/')
        return sw_format("%.*s:%s", (int)(strchr(url, ':') - url), url, location);
    if (location[0] == '/')
        return sw_format("%.*s%s", (int)origin, url, location);
    while (folder > origin && url[folder - 1] != '/')
        folder--;
    return sw_format("%.*s%s%s", (int)folder, url, folder == origin ? "/" : "", location);
}

/* "https://Host:443" and "https://host" are one. */
static char *origin_of(const char *url)
{
    size_t length = origin_length(url);
    char *origin = sw_strndup(url, length);
    const char *ends = sw_text_starts(url, "https") || sw_text_starts(url, "HTTPS") ? ":443" : ":80";

    for (char *c = origin; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (sw_text_ends(origin, ends))
        origin[length - strlen(ends)] = '\0';
    return origin;
}

bool sw_http_same_host(const char *url, const char *other)
{
    sw_autofree char *a = origin_of(url);
    sw_autofree char *b = origin_of(other);

    return *a && strcmp(a, b) == 0;
}

void sw_http_encode(struct sw_buf *out, const char *text, size_t length, const char *keep)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
            (c && (strchr("-_.~", c) || strchr(keep, c)))) {
            sw_buf_add_char(out, (char)c);
        } else {
            char escaped[3] = { '%', hex[c >> 4], hex[c & 15] };

            sw_buf_add_bytes(out, escaped, 3);
        }
    }
}

/* A number of digits alone; false: there is none, or a larger one than we can hold. */
static bool take_size(const char **at, int64_t *out)
{
    const char *begin = *at;
    int64_t value = 0;

    for (; isdigit((unsigned char)**at); ++*at)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, **at - '0', &value))
            return false;
    *out = value;
    return *at > begin;
}

bool sw_http_content_range(const char *text, int64_t *first, int64_t *last, int64_t *whole)
{
    const char *at = text;

    if (strncasecmp(at, "bytes", 5) != 0 || (at[5] != ' ' && at[5] != '\t'))
        return false;
    at += 5 + strspn(at + 5, " \t");
    if (!take_size(&at, first) || *at++ != '-' || !take_size(&at, last) || *at++ != '/')
        return false;
    if (*at == '*') {
        *whole = -1;
        at++;
    } else if (!take_size(&at, whole)) {
        return false;
    }
    return !at[strspn(at, " \t")] && *first <= *last && (*whole < 0 || *last < *whole);
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *sw_http_decode(const char *text, size_t length)
{
    char *out = sw_alloc(length + 1), *at = out;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == '%' && i + 2 < length && nibble(text[i + 1]) >= 0 &&
            nibble(text[i + 2]) >= 0) {
            *at++ = (char)(nibble(text[i + 1]) << 4 | nibble(text[i + 2]));
            i += 2;
        } else {
            *at++ = text[i];
        }
    }
    return out;
}
