/* SPDX-License-Identifier: Apache-2.0 */
/* main.h - the watcher's program. */
#ifndef SW_WATCHER_MAIN_H
#define SW_WATCHER_MAIN_H

int watcher_main(int argc, char **argv);

#endif
