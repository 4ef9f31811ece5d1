/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lend.c - the channels of a process go from the watcher to a client through the socket, as descriptors, and
 * with them what the watcher knows of the place where it leads.
 */
#include "watcher/watcher.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"

enum { FACTS_MOST = 8192 };

struct parcel {                      /* bytes, at least one, and the descriptors beside them */
    char bytes[FACTS_MOST];
    struct iovec piece;
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(SW_CHANNELS * sizeof(int))];
    struct msghdr message;
};

static void parcel_init(struct parcel *parcel)
{
    memset(parcel, 0, sizeof *parcel);
    parcel->piece = (struct iovec){ parcel->bytes, sizeof parcel->bytes };
    parcel->message = (struct msghdr){ .msg_iov = &parcel->piece, .msg_iovlen = 1,
                                       .msg_control = parcel->room,
                                       .msg_controllen = sizeof parcel->room };
}

void sw_watcher_lend(int fd, const int channels[SW_CHANNELS], const struct sw_buf *facts)
{
    struct parcel parcel;
    struct cmsghdr *head;

    parcel_init(&parcel);
    parcel.piece.iov_len = 1;
    if (facts->length > 0 && facts->length < FACTS_MOST) {
        memcpy(parcel.bytes, facts->data, facts->length);
        parcel.piece.iov_len = facts->length;
    }
    head = CMSG_FIRSTHDR(&parcel.message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(SW_CHANNELS * sizeof(int));
    memcpy(CMSG_DATA(head), channels, SW_CHANNELS * sizeof(int));
    (void)!sendmsg(fd, &parcel.message, MSG_NOSIGNAL);
}

bool sw_watcher_borrow(const struct sw_watcher_place *place, const char *line, int64_t patience_ms,
                       int channels[SW_CHANNELS], struct sw_buf *facts)
{
    const struct timeval patience = { .tv_sec = patience_ms / 1000, .tv_usec = patience_ms % 1000 * 1000 };
    sw_autofd int fd = watcher_dial(place, NULL);
    struct parcel parcel;
    const struct cmsghdr *head;
    ssize_t got;

    if (fd < 0 || sw_write_all(fd, line, strlen(line)) < 0)
        return false;
    parcel_init(&parcel);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    got = recvmsg(fd, &parcel.message, MSG_CMSG_CLOEXEC);
    if (got <= 0)
        return false;
    head = CMSG_FIRSTHDR(&parcel.message);
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(SW_CHANNELS * sizeof(int)))
        return false;
    memcpy(channels, CMSG_DATA(head), SW_CHANNELS * sizeof(int));
    sw_buf_add_bytes(facts, parcel.bytes, (size_t)got);
    return true;
}
