/* Waiting of FRR's daemons in virtual time.
 *
 * FRR rounds the time to its next timer down to a millisecond and asks the clock over and over for the
 * rest of it (fd_poll of lib/thread.c). A clock that stands while a program computes moves by the reading
 * alone, so a daemon would ask thousands of times. Here a poll that is to return at once, and finds
 * nothing, waits a little; what arrives meanwhile ends it.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define A_LITTLE_NS 5000
#define SIGNALS_BYTES 8

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *until, const sigset_t *mask)
{
    struct timespec left = {0, 0};
    if (until != NULL)
        left = *until;
    int at_once = until != NULL && left.tv_sec == 0 && left.tv_nsec == 0;
    if (at_once)
        left.tv_nsec = A_LITTLE_NS;
    return (int)syscall(SYS_ppoll, files, count, until == NULL ? NULL : &left, mask, SIGNALS_BYTES);
}
