/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiny.c - the one program of images that hold no shell.
 *
 *     tiny                 wait for SIGTERM; collect orphans (a pod's sandbox)
 *     tiny say WORD...     print the words
 *     tiny exit CODE       end with that status
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for_the_end(void)
{
    sigset_t wanted;
    int got = 0;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGCHLD);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    while (sigwait(&wanted, &got) == 0 && got == SIGCHLD)
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    return 0;
}

static int say(char **words)
{
    for (; *words; words++)
        printf("%s%c", *words, words[1] ? ' ' : '\n');
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "say") == 0)
        return say(argv + 2);
    if (argc > 2 && strcmp(argv[1], "exit") == 0)
        return atoi(argv[2]);
    return argc == 1 ? wait_for_the_end() : 64;
}
