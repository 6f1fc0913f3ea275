/* The signal that came first, and the end at the second. */
#define _POSIX_C_SOURCE 200809L
#include "cli/stop.h"

#include <stddef.h>
#include <unistd.h>

enum { STOP_EXIT_BASE = 128 }; /* as a shell reports a signal */

static volatile sig_atomic_t stop_signal;

static void stop_take(int number)
{
    if (stop_signal != 0)
        _exit(STOP_EXIT_BASE + number);
    stop_signal = number;
}

static void stop_listen_to(int number)
{
    struct sigaction action = {.sa_handler = stop_take, .sa_flags = SA_RESTART}, before;
    if (sigaction(number, NULL, &before) != 0 || before.sa_handler == SIG_IGN)
        return;
    sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

void kvs_stop_listen(void)
{
    stop_listen_to(SIGINT);
    stop_listen_to(SIGTERM);
}

const volatile sig_atomic_t *kvs_stop_flag(void)
{
    return &stop_signal;
}

int kvs_stop_exit_code(void)
{
    return stop_signal != 0 ? STOP_EXIT_BASE + (int)stop_signal : 0;
}
