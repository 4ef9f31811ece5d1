/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_workers.c - the connections of a REST client: one set for each thread that calls, and the client
 * certificate that they are made with.
 *
 * libcurl takes a certificate when it connects, so another certificate means another set of
 * connections. Those under way go on with theirs, and share it as long as they need it.
 */
#include <assert.h>

#include "platform/kit/rest_internal.h"

/* ---- certificates -------------------------------------------------------------------------------- */

struct sw_rest_certificate {
    struct sw_secret *pem, *key;
    int shares;                              /* atomic */
};

struct sw_rest_certificate *sw_rest_certificate_new(const char *pem, const char *key)
{
    struct sw_rest_certificate *certificate = sw_new(struct sw_rest_certificate);

    certificate->pem = sw_secret_new(pem);
    certificate->key = sw_secret_new(key);
    certificate->shares = 1;
    return certificate;
}

struct sw_rest_certificate *sw_rest_certificate_share(struct sw_rest_certificate *certificate)
{
    if (certificate)
        __atomic_add_fetch(&certificate->shares, 1, __ATOMIC_RELAXED);
    return certificate;
}

void sw_rest_certificate_free(struct sw_rest_certificate *certificate)
{
    if (!certificate || __atomic_sub_fetch(&certificate->shares, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    sw_secret_free(certificate->pem);
    sw_secret_free(certificate->key);
    free(certificate);
}

/* ---- workers ------------------------------------------------------------------------------------- */

int rest_worker_open(const struct sw_rest *rest, struct rest_worker *worker,
                     struct sw_rest_certificate *certificate, struct sw_error *err)
{
    struct sw_http_options options = rest->options.http;

    if (certificate) {
        options.client_cert_pem = sw_secret_reveal(certificate->pem);
        options.client_key_pem = sw_secret_reveal(certificate->key);
    }
    worker->http = sw_http_open(&options, err);
    if (!worker->http)
        return -1;
    worker->certificate = sw_rest_certificate_share(certificate);
    return 0;
}

void rest_worker_close(struct rest_worker *worker)
{
    sw_http_close(sw_take(worker->http));
    sw_rest_certificate_free(sw_take(worker->certificate));
}

struct rest_worker *rest_own(struct sw_rest *rest, struct sw_rest_certificate *certificate,
                             struct sw_error *err)
{
    struct rest_worker fresh = { 0 }, old;

    if (rest->own.certificate == certificate || rest->own.requests)
        return &rest->own;
    if (rest_worker_open(rest, &fresh, certificate, err) < 0)
        return NULL;
    pthread_mutex_lock(&rest->lock);
    old = rest->own;
    rest->own = fresh;
    pthread_mutex_unlock(&rest->lock);
    sw_http_wake(rest->own.http);            /* who woke the old one is heard */
    rest_worker_close(&old);
    return &rest->own;
}

/* One that has this certificate; *stale: all that have another, which are of no use any more. */
static struct rest_worker *take_idle(struct sw_rest *rest, const struct sw_rest_certificate *certificate,
                                     struct rest_worker **stale)
{
    struct rest_worker *found = NULL;

    pthread_mutex_lock(&rest->lock);
    for (struct rest_worker **link = &rest->idle, *worker; !found && (worker = *link);) {
        *link = worker->next;
        if (worker->certificate == certificate) {
            found = worker;
        } else {
            worker->next = *stale;
            *stale = worker;
        }
    }
    pthread_mutex_unlock(&rest->lock);
    return found;
}

struct rest_worker *rest_borrow(struct sw_rest *rest, struct sw_rest_certificate *certificate,
                                struct sw_error *err)
{
    struct rest_worker *stale = NULL, *worker;

    if (!rest->options.threads)
        return rest_own(rest, certificate, err);
    worker = take_idle(rest, certificate, &stale);
    for (struct rest_worker *next; stale; stale = next) {
        next = stale->next;
        rest_worker_close(stale);
        free(stale);
    }
    if (worker)
        return worker;
    worker = sw_new(struct rest_worker);
    if (rest_worker_open(rest, worker, certificate, err) < 0)
        free(sw_take(worker));
    return worker;
}

void rest_give_back(struct sw_rest *rest, struct rest_worker *worker)
{
    assert(!worker->requests || worker == &rest->own);
    if (worker == &rest->own)
        return;
    pthread_mutex_lock(&rest->lock);
    worker->next = rest->idle;
    rest->idle = worker;
    pthread_mutex_unlock(&rest->lock);
}
