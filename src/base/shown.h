/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shown.h - a URI as people may see it: no user info, no query.
 *
 * A signed URL is a credential (its query opens the object to every reader), and so is a password
 * in front of a host. Both are needed to fetch and must not stand in a message, a log, a row, an
 * event, a hook's text or a report. Messages go through here by themselves (error.c, say.c,
 * cli_out.c); what writes a URI elsewhere asks for sw_uri_shown().
 */
#ifndef SW_BASE_SHOWN_H
#define SW_BASE_SHOWN_H

/* Every URI in `text`, in place; the text never becomes longer. */
void sw_uris_hide(char *text);
/* An owned copy of one URI (or path), as it may be shown. */
char *sw_uri_shown(const char *uri);

#endif
