/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_errors.c - what ssh says when it fails, in our words.
 *
 * ssh has one exit code (255) for everything from a wrong name to a stolen host key, so its
 * words are all there is. They decide whether we try the next host (no answer) or stop (the
 * host answered and wants something we do not have). One row per kind, most specific first:
 * a protected key that ssh may not read ends in "Permission denied", too.
 *
 * Pure. Messages without a row are SW_E_UNREACHABLE with ssh's own last line.
 */
#include "net/ssh.h"

#include <string.h>

#include "base/text.h"

enum way_out {
    NO_WAY, REMOVE_OLD_KEY, LEARN_KEY, PROTECT_KEY, UNLOCK_KEY, OTHER_KEY, NAME_ONE_KEY, MEET_POLICY,
    CHECK_NAME, CHECK_PORT, CHECK_NETWORK, TRY_LATER, MEND_CONFIG,
};

struct words {
    const char *said;            /* looked for anywhere in what ssh said, any case */
    enum sw_code code;
    const char *means;           /* follows the host's name */
    enum way_out way_out;
};

#define NEEDS_A_PERSON \
    "accepts none of your keys; it wants a password or a second factor, which cannot be typed here"

static const struct words table[] = {
    { "REMOTE HOST IDENTIFICATION HAS CHANGED", SW_E_REFUSED,
      "has a different host key than the known one: the connection may be intercepted",
      REMOVE_OLD_KEY },
    { "host key has changed", SW_E_REFUSED, "has a different host key than the known one",
      REMOVE_OLD_KEY },
    { "host key is known for", SW_E_REFUSED, "has an unknown host key", LEARN_KEY },
    { "Host key verification failed", SW_E_REFUSED, "has an unknown host key",
      LEARN_KEY },
    { "Bad owner or permissions on", SW_E_SPEC, "is not tried: ssh refuses its configuration file",
      MEND_CONFIG },
    { "bad configuration option", SW_E_SPEC, "is not tried: ssh refuses its configuration file",
      MEND_CONFIG },
    { "are too open", SW_E_CREDENTIAL, "was not offered the key: others can read its file",
      PROTECT_KEY },
    { "bad permissions", SW_E_CREDENTIAL, "was not offered the key: others can read its file",
      PROTECT_KEY },
    { "incorrect passphrase", SW_E_CREDENTIAL, "was not offered the key: it needs a passphrase",
      UNLOCK_KEY },
    { "Too many authentication failures", SW_E_CREDENTIAL,
      "was offered too many keys before the right one", NAME_ONE_KEY },
    { ",keyboard-interactive", SW_E_CREDENTIAL, NEEDS_A_PERSON, MEET_POLICY },
    { "(keyboard-interactive", SW_E_CREDENTIAL, NEEDS_A_PERSON, MEET_POLICY },
    { ",password", SW_E_CREDENTIAL, NEEDS_A_PERSON, MEET_POLICY },
    { "(password", SW_E_CREDENTIAL, NEEDS_A_PERSON, MEET_POLICY },
    { "Permission denied", SW_E_CREDENTIAL, "accepts none of your keys", OTHER_KEY },
    { "account has expired", SW_E_CREDENTIAL, "says that the account has expired", NO_WAY },
    { "account is currently not available", SW_E_CREDENTIAL, "does not allow this account to log in",
      NO_WAY },
    { "Unable to negotiate", SW_E_REFUSED, "and this ssh have no common method", MEND_CONFIG },
    { "Could not resolve hostname", SW_E_UNREACHABLE, "is a name that cannot be resolved",
      CHECK_NAME },
    { "Name or service not known", SW_E_UNREACHABLE, "is a name that cannot be resolved",
      CHECK_NAME },
    { "Connection refused", SW_E_UNREACHABLE, "refused the connection: no ssh server on that port",
      CHECK_PORT },
    { "timed out", SW_E_UNREACHABLE, "did not answer in time", CHECK_NETWORK },
    { "not responding", SW_E_UNREACHABLE, "stopped answering", CHECK_NETWORK },
    { "No route to host", SW_E_UNREACHABLE, "cannot be reached from here", CHECK_NETWORK },
    { "Network is unreachable", SW_E_UNREACHABLE, "cannot be reached from here", CHECK_NETWORK },
    { "Host is down", SW_E_UNREACHABLE, "is down", CHECK_NETWORK },
    { "Stdio forwarding request failed", SW_E_UNREACHABLE,
      "has no server at that port of its loopback address, or permits no forwarding", NO_WAY },
    { "Session open refused", SW_E_UNREACHABLE, "allows no further session", TRY_LATER },
    { "Connection reset", SW_E_UNREACHABLE, "ended the connection", TRY_LATER },
    { "Connection closed", SW_E_UNREACHABLE, "ended the connection", TRY_LATER },
    { "closed by remote host", SW_E_UNREACHABLE, "ended the connection", TRY_LATER },
    { "Broken pipe", SW_E_UNREACHABLE, "ended the connection", TRY_LATER },
    { "No such identity", SW_E_CREDENTIAL, "was not tried: there is no such key file", OTHER_KEY },
};

/* The last line that is not empty and not decoration: where ssh puts its verdict. Owned. */
static char *last_line(const char *said)
{
    size_t end = strlen(said), begin;

    while (end > 0 && strchr("\r\n ", said[end - 1]))
        end--;
    for (begin = end; begin > 0 && !strchr("\r\n", said[begin - 1]); begin--)
        ;
    if (end - begin > 300)
        end = begin + 300;
    return sw_text_printable(said + begin, end - begin);
}

/* The file that a complaint about a key names between quotes. Owned; NULL: none. */
static char *quoted_path(const char *said)
{
    static const char *const before[] = { "Load key \"", "Permissions 0", "Permissions for '" };

    for (size_t i = 0; i < SW_COUNT(before); i++) {
        const char *at = strstr(said, before[i]), *open, *close;

        if (!at || !(open = strpbrk(at, "\"'")) || !(close = strchr(open + 1, *open)))
            continue;
        if (close - open > 1 && close - open < 300 && open + strcspn(open, "\r\n") > close)
            return sw_text_printable(open + 1, (size_t)(close - open - 1));
    }
    return NULL;
}

static void add_login(struct sw_buf *out, const struct sw_ssh_target *target)
{
    if (target->port)
        sw_buf_addf(out, "-p %d ", target->port);
    if (target->user)
        sw_buf_addf(out, "%s@", target->user);
    sw_buf_add(out, target->host);
}

static int hint_remove_old_key(const struct sw_ssh_target *target, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;

    sw_buf_add(&command, "ssh-keygen ");
    if (target->known_hosts)
        sw_buf_addf(&command, "-f '%s' ", target->known_hosts);
    if (target->port && target->port != 22)
        sw_buf_addf(&command, "-R '[%s]:%d'", target->host, target->port);
    else
        sw_buf_addf(&command, "-R %s", target->host);
    return sw_hint(err, "ask the administrators; if the change is intended, run: %s",
                   sw_buf_text(&command));
}

static int hint_by_hand(const struct sw_ssh_target *target, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf login = SW_BUF_INIT;

    add_login(&login, target);
    if (!target->control_path)
        return sw_hint(err, "name the right key with SSH_KEY_PATH or install it: ssh-copy-id %s",
                       sw_buf_text(&login));
    return sw_hint(err, "name the right key with SSH_KEY_PATH or install it (ssh-copy-id); or log in once "
                        "by hand to share that connection: "
                   "ssh -fNM -S %s -o ControlPersist=8h %s", target->control_path,
                   sw_buf_text(&login));
}

static int hint(const struct words *row, const struct sw_ssh_target *target, const char *said,
                struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf login = SW_BUF_INIT;
    sw_autofree char *path = quoted_path(said);

    add_login(&login, target);
    switch (row ? row->way_out : NO_WAY) {
    case REMOVE_OLD_KEY: return hint_remove_old_key(target, err);
    case LEARN_KEY:
        return sw_hint(err, "run `ssh %s` once and compare the fingerprint, or set accept_new",
                       sw_buf_text(&login));
    case PROTECT_KEY: return sw_hint(err, "run: chmod 600 %s", path ? path : "on the key file");
    case UNLOCK_KEY: return sw_hint(err, "run: ssh-add %s", path ? path : "");
    case OTHER_KEY:
        return sw_hint(err, "try `ssh %s` by hand; name the key with SSH_KEY_PATH, or install it: "
                       "ssh-copy-id %s", sw_buf_text(&login), sw_buf_text(&login));
    case NAME_ONE_KEY: return sw_hint(err, "name the right key with SSH_KEY_PATH");
    case MEET_POLICY: return hint_by_hand(target, err);
    case CHECK_NAME: return sw_hint(err, "check the spelling and the network (VPN?)");
    case CHECK_PORT: return sw_hint(err, "check host and port, and that sshd runs there");
    case CHECK_NETWORK: return sw_hint(err, "check the network (VPN?) and the host's state");
    case TRY_LATER: return sw_hint(err, "try again in a moment");
    case MEND_CONFIG: return sw_hint(err, "see the output of `ssh -v %s`", sw_buf_text(&login));
    case NO_WAY: break;
    }
    return -1;
}

int sw_ssh_explain(const struct sw_ssh_target *target, const char *said, struct sw_error *err)
{
    const struct words *row = NULL;
    sw_autofree char *line = last_line(said ? said : "");

    for (size_t i = 0; !row && said && i < SW_COUNT(table); i++)
        if (strcasestr(said, table[i].said))
            row = &table[i];
    if (row)
        sw_fail(err, row->code, "%s %s (ssh: %s)", target->host, row->means, line);
    else
        sw_fail(err, SW_E_UNREACHABLE, "the connection to %s failed%s%s%s", target->host,
                *line ? " (ssh: " : "", line, *line ? ")" : "");
    hint(row, target, said ? said : "", err);
    return -1;
}
