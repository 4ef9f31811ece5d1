/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_s3_xml.c - listings and errors as servers write them, and what is no listing at all.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/s3_xml.h"

static const char page[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
    "<Prefix>p/</Prefix><KeyCount>3</KeyCount><MaxKeys>1000</MaxKeys>"
    "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
    "<Contents><Key>p/a+b%2Bc%252F%C3%BC</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>"
    "<ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag><Size>434234</Size>"
    "<StorageClass>STANDARD</StorageClass><Owner><ID>7</ID></Owner></Contents>"
    "<Contents><Key>p/empty</Key><Size>0</Size></Contents>"
    "<CommonPrefixes><Prefix>p/folder/</Prefix></CommonPrefixes>"
    "<NextContinuationToken>1ueGc/+=</NextContinuationToken></ListBucketResult>";

struct seen {
    int count;
    struct sw_object objects[8];
};

static int keep(void *context, struct sw_object *object)
{
    struct seen *seen = context;

    if (seen->count < 8) {
        seen->objects[seen->count++] = *object;
        *object = (struct sw_object){ .size = -1 };
    }
    return 0;
}

static void forget(struct seen *seen)
{
    for (int i = 0; i < seen->count; i++)
        sw_object_done(&seen->objects[i]);
}

static void a_page_gives_its_objects_folders_and_the_next_token(void **state)
{
    struct seen seen = { 0 };
    sw_autofree char *token = NULL;

    (void)state;
    assert_int_equal(s3_xml_list(page, sizeof page - 1, keep, &seen, &token, NULL), 0);
    assert_int_equal(seen.count, 3);
    assert_string_equal(seen.objects[0].name, "p/a b+c%2F\xc3\xbc");
    assert_int_equal(seen.objects[0].size, 434234);
    assert_int_equal(seen.objects[0].mtime_ms, 1255369830000);
    assert_string_equal(seen.objects[0].etag, "fba9dede5f27731c9771645a39863328");
    assert_int_equal(seen.objects[1].size, 0);
    assert_int_equal(seen.objects[2].kind, SW_OBJECT_FOLDER);
    assert_string_equal(seen.objects[2].name, "p/folder/");
    assert_string_equal(token, "1ueGc/+=");
    forget(&seen);
}

static void a_page_cut_anywhere_is_refused(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof page - 1; length++) {
        struct seen seen = { 0 };
        char *token = NULL;
        int result = s3_xml_list(page, length, keep, &seen, &token, NULL);

        /* Only blanks or the prolog may come before the first element. */
        assert_true(result < 0 || length <= strlen("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
        free(token);
        forget(&seen);
    }
}

static void a_truncated_page_without_token_is_refused(void **state)
{
    static const char text[] = "<R><IsTruncated>true</IsTruncated></R>";
    char *token = NULL;

    (void)state;
    assert_int_equal(s3_xml_list(text, sizeof text - 1, keep, NULL, &token, NULL), -1);
    assert_null(token);
}

static void entities_become_characters(void **state)
{
    static const char text[] = "a&amp;b&lt;&gt;&quot;&apos;&#65;&#xfc;&nope;&#0;&";
    sw_autofree char *plain = s3_xml_decode(text, sizeof text - 1);

    (void)state;
    assert_string_equal(plain, "a&b<>\"'A\xc3\xbc&nope;&#0;&");
}

static void an_error_is_found_behind_blanks(void **state)
{
    static const char text[] = "   \n  <?xml version=\"1.0\"?><Error><Code>InternalError</Code>"
                               "<Message>try &amp; again</Message></Error>";
    sw_autofree char *code = s3_xml_find(text, sizeof text - 1, "Code");
    sw_autofree char *message = s3_xml_find(text, sizeof text - 1, "Message");
    sw_autofree char *none = s3_xml_find(text, sizeof text - 1, "Region");

    (void)state;
    assert_string_equal(code, "InternalError");
    assert_string_equal(message, "try & again");
    assert_null(none);
}

static void document_types_and_deep_nesting_end_the_reading(void **state)
{
    static const char bomb[] = "<!DOCTYPE x [<!ENTITY a \"b\">]><Error><Code>x</Code></Error>";
    char deep[400];

    (void)state;
    assert_null(s3_xml_find(bomb, sizeof bomb - 1, "Code"));
    for (size_t i = 0; i < 133; i++)
        memcpy(deep + 3 * i, "<a>", 3);
    assert_null(s3_xml_find(deep, 399, "Code"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_gives_its_objects_folders_and_the_next_token),
        cmocka_unit_test(a_page_cut_anywhere_is_refused),
        cmocka_unit_test(a_truncated_page_without_token_is_refused),
        cmocka_unit_test(entities_become_characters),
        cmocka_unit_test(an_error_is_found_behind_blanks),
        cmocka_unit_test(document_types_and_deep_nesting_end_the_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
