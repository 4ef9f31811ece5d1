/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - slipway-watcher STATE_DIR: looks after the jobs of a state folder until none needs it.
 *
 * Started by sw_attend(), never by hand; says nothing.
 */
#include "base/secret.h"
#include "slipway.h"
#include "watcher/main.h"

int watcher_main(int argc, char **argv)
{
    struct sw_error err = { 0 };

    if (argc != 2)
        return sw_code_exit_status(SW_E_USAGE);
    sw_secrets_guard();
    if (sw_watcher_serve(argv[1], &err) == 0 || err.code == SW_E_CONFLICT)
        return 0;
    return sw_code_exit_status(err.code);
}
