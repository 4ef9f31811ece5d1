/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_curl_memory.c - blocks of all sizes hold what is written into them, a freed one is handed out again,
 * and what must not succeed does not.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "net/curl_memory.h"

static const size_t sizes[] = { 0, 1, 31, 32, 33, 64, 65, 4096, 69632, 131071, 131072, 131073, 300000 };

static void every_size_has_room_for_itself(void **state)
{
    unsigned char *blocks[SW_COUNT(sizes)];

    (void)state;
    for (int turn = 0; turn < 3; turn++) {                 /* the second and third are handed out again */
        for (size_t i = 0; i < SW_COUNT(sizes); i++) {
            blocks[i] = curl_memory_malloc(sizes[i]);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
            memset(blocks[i], (int)i + 1, sizes[i]);
        }
        for (size_t i = 0; i < SW_COUNT(sizes); i++) {
            for (size_t at = 0; at < sizes[i]; at++)
                assert_int_equal(blocks[i][at], i + 1);
            curl_memory_free(blocks[i]);
        }
    }
}

static void a_freed_block_is_handed_out_again_and_zeroed_when_asked(void **state)
{
    char *first = curl_memory_malloc(69632), *second;

    (void)state;
    memset(first, 'x', 69632);
    curl_memory_free(first);
    second = curl_memory_calloc(17, 4096);
    assert_ptr_equal(first, second);
    for (size_t i = 0; i < 69632; i++)
        assert_int_equal(second[i], 0);
    curl_memory_free(second);
}

static void a_text_stays_while_it_grows(void **state)
{
    char *text = curl_memory_strdup("thirty-one letters are in this.");

    (void)state;
    for (size_t size = 32; size <= 1 << 20; size *= 3) {
        text = curl_memory_realloc(text, size);
        assert_string_equal(text, "thirty-one letters are in this.");
        memset(text + 32, 'x', size - 32);
    }
    text = curl_memory_realloc(text, 32);
    assert_string_equal(text, "thirty-one letters are in this.");
    curl_memory_free(text);
    text = curl_memory_realloc(NULL, 5);
    assert_non_null(text);
    curl_memory_free(text);
    curl_memory_free(NULL);
}

static void a_size_that_overflows_is_refused(void **state)
{
    (void)state;
    assert_null(curl_memory_malloc(SIZE_MAX));
    assert_null(curl_memory_malloc(SIZE_MAX - 8));
    assert_null(curl_memory_calloc(SIZE_MAX / 2, 4));
}

static void *take_and_give(void *seed)
{
    for (size_t i = 0; i < 20000; i++) {
        unsigned char *block = curl_memory_malloc(40 + i % 100), mark = (unsigned char)(uintptr_t)seed;

        memset(block, mark, 40);
        if (block[0] != mark || block[39] != mark)
            return seed;
        curl_memory_free(block);
    }
    return NULL;
}

static void threads_do_not_share_a_block(void **state)
{
    pthread_t threads[3];

    (void)state;
    for (uintptr_t i = 0; i < SW_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, (void *)(i + 1)), 0);
    for (size_t i = 0; i < SW_COUNT(threads); i++) {
        void *result;

        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_has_room_for_itself),
        cmocka_unit_test(a_freed_block_is_handed_out_again_and_zeroed_when_asked),
        cmocka_unit_test(a_text_stays_while_it_grows),
        cmocka_unit_test(a_size_that_overflows_is_refused),
        cmocka_unit_test(threads_do_not_share_a_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
