/* SPDX-License-Identifier: Apache-2.0 */
/* test_talk.c - one watcher for each state folder; its five words, from clients that behave and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "watcher/watcher.h"

struct room {                        /* a state folder, a runtime folder, and what a watcher there heard */
    char dir[32];
    char *state;
    struct sw_watcher_place place;
    atomic_int wakes, stops;
    char id[64];
    struct sw_secrets *secrets;
};

static json_t *hello(void *context)
{
    const struct room *room = context;

    return sw_json_object(SW_STR("version", "0.1"), SW_INT("wakes", room->wakes));
}

static void wake(void *context)
{
    ((struct room *)context)->wakes++;
}

static void take_secret(void *context, const char *id, struct sw_secrets *secrets)
{
    struct room *room = context;

    snprintf(room->id, sizeof room->id, "%s", id);
    sw_secrets_free(room->secrets);
    room->secrets = secrets;
}

static void stop(void *context)
{
    ((struct room *)context)->stops++;
}

static struct sw_watcher_door *listen_in(struct room *room)
{
    const struct sw_watcher_service service = { hello, wake, take_secret, stop, NULL, room };
    struct sw_watcher_door *door = sw_watcher_listen(&room->place, &service, NULL);

    assert_non_null(door);
    return door;
}

static int enter(void **state)
{
    struct room *room = sw_new(struct room);
    sw_autofree char *runtime = NULL;

    strcpy(room->dir, "/tmp/slipway-test-XXXXXX");
    assert_non_null(mkdtemp(room->dir));
    room->state = sw_path_join(room->dir, "a-name-longer-than-any-socket-may-have-"
                               "0123456789012345678901234567890123456789012345678901234567890123456789"
                               "0123456789012345678901234567890123456789012345678901234567890123456789");
    runtime = sw_path_join(room->dir, "run");
    assert_int_equal(mkdir(room->state, 0700), 0);
    assert_int_equal(mkdir(runtime, 0700), 0);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    assert_int_equal(sw_watcher_place(room->state, &room->place, NULL), 0);
    *state = room;
    return 0;
}

static int leave(void **state)
{
    struct room *room = *state;

    sw_watcher_place_done(&room->place);
    sw_secrets_free(room->secrets);
    assert_int_equal(sw_remove_tree(room->dir, NULL), 0);
    free(room->state);
    free(room);
    return 0;
}

static void a_state_folder_has_one_lock_and_another_folder_another(void **state)
{
    struct room *room = *state;
    sw_auto(sw_watcher_place) struct sw_watcher_place other = { 0 };
    struct sw_error err = { 0 };
    sw_autofd int lock = sw_watcher_lock(&room->place, NULL);
    sw_autofd int second = -1;

    assert_true(lock >= 0);
    assert_int_equal(sw_watcher_lock(&room->place, &err), -1);
    assert_int_equal(err.code, SW_E_CONFLICT);
    assert_int_equal(sw_watcher_place(room->dir, &other, NULL), 0);
    assert_string_not_equal(other.socket, room->place.socket);
    second = sw_watcher_lock(&other, NULL);
    assert_true(second >= 0);
}

static void a_folder_that_was_replaced_is_another_one(void **state)
{
    struct room *room = *state;
    sw_autofree char *aside = sw_path_join(room->dir, "aside");

    assert_true(sw_watcher_place_holds(&room->place));
    assert_int_equal(rename(room->state, aside), 0);
    assert_false(sw_watcher_place_holds(&room->place));
    assert_int_equal(mkdir(room->state, 0700), 0);
    assert_false(sw_watcher_place_holds(&room->place));
}

static void without_a_watcher_words_reach_none_and_are_no_error(void **state)
{
    struct room *room = *state;
    struct sw_error err = { 0 };

    assert_null(sw_watcher_hello(&room->place, &err));
    assert_int_equal(err.code, SW_OK);
    assert_int_equal(sw_watcher_wake(&room->place, &err), 0);
    assert_int_equal(sw_watcher_stop(&room->place, &err), 0);
}

static void the_words_are_heard_and_answered(void **state)
{
    struct room *room = *state;
    struct sw_watcher_door *door = listen_in(room);
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    sw_auto(json) json_t *said = NULL;
    struct sw_error err = { 0 };

    assert_int_equal(sw_watcher_wake(&room->place, &err), 1);
    said = sw_watcher_hello(&room->place, &err);
    assert_string_equal(sw_json_str(said, "version"), "0.1");
    assert_int_equal(sw_json_int(said, "wakes", 0), 1);
    sw_secrets_add_value(secrets, "TOKEN", "a value\nwith lines");
    assert_int_equal(sw_watcher_give(&room->place, "train-aaaaaaaa", secrets, &err), 1);
    assert_string_equal(room->id, "train-aaaaaaaa");
    assert_int_equal(sw_secrets_count(room->secrets), 1);
    assert_string_equal(sw_secrets_name(room->secrets, 0), "TOKEN");
    sw_watcher_close(door, NULL);
    assert_int_equal(sw_watcher_wake(&room->place, &err), 0);
}

static int dial(const struct room *room, const char *bytes, size_t length)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, room->place.socket);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    return fd;
}

static void a_client_that_asks_for_the_end_is_answered_when_it_has_come(void **state)
{
    struct room *room = *state;
    struct sw_watcher_door *door = listen_in(room);
    sw_auto(sw_secrets) struct sw_secrets *kept = sw_secrets_new(), *handed = NULL;
    sw_autofd int stopper = dial(room, "stop\n", 5), heir = dial(room, "yield\n", 6);
    char answer[3];

    while (room->stops < 2)
        sw_sleep_ms(1);
    assert_int_equal(recv(stopper, answer, 3, MSG_DONTWAIT), -1);
    sw_secrets_add_value(kept, "TOKEN", "value");
    sw_watcher_close(door, kept);
    assert_int_equal(recv(stopper, answer, 3, MSG_WAITALL), 3);
    assert_memory_equal(answer, "ok\n", 3);
    assert_int_equal(recv(stopper, answer, 1, 0), 0);
    assert_int_equal(recv(heir, answer, 3, MSG_WAITALL), 3);
    handed = sw_secrets_receive(heir, NULL);
    assert_non_null(handed);
    assert_string_equal(sw_secrets_name(handed, 0), "TOKEN");
}

static void nonsense_disturbs_no_one_else(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
    } nonsense[] = { { "\n", 1 }, { "hellooo\n", 8 }, { "\0\0\0\n", 4 }, { "secret x\ngarbage", 16 },
                     { "wake", 4 } };
    struct room *room = *state;
    struct sw_watcher_door *door = listen_in(room);
    char long_line[4096];

    memset(long_line, 'w', sizeof long_line);
    for (size_t i = 0; i < SW_COUNT(nonsense); i++)
        close(dial(room, nonsense[i].bytes, nonsense[i].length));
    close(dial(room, long_line, sizeof long_line));
    assert_int_equal(sw_watcher_wake(&room->place, NULL), 1);
    assert_int_equal(room->wakes, 1);
    assert_int_equal(room->stops, 0);
    sw_watcher_close(door, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_state_folder_has_one_lock_and_another_folder_another, enter, leave),
        cmocka_unit_test_setup_teardown(a_folder_that_was_replaced_is_another_one, enter, leave),
        cmocka_unit_test_setup_teardown(without_a_watcher_words_reach_none_and_are_no_error, enter, leave),
        cmocka_unit_test_setup_teardown(the_words_are_heard_and_answered, enter, leave),
        cmocka_unit_test_setup_teardown(a_client_that_asks_for_the_end_is_answered_when_it_has_come, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(nonsense_disturbs_no_one_else, enter, leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
