/* SPDX-License-Identifier: Apache-2.0 */
/* test_shapes.c - stored documents get their public form, and the schema says which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "api/shapes.h"

static const struct api_field inner[] = {
    { "at", API_TIME, API_NULL, "when", NULL, "at_ms" },
    { 0 }
};
static const struct api_field fields[] = {
    { "id", API_TEXT, API_ALWAYS, "id" },
    { "note", API_TEXT, API_NULL, "note" },
    { "started_at", API_TIME, API_NULL, "start", NULL, "started_ms" },
    { "signal", API_POSITIVE, API_NULL, "signal" },
    { "rate", API_NUMBER, API_NULL, "rate" },
    { "one", API_OBJECT, API_NULL, "one", inner },
    { "rows", API_LIST, API_ALWAYS, "rows", inner },
    { "extra", API_INT, API_OPTIONAL, "extra", NULL, "more" },
    { 0 }
};

static void a_document_gets_names_order_and_nulls(void **state)
{
    static const struct { const char *given, *shaped; } cases[] = {
        { "{\"rows\":[],\"id\":\"a\"}",
          "{\"id\":\"a\",\"note\":null,\"started_at\":null,\"signal\":null,\"rate\":null,\"one\":null,"
          "\"rows\":[]}" },
        { "{\"id\":\"\",\"note\":\"\",\"started_ms\":0,\"signal\":0,\"rate\":2.9699999999999998,\"rows\":[]}",
          "{\"id\":\"\",\"note\":null,\"started_at\":null,\"signal\":null,\"rate\":2.97,\"one\":null,"
          "\"rows\":[]}" },
        { "{\"id\":\"a\",\"note\":\"n\",\"started_ms\":1000,\"signal\":9,\"rate\":3,\"one\":{\"at_ms\":2000},"
          "\"rows\":[{\"x\":1},{\"at_ms\":0}],\"more\":4,\"own\":true}",
          "{\"id\":\"a\",\"note\":\"n\",\"started_at\":\"1970-01-01T00:00:01+00:00\",\"signal\":9,"
          "\"rate\":3,\"one\":{\"at\":\"1970-01-01T00:00:02+00:00\"},"
          "\"rows\":[{\"at\":null,\"x\":1},{\"at\":null}],\"extra\":4,\"own\":true}" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(json) json_t *given = json_loads(cases[i].given, 0, NULL);
        sw_auto(json) json_t *shaped = api_shaped(fields, given), *again = api_shaped(fields, shaped);
        sw_autofree char *text = sw_json_dump(shaped);

        assert_string_equal(text, cases[i].shaped);
        assert_true(json_equal(shaped, again));
    }
}

static void every_shape_begins_with_its_version_and_says_what_its_fields_mean(void **state)
{
    (void)state;
    for (const struct api_shape *shape = api_shapes; shape->verb; shape++) {
        assert_string_equal(shape->fields[0].name, "version");
        assert_true(shape == api_shapes || strcmp(shape[-1].verb, shape->verb) < 0);
        for (const struct api_field *field = shape->fields; field->name; field++)
            assert_true(field->help && *field->help);
        assert_ptr_equal(api_shape_of(shape->verb), shape);
    }
    assert_null(api_shape_of("completion"));
}

static void the_schema_names_types_and_what_is_required(void **state)
{
    const struct api_shape shape = { "x", "An x.", false, fields, NULL, NULL };
    sw_auto(json) json_t *schema = api_shape_schema(&shape);
    const json_t *properties = json_object_get(schema, "properties"), *rows;

    (void)state;
    assert_int_equal(json_array_size(json_object_get(schema, "required")), 7);
    assert_string_equal(sw_json_str(json_object_get(properties, "id"), "type"), "string");
    assert_int_equal(json_array_size(json_object_get(json_object_get(properties, "note"), "type")), 2);
    assert_string_equal(sw_json_str(json_object_get(properties, "started_at"), "format"), "date-time");
    assert_int_equal(sw_json_int(json_object_get(properties, "signal"), "minimum", 0), 1);
    rows = json_object_get(json_object_get(properties, "rows"), "items");
    assert_non_null(json_object_get(rows, "properties"));
}

static void what_has_no_json_is_named_with_what_has(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    assert_null(sw_output_schema("completion", &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    assert_non_null(strstr(err.hint, "status"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_gets_names_order_and_nulls),
        cmocka_unit_test(every_shape_begins_with_its_version_and_says_what_its_fields_mean),
        cmocka_unit_test(the_schema_names_types_and_what_is_required),
        cmocka_unit_test(what_has_no_json_is_named_with_what_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
