/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev.c - a stand-in for the brev program: its argument grammar, its traps, and the files it writes.
 *
 * It refuses what the real one refuses: unknown flags, commands and names, a call without login. It reads
 * names from a standard input that is no character device, asks a question when it is logged out, prints
 * names only where its output is a pipe, and says nothing about instances that a failing create left. What it
 * knows is in the folder SLIPWAY_BREV_WORLD (brev_world.py), under a lock; all instances are one machine.
 * An instance comes up in steps, one for each list that shows it, and goes away likewise, so that no test
 * depends on a clock. Every call is one line of FOLDER/calls.
 *
 * In C, because a client calls it often: to start an interpreter each time was most of a test's time.
 */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

enum { WORDS_MOST = 64, FILE_MOST = 1 << 20, NAME_MOST = 63, LISTS_UNTIL_GONE = 2 };

static json_t *world;                /* the state, held under its lock */
static const char *folder, *home;

static struct {                      /* the words of this call */
    const char *flags[WORDS_MOST], *values[WORDS_MOST], *plain[WORDS_MOST];
    int flag_count, plain_count;
} call;

/* ---- the end ------------------------------------------------------------------------------------- */

/* The new state takes the place of the old at once: a client that is killed takes this process with it. */
static void save(void)
{
    sw_autofree char *text = sw_json_dump(world), *path = sw_format("%s/state.json", folder);

    if (sw_file_write(path, text, strlen(text), 0600, NULL) < 0)
        _exit(70);
}

static _Noreturn void finish(int code)
{
    save();
    fflush(NULL);
    _exit(code);
}

static _Noreturn void fail(const char *fmt, ...) SW_PRINTF(1, 2);
static _Noreturn void fail(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("Error: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    finish(1);
}

/* ---- words --------------------------------------------------------------------------------------- */

static const char *flag(const char *name)      /* its value, "" where it has none; NULL: not given */
{
    for (int i = call.flag_count; i-- > 0;)
        if (strcmp(call.flags[i], name) == 0)
            return call.values[i];
    return NULL;
}

/* Names that come on a standard input which is no character device are plain words, too. */
static void add_piped_words(void)
{
    static char text[65536];
    struct stat in;
    size_t length;

    if (fstat(STDIN_FILENO, &in) < 0 || S_ISCHR(in.st_mode))
        return;
    length = fread(text, 1, sizeof text - 1, stdin);
    text[length] = '\0';
    for (char *word = strtok(text, " \t\r\n"); word; word = strtok(NULL, " \t\r\n"))
        if (call.plain_count < WORDS_MOST)
            call.plain[call.plain_count++] = word;
}

/* ---- login --------------------------------------------------------------------------------------- */

static json_t *brev_file(const char *name)     /* of ~/.brev; owned; NULL: none */
{
    sw_autofree char *path = sw_format("%s/.brev/%s", home, name);

    return json_load_file(path, 0, NULL);
}

static void write_brev_file(const char *name, json_t *document)
{
    sw_autofree char *ours = sw_format("%s/.brev", home), *path = sw_format("%s/%s", ours, name);
    sw_autofree char *text = sw_json_dump(document);

    if (sw_mkdirs(ours, 0700, NULL) < 0 || sw_file_write(path, text, strlen(text), 0600, NULL) < 0)
        fail("cannot write %s", path);
    json_decref(document);
}

static bool is_token(const char *text)
{
    const json_t *each;
    size_t i;

    json_array_foreach(json_object_get(world, "tokens"), i, each)
        if (text && strcmp(json_string_value(each), text) == 0)
            return true;
    return false;
}

/* The organisation of the login, by its id. */
static const char *need_login(void)
{
    json_t *held = brev_file("credentials.json"), *active = brev_file("active_org.json");
    const char *key = sw_json_str(held, "api_key"), *of_key = sw_json_str(held, "api_key_org_id");

    if (key) {
        if (!is_token(key) || !of_key)
            fail("401 Unauthorized: the api key is not valid");
        return of_key;
    }
    if (!held) {
        printf("You are currently logged out, would you like to log in? [y/n]: ");
        fflush(stdout);
        if (getchar() == EOF)
            fail("unable to read from stdin: EOF");
        fail("no browser here");
    }
    if (!is_token(sw_json_str(held, "access_token")) && !is_token(sw_json_str(held, "refresh_token")))
        fail("unauthorized: the token is expired, please log in again");
    return active ? sw_json_str(active, "id")
                  : sw_json_str(json_array_get(json_object_get(world, "orgs"), 0), "id");
}

static const char *organization(const char *wanted)
{
    const json_t *each;
    size_t i;

    json_array_foreach(json_object_get(world, "orgs"), i, each)
        if (strcmp(sw_json_str(each, "id"), wanted) == 0 || strcmp(sw_json_str(each, "name"), wanted) == 0)
            return sw_json_str(each, "id");
    fail("no organization found with name %s", wanted);
}

static void run_login(void)
{
    const char *token = flag("--token");
    bool jwt = token && strchr(token, '.') && strchr(strchr(token, '.') + 1, '.');

    if (!token)
        fail("no browser here");
    write_brev_file("credentials.json", sw_json_object(
        SW_STR("access_token", jwt ? token : "auto-login"),
        SW_STR("refresh_token", jwt ? "auto-login" : token)));
}

static void run_set(void)
{
    need_login();
    if (call.plain_count == 0)
        fail("accepts 1 arg(s), received 0");
    write_brev_file("active_org.json", sw_json_object(SW_STR("id", organization(call.plain[0]))));
}

/* ---- instances ----------------------------------------------------------------------------------- */

/* What `ls` shows of one that needs so many more lists until it is ready. */
static const struct {
    const char *status, *build, *shell;
} steps[] = {
    { "RUNNING", "COMPLETED", "READY" },
    { "RUNNING", "BUILDING", "NOT READY" },
    { "STARTING", "PENDING", "NOT READY" },
    { "DEPLOYING", "PENDING", "NOT READY" },
};

static json_t *instances(void)
{
    return json_object_get(world, "instances");
}

static json_t *find(const char *org, const char *name)
{
    json_t *each;
    size_t i;

    json_array_foreach(instances(), i, each)
        if (strcmp(sw_json_str(each, "org"), org) == 0 &&
            (strcmp(sw_json_str(each, "name"), name) == 0 || strcmp(sw_json_str(each, "id"), name) == 0))
            return each;
    return NULL;
}

static json_t *need(const char *org, const char *name)
{
    json_t *found = find(org, name);

    if (!found)
        fail("instance with id/name %s not found", name);
    return found;
}

static const json_t *type_of(const char *type)
{
    const json_t *each;
    size_t i;

    json_array_foreach(json_object_get(world, "types"), i, each)
        if (strcmp(sw_json_str(each, "type"), type) == 0)
            return each;
    return NULL;
}

static const char *fault(const char *name)
{
    return sw_json_str(json_object_get(world, "faults"), name);
}

static json_t *shown(const json_t *instance)
{
    size_t left = (size_t)sw_json_int(instance, "left", 0);
    const char *turned = sw_json_str(instance, "status"), *type = sw_json_str(instance, "type");
    const char *status = turned ? turned : steps[left].status;
    const char *shell = turned ? "NOT READY" : steps[left].shell;
    const char *build = !turned                          ? steps[left].build
                        : strcmp(turned, "FAILURE") == 0 ? "CREATE_FAILED" : "COMPLETED";
    const char *gpu = sw_json_str(type_of(type), "gpu_name");
    bool ready = strcmp(shell, "READY") == 0;

    return sw_json_object(
        SW_STR("name", sw_json_str(instance, "name")), SW_STR("id", sw_json_str(instance, "id")),
        SW_STR("status", status), SW_STR("build_status", build), SW_STR("shell_status", shell),
        SW_STR("health_status", ready ? "HEALTHY" : "UNAVAILABLE"), SW_STR("instance_type", type),
        SW_STR("instance_kind", *gpu ? "gpu" : "cpu"), SW_STR("gpu", *gpu ? gpu : "-"));
}

/* A list was shown: time goes on. */
static void advance(void)
{
    bool slow = sw_json_bool(json_object_get(world, "faults"), "slow", false);

    for (size_t i = json_array_size(instances()); i-- > 0;) {
        json_t *each = json_array_get(instances(), i);
        const char *turned = sw_json_str(each, "status");
        int64_t lists = sw_json_int(each, "lists", 0), left = sw_json_int(each, "left", 0);

        if (turned && strcmp(turned, "DELETING") == 0 && lists == LISTS_UNTIL_GONE)
            json_array_remove(instances(), i);
        else if (turned && strcmp(turned, "DELETING") == 0)
            json_object_set_new(each, "lists", json_integer(lists + 1));
        else if (!turned && left > 0 && !slow)
            json_object_set_new(each, "left", json_integer(left - 1));
    }
}

static void list_organizations(const char *active)
{
    sw_auto(json) json_t *rows = json_array(), *held = brev_file("credentials.json");
    const json_t *each;
    size_t i;

    if (sw_json_str(held, "api_key"))
        fail("an api key cannot list organizations");
    json_array_foreach(json_object_get(world, "orgs"), i, each)
        json_array_append_new(rows, sw_json_object(
            SW_STR("name", sw_json_str(each, "name")), SW_STR("id", sw_json_str(each, "id")),
            SW_BOOL("is_active", strcmp(sw_json_str(each, "id"), active) == 0)));
    json_dumpf(rows, stdout, 0);
}

static bool is_before_0_6_323(void)
{
    int major = 0, minor = 0, patch = 0;

    sscanf(sw_json_str(world, "version"), "v%d.%d.%d", &major, &minor, &patch);
    return (major * 1000 + minor) * 1000 + patch < 6323;
}

static void run_ls(void)
{
    const char *org = need_login(), *what = call.plain_count ? call.plain[0] : "instances";
    sw_auto(json) json_t *rows = json_array(), *all = NULL;
    const json_t *each;
    size_t i;

    if (strcmp(what, "instances") != 0 && strcmp(what, "nodes") != 0 && strcmp(what, "orgs") != 0)
        fail("invalid argument %s", what);
    if (!flag("--json"))
        fail("this stand-in lists as JSON only");
    if (strcmp(what, "orgs") == 0) {
        list_organizations(org);
        return;
    }
    org = flag("--org") ? organization(flag("--org")) : org;
    json_array_foreach(instances(), i, each)
        if (strcmp(sw_json_str(each, "org"), org) == 0)
            json_array_append_new(rows, shown(each));
    if (is_before_0_6_323()) {
        json_dumpf(rows, stdout, 0);
    } else {
        all = sw_json_object(SW_SUB("workspaces", json_array_size(rows) ? json_incref(rows) : json_null()),
                             SW_SUB("nodes", flag("--all") ? json_null() : NULL));
        json_dumpf(all, stdout, 0);
    }
    advance();
}

static bool is_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

    return isalnum((unsigned char)*name) && strlen(name) <= NAME_MOST &&
           strspn(name, letters) == strlen(name);
}

/* The first of the types, all of which must exist. */
static const char *first_type(const char *types)
{
    static char first[256];
    sw_autofree char *all = sw_strdup(types);

    first[0] = '\0';
    for (char *type = strtok(all, ","); type; type = strtok(NULL, ",")) {
        if (!type_of(type))
            fail("instance type %s is not available", type);
        if (!first[0])
            snprintf(first, sizeof first, "%s", type);
    }
    return first;
}

static void run_create(void)
{
    const char *org = need_login(), *trouble = fault("create"), *name = flag("--name"), *type;
    json_int_t made = json_integer_value(json_object_get(world, "made")) + 1;
    json_t *instance;

    if (!name && call.plain_count == 0)
        fail("a name is needed");
    name = name ? name : call.plain[0];
    if (!flag("--type"))
        add_piped_words();           /* would be types, which this stand-in does not want */
    if (!is_name(name))
        fail("invalid instance name '%s'", name);
    type = first_type(flag("--type") ? flag("--type") : "g5.xlarge");
    if (trouble && strcmp(trouble, "refuse") == 0)
        fail("insufficient capacity for all of the types");
    if (find(org, name))
        fail("duplicate workspace with name %s", name);
    instance = sw_json_object(
        SW_STR("name", name), SW_SUB("id", json_sprintf("i%07d", (int)made)), SW_STR("type", type),
        SW_INT("left", flag("--detached") ? (json_int_t)SW_COUNT(steps) - 1 : 0), SW_NULL("status"),
        SW_STR("org", org));
    json_object_set_new(world, "made", json_integer(made));
    json_array_append_new(instances(), instance);
    if (trouble && strcmp(trouble, "partial") == 0) {      /* broken, paid for, and not a word about it */
        json_object_set_new(instance, "status", json_string("FAILURE"));
        fail("could only create 0 of 1 instances");
    }
    if (trouble && strcmp(trouble, "lost") == 0)           /* the answer does not come */
        fail("Post https://service: context deadline exceeded");
    if (trouble && strcmp(trouble, "kill") == 0) {         /* the caller dies before it hears the answer */
        save();
        kill(getppid(), SIGKILL);
    }
    fputs("creating...\n", stderr);
    if (!isatty(STDOUT_FILENO))
        puts(name);
}

static void run_search(void)
{
    const char *kind = call.plain_count ? call.plain[0] : "gpu";
    bool gpus = strcmp(kind, "gpu") == 0;
    sw_auto(json) json_t *rows = json_array();
    const json_t *each;
    size_t i;

    need_login();
    if ((!gpus && strcmp(kind, "cpu") != 0) || !flag("--json"))
        fail("invalid argument %s", kind);
    json_array_foreach(json_object_get(world, "types"), i, each)
        if ((sw_json_int(each, "gpu_count", 0) > 0) == gpus) {
            json_t *row = sw_json_object(SW_STR("cloud", "sim"), SW_STR("provider", "sim"),
                                         SW_INT("vram_per_gpu_gb", 24), SW_INT("boot_time_seconds", 60));

            json_object_update(row, (json_t *)each);
            json_array_append_new(rows, row);
        }
    json_dumpf(rows, stdout, 0);
}

static void run_delete(void)
{
    const char *org = need_login();

    add_piped_words();
    for (int i = 0; i < call.plain_count; i++)
        json_object_set_new(need(org, call.plain[i]), "status", json_string("DELETING"));
}

/* ---- ssh ----------------------------------------------------------------------------------------- */

static void put_host(struct sw_buf *out, const char *alias)
{
    const json_t *ssh = json_object_get(world, "ssh");

    sw_buf_addf(out,
                "Host %s\n  Hostname %s\n  IdentityFile \"%s/.brev/brev.pem\"\n  User %s\n"
                "  ServerAliveInterval 30\n"
                "  UserKnownHostsFile /dev/null\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n"
                "  PasswordAuthentication no\n  AddKeysToAgent yes\n  ForwardAgent yes\n  RequestTTY yes\n"
                "  ControlMaster auto\n  ControlPath ~/.ssh/brev-control-%%C\n  ControlPersist 10m\n"
                "  Port %d\n\n",
                alias, sw_json_str(ssh, "host"), home, sw_json_str(ssh, "user"),
                (int)sw_json_int(ssh, "port", 22));
}

static void put_file(const char *path, const char *text, size_t length)
{
    if (sw_file_write(path, text, length, 0600, NULL) < 0)
        fail("cannot write %s", path);
}

static void include_in_users_config(const char *config)
{
    sw_autofree char *path = sw_format("%s/.ssh/config", home);
    sw_autofree char *before = sw_file_read(path, FILE_MOST, NULL, NULL);
    sw_autofree char *line = sw_format("Include \"%s\"\n", config), *text = NULL;

    if (before && strstr(before, line))
        return;
    text = sw_format("%s%s", line, before ? before : "");
    put_file(path, text, strlen(text));
}

static void run_refresh(void)
{
    const char *org = need_login();
    sw_autofree char *ours = sw_format("%s/.brev", home), *users = sw_format("%s/.ssh", home);
    sw_autofree char *config = sw_format("%s/ssh_config", ours), *pem = sw_format("%s/brev.pem", ours);
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *key = NULL;
    const json_t *each;
    size_t i, length = 0;

    if (sw_mkdirs(ours, 0700, NULL) < 0 || sw_mkdirs(users, 0700, NULL) < 0)
        fail("cannot make %s", ours);
    key = sw_file_read(sw_json_str(json_object_get(world, "ssh"), "key"), FILE_MOST, &length, NULL);
    if (!key)
        fail("no key");
    put_file(pem, key, length);
    sw_buf_addf(&text, "# included in %s/config\n", users);
    json_array_foreach(instances(), i, each) {
        sw_auto(json) json_t *row = shown(each);
        sw_autofree char *machine = sw_format("%s-host", sw_json_str(row, "name"));

        if (strcmp(sw_json_str(each, "org"), org) != 0 || strcmp(sw_json_str(row, "status"), "RUNNING") != 0)
            continue;
        put_host(&text, sw_json_str(row, "name"));
        put_host(&text, machine);
    }
    put_file(config, text.data, text.length);
    include_in_users_config(config);
}

/* ---- the grammar --------------------------------------------------------------------------------- */

#define SEARCH_FLAGS "--gpu-name=", "--provider=", "--min-vram=", "--min-total-vram=", "--min-capability=", \
    "--min-disk=", "--max-boot-time=", "--sort=", "--stoppable", "--rebootable", "--flex-ports", "--desc"

/* Flags that need a value end in `=`. */
static const struct command {
    const char *name;
    const char *const *flags;
    int most;                        /* plain words */
    void (*run)(void);
} commands[] = {
    { "login", (const char *const[]){ "--skip-browser", "--token=", "--email=", "--auth=", "--api-key=",
                                      "--org-id=", NULL }, 0, run_login },
    { "ls", (const char *const[]){ "--json", "--all", "--org=", NULL }, 1, run_ls },
    { "set", (const char *const[]){ NULL }, 1, run_set },
    { "create", (const char *const[]){ "--detached", "--dry-run", "--jupyter", "--name=", "--type=",
                                       "--count=", "--parallel=", "--timeout=", "--startup-script=",
                                       "--mode=", "--container-image=", "--compose-file=", "--launchable=",
                                       SEARCH_FLAGS, NULL }, 1, run_create },
    { "search", (const char *const[]){ "--json", SEARCH_FLAGS, NULL }, 1, run_search },
    { "delete", (const char *const[]){ NULL }, WORDS_MOST, run_delete },
    { "refresh", (const char *const[]){ NULL }, 0, run_refresh },
};

static const char *const shorthands[][2] = {
    { "-t", "--type" }, { "-c", "--count" }, { "-p", "--parallel" }, { "-d", "--detached" },
    { "-s", "--startup-script" }, { "-m", "--mode" }, { "-l", "--launchable" }, { "-g", "--gpu-name" },
    { "-v", "--min-vram" }, { "-n", "--name" },
};

/* The flag as the table has it, without `=`, and whether it needs a value; NULL: the command has no such. */
static const char *known_flag(const struct command *command, const char *word, size_t length, bool *valued)
{
    for (size_t i = 0; i < SW_COUNT(shorthands); i++)
        if (strlen(shorthands[i][0]) == length && strncmp(word, shorthands[i][0], length) == 0) {
            word = shorthands[i][1];
            length = strlen(word);
        }
    for (const char *const *each = command->flags; *each; each++) {
        *valued = (*each)[strlen(*each) - 1] == '=';
        if (strlen(*each) - *valued == length && strncmp(*each, word, length) == 0)
            return strndup(word, length);
    }
    return NULL;
}

static void read_words(const struct command *command, char **words)
{
    for (; *words && call.flag_count < WORDS_MOST && call.plain_count < WORDS_MOST; words++) {
        char *equals = strchr(*words, '=');
        const char *name, *value = equals ? equals + 1 : "";
        bool valued = false;

        if (**words != '-' || !(*words)[1]) {
            call.plain[call.plain_count++] = *words;
            continue;
        }
        name = known_flag(command, *words, equals ? (size_t)(equals - *words) : strlen(*words), &valued);
        if (!name || (equals && !valued))
            fail("unknown %s: %s", (*words)[1] == '-' ? "flag" : "shorthand flag", *words);
        if (valued && !equals && !(value = *++words))
            fail("flag needs an argument: %s", name);
        call.flags[call.flag_count] = name;
        call.values[call.flag_count++] = value;
    }
    if (call.plain_count > command->most)
        fail("accepts at most %d arg(s), received %d", command->most, call.plain_count);
}

/* ---- the call ------------------------------------------------------------------------------------ */

/* The lock goes with the process. */
static void open_world(void)
{
    sw_autofree char *path = sw_format("%s/state.json", folder), *lock = sw_format("%s/lock", folder);
    int held = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (held < 0 || flock(held, LOCK_EX) < 0 || !(world = json_load_file(path, 0, NULL))) {
        fprintf(stderr, "brev: there is no world at %s\n", path);
        _exit(70);
    }
}

static void note_call(char **words)
{
    sw_autofree char *path = sw_format("%s/calls", folder), *line = NULL;
    sw_auto(json) json_t *argv = json_array(), *all = NULL;
    FILE *calls = fopen(path, "ae");
    struct stat in;

    for (; *words; words++)
        json_array_append_new(argv, sw_json_text(*words));
    all = sw_json_object(SW_SUB("argv", json_incref(argv)), SW_STR("home", home),
                         SW_BOOL("stdin", fstat(STDIN_FILENO, &in) == 0 && S_ISCHR(in.st_mode)));
    line = sw_json_dump(all);
    if (!calls || fprintf(calls, "%s\n", line) < 0 || fclose(calls) != 0)
        fail("cannot write %s", path);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    folder = getenv("SLIPWAY_BREV_WORLD");
    home = getenv("HOME");
    if (!folder || !home)
        return 70;
    open_world();
    note_call(argv + 1);
    if (strcmp(word, "--version") == 0 && argc == 2) {
        printf("\nCurrent version: %s\n\nYou're up to date!\n", sw_json_str(world, "version"));
        finish(0);
    }
    for (size_t i = 0; i < SW_COUNT(commands); i++)
        if (strcmp(commands[i].name, word) == 0) {
            read_words(&commands[i], argv + 2);
            commands[i].run();
            finish(0);
        }
    fail("unknown command \"%s\" for \"brev\"", word);
}
