/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_seen.c - GPUs as a program sees them that cannot load NVML.
 *
 * The driver's files are a made-up tree, nvidia-smi is the stand-in of tests/sim/smi (SIM_SMI_DIR).
 */
#include "core/gpu_seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"

struct place {
    char root[64];
    char *path;                        /* PATH as it was */
};

static void set_path(const char *first, const char *rest)
{
    sw_autofree char *path = sw_format("%s:%s", first, rest);

    setenv("PATH", path, 1);
}

static int begin(void **state)
{
    struct place *place = sw_new(struct place);

    snprintf(place->root, sizeof place->root, "/tmp/slipway-gpus-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    place->path = sw_strdup(getenv("PATH"));
    set_path(getenv("SIM_SMI_DIR"), place->path);
    *state = place;
    return 0;
}

static int end(void **state)
{
    struct place *place = *state;

    setenv("PATH", place->path, 1);
    unsetenv("SIM_GPUS");
    unsetenv("SIM_SMI_STATUS");
    unsetenv("SIM_SMI_HANGS");
    sw_remove_tree(place->root, NULL);
    free(place->path);
    free(place);
    return 0;
}

static void add_device(const struct place *place, const char *address, const char *uuid)
{
    sw_autofree char *folder = sw_format("%s/driver/nvidia/gpus/%s", place->root, address);
    sw_autofree char *path = sw_format("%s/information", folder);
    sw_autofree char *text = sw_format(
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 190\nGPU UUID: \t %s\nVideo BIOS: \t 96.00.99\n"
        "Bus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t 0\nGPU Excluded:\t No\n",
        uuid, address);

    assert_int_equal(sw_mkdirs(folder, 0700, NULL), 0);
    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
}

static void the_driver_names_its_devices_in_the_order_of_the_bus(void **state)
{
    struct place *place = *state;
    struct sw_gpu_seen seen[4];

    add_device(place, "0000:a7:00.0", "GPU-bbbb");
    add_device(place, "0000:1b:00.0", "GPU-aaaa");
    assert_int_equal(sw_gpu_seen_in_proc(place->root, seen, 4), 2);
    assert_string_equal(seen[0].gpu.uuid, "GPU-aaaa");
    assert_string_equal(seen[0].gpu.name, "NVIDIA H200");
    assert_string_equal(seen[0].pci, "0000:1b:00");
    assert_int_equal(seen[0].gpu.busy_percent, -1);
    assert_int_equal(seen[1].gpu.index, 1);
    assert_string_equal(seen[1].gpu.uuid, "GPU-bbbb");
}

static void a_device_without_a_name_is_left_out_and_keeps_its_number(void **state)
{
    struct place *place = *state;
    struct sw_gpu_seen seen[4];

    add_device(place, "0000:1b:00.0", "GPU-?");
    add_device(place, "0000:2b:00.0", "GPU-/../etc");
    add_device(place, "0000:3b:00.0", "GPU-cccc");
    assert_int_equal(sw_gpu_seen_in_proc(place->root, seen, 4), 1);
    assert_int_equal(seen[0].gpu.index, 2);
}

static void more_devices_than_room_do_no_harm(void **state)
{
    struct place *place = *state;
    struct sw_gpu_seen seen[1];

    add_device(place, "0000:1b:00.0", "GPU-aaaa");
    add_device(place, "0000:3b:00.0", "GPU-cccc");
    assert_int_equal(sw_gpu_seen_in_proc(place->root, seen, 1), 1);
}

static void a_machine_without_a_driver_has_none(void **state)
{
    struct place *place = *state;
    struct sw_gpu_seen seen[1];

    assert_int_equal(sw_gpu_seen_in_proc(place->root, seen, 1), 0);
}

static void nvidia_smi_tells_memory_and_load(void **state)
{
    struct sw_gpu_seen seen[SW_GPU_MAX];
    bool lost = true;

    (void)state;
    setenv("SIM_GPUS", "2", 1);
    assert_int_equal(sw_gpu_seen_by_smi(seen, SW_GPU_MAX, &lost), 2);
    assert_false(lost);
    assert_string_equal(seen[1].gpu.uuid, "GPU-00000000-0000-0000-0000-000000000001");
    assert_string_equal(seen[1].gpu.name, "NVIDIA H100 80GB HBM3");
    assert_int_equal(seen[1].gpu.memory_bytes, 85899345920LL);
    assert_int_equal(seen[1].gpu.memory_used_bytes, 2 * 1024 * 1024);
    assert_int_equal(seen[1].gpu.busy_percent, 0);
    assert_string_equal(seen[1].pci, "0000:3c:00");
    assert_int_equal(seen[1].ecc_errors, 0);
}

static void a_line_is_read_as_far_as_it_can_be_trusted(void **state)
{
    static const struct {
        const char *line;
        bool usable;
        int busy;
    } rows[] = {
        { "0, GPU-a, 00000000:1B:00.0, 80000, 10, 97, 0, NVIDIA H200", true, 97 },
        { "0, GPU-a, 00000000:1B:00.0, [N/A], [N/A], [N/A], [N/A], Orin, nvgpu", true, -1 },
        { "0, GPU-a, ?, 99999999999999999999, -5, 101, x, G", true, -1 },
        { "-1, GPU-a, 00000000:1B:00.0, 80000, 10, 97, 0, NVIDIA H200", false, 0 },
        { "99999, GPU-a, 00000000:1B:00.0, 80000, 10, 97, 0, NVIDIA H200", false, 0 },
        { "0, GPU-a/b, 00000000:1B:00.0, 80000, 10, 97, 0, NVIDIA H200", false, 0 },
        { "0, [Unknown Error], 00000000:1B:00.0, 80000, 10, 97, 0, NVIDIA H200", false, 0 },
        { "No devices were found", false, 0 },
        { "0, GPU-a", false, 0 },
        { "", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *line = sw_strdup(rows[i].line);
        struct sw_gpu_seen seen;

        assert_int_equal(sw_gpu_seen_line(line, &seen), rows[i].usable);
        if (rows[i].usable)
            assert_int_equal(seen.gpu.busy_percent, rows[i].busy);
    }
}

static void a_lost_device_is_reported_from_other_failures(void **state)
{
    struct sw_gpu_seen seen[1];
    bool lost;

    (void)state;
    setenv("SIM_SMI_STATUS", "15", 1);
    assert_int_equal(sw_gpu_seen_by_smi(seen, 1, &lost), -1);
    assert_true(lost);
    setenv("SIM_SMI_STATUS", "9", 1);
    assert_int_equal(sw_gpu_seen_by_smi(seen, 1, &lost), -1);
    assert_false(lost);
}

static void without_nvidia_smi_there_is_no_answer_and_no_harm(void **state)
{
    struct place *place = *state;
    struct sw_gpu_seen seen[1];
    bool lost;

    setenv("PATH", place->root, 1);
    assert_int_equal(sw_gpu_seen_by_smi(seen, 1, &lost), -1);
    assert_false(lost);
}

static void an_nvidia_smi_that_hangs_is_given_up(void **state)
{
    struct sw_gpu_seen seen[1];
    int64_t began = sw_monotonic_ms();
    bool lost;

    (void)state;
    setenv("SIM_SMI_HANGS", "1", 1);
    assert_int_equal(sw_gpu_seen_by_smi(seen, 1, &lost), -1);
    assert_true(sw_monotonic_ms() - began < 30000);
}

static void a_meter_finds_its_devices_again_by_uuid(void **state)
{
    struct sw_gpu gpus[SW_GPU_MAX];
    struct sw_gpu second;
    struct sw_gpu_meter *meter;
    char pci[32];

    (void)state;
    setenv("SIM_GPUS", "2", 1);
    assert_int_equal(sw_gpu_list(gpus, SW_GPU_MAX), 2);
    second = gpus[1];
    meter = sw_gpu_meter_open(&second, 1);
    assert_non_null(meter);
    second.memory_used_bytes = 0;
    sw_gpu_meter_read(meter, &second);
    assert_int_equal(second.memory_used_bytes, 2 * 1024 * 1024);
    assert_true(sw_gpu_meter_pci(meter, 0, pci));
    assert_string_equal(pci, "0000:3c:00");
    assert_false(sw_gpu_meter_pci(meter, 1, pci));
    sw_gpu_meter_close(meter);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(the_driver_names_its_devices_in_the_order_of_the_bus),
        CLAIM(a_device_without_a_name_is_left_out_and_keeps_its_number),
        CLAIM(more_devices_than_room_do_no_harm),
        CLAIM(a_machine_without_a_driver_has_none),
        CLAIM(nvidia_smi_tells_memory_and_load),
        CLAIM(a_line_is_read_as_far_as_it_can_be_trusted),
        CLAIM(a_lost_device_is_reported_from_other_failures),
        CLAIM(without_nvidia_smi_there_is_no_answer_and_no_harm),
        CLAIM(an_nvidia_smi_that_hangs_is_given_up),
        CLAIM(a_meter_finds_its_devices_again_by_uuid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
