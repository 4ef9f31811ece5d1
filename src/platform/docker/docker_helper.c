/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_helper.c - ask docker-credential-NAME for a login, the way docker does: the registry on
 * its standard input, {"Username","Secret"} on its output.
 */
#include <ctype.h>
#include <string.h>

#include "platform/docker/docker_internal.h"

void docker_helped_done(struct docker_helped *got)
{
    if (got->secret)
        explicit_bzero(got->secret, strlen(got->secret));
    free(got->secret);
    free(got->user);
    memset(got, 0, sizeof *got);
}

/* Names end up in a path search: no slash, no blank. */
static bool is_name(const char *program)
{
    for (const char *c = program; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return false;
    return strlen(program) < 100;
}

static int read_answer(const char *program, const struct sw_buf *said, int status,
                       struct docker_helped *out, struct sw_error *err)
{
    sw_auto(json) json_t *answer = NULL;
    json_t *secret;

    if (status > 0 && strstr(sw_buf_text(said), "not found"))
        return 0;                            /* it works and has none */
    if (status != 0)
        return sw_fail(err, SW_E_CREDENTIAL, "%s %s", program,
                       status < 0 ? "did not answer in time" : "failed");
    answer = sw_json_parse(said->data, said->length, program, NULL);
    secret = json_object_get(answer, "Secret");
    if (!sw_json_str(answer, "Username") || !json_is_string(secret))
        return sw_fail(err, SW_E_CREDENTIAL, "%s answered something else than a login", program);
    out->user = sw_strdup(sw_json_str(answer, "Username"));
    out->secret = sw_strdup(json_string_value(secret));
    explicit_bzero((char *)json_string_value(secret), json_string_length(secret));
    return 0;
}

int docker_helper_ask(const char *program, const char *registry, struct docker_helped *out,
                      struct sw_error *err)
{
    char *const argv[] = { (char *)program, (char *)"get", NULL };
    struct sw_buf said = SW_BUF_INIT;
    int status = -1, result;

    if (!is_name(program))
        return sw_fail(err, SW_E_CREDENTIAL, "'%.100s' is no name of a credential helper", program);
    result = docker_program_ask(argv, registry, &said, &status, err);
    if (result == 0)
        result = read_answer(program, &said, status, out, err);
    if (said.data)
        explicit_bzero(said.data, said.room);
    sw_buf_done(&said);
    return result;
}
