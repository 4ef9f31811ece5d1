/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - the variables that a folder's files may not set before the user trusted them.
 *
 * Pure. A name that no one asks for is not read from a .env file at all, whatever stands here; this
 * table is about names that a platform, a storage or a job may ask for.
 */
#include "core/trust.h"

#include <fnmatch.h>
#include <stddef.h>

#include "core/option.h"

static const char *const values[] = {          /* fit a pattern below, but are values of a job */
    "DOCKER_USERNAME", "DOCKER_PASSWORD",
};

static const char *const sensitive[] = {
    /* What a program loads, runs, or takes for its own. */
    "PATH", "HOME", "SHELL", "ENV", "BASH_ENV", "IFS", "TMPDIR", "XDG_*", "LD_*", "GCONV_PATH",
    "GLIBC_TUNABLES", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PERL5*", "RUBY*",
    "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "TAR_OPTIONS", "GNUPGHOME", "PAGER", "EDITOR",
    "GIT_*", "SSH_*", "SLIPWAY_*",
    /* Where it connects, and whom it believes. */
    "DOCKER_*", "CONTAINER_HOST", "KUBECONFIG", "KUBERNETES_SERVICE_*", "TAO_K8S_CONTEXT",
    "SLURM_CONF", "*_PROXY", "*ENDPOINT*", "SSL_*", "OPENSSL_*", "CURL_*", "*_CA_BUNDLE",
    "*_CA_FILE", "NGC_CLI_*_URL", "HOSTALIASES", "RES_OPTIONS",
    /* Files that name programs, places or keys. */
    "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE", "AWS_DEFAULT_PROFILE",
    "HF_HOME", "HF_TOKEN_PATH", "NGC_CLI_HOME", "TAO_SKILL_BANK_PATH", "TAO_VERSIONS_FILE",
};

static bool fits(const char *const *patterns, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, FNM_CASEFOLD) == 0)
            return true;
    return false;
}

bool sw_variable_is_sensitive(const char *name)
{
    return fits(sensitive, SW_COUNT(sensitive), name) && !fits(values, SW_COUNT(values), name);
}

enum sw_trust sw_option_trust(const struct sw_option *row)
{
    return row->scope != SW_JOB ? SW_TRUST_ALWAYS : row->trust;
}
