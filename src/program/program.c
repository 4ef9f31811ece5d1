/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - main() of a program that is one thing: compiled once for each, with its name.
 *
 * The rooms hold cli_main(), runner_main() and so on, and no main() of their own, because the
 * released program is all of them in one file (one_file.c).
 */
int SW_PROGRAM(int argc, char **argv);

int main(int argc, char **argv)
{
    return SW_PROGRAM(argc, argv);
}
