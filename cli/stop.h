/* SIGINT and SIGTERM: the first asks a run to stop, the second ends the program at once. */
#ifndef KVS_CLI_STOP_H
#define KVS_CLI_STOP_H

#include <signal.h>

/* From now on; a signal that was ignored before stays so. */
void kvs_stop_listen(void);
/* True once asked to stop: for kvs_exec_options. */
const volatile sig_atomic_t *kvs_stop_flag(void);
/* 128 + the signal that asked, 0 while none has. */
int kvs_stop_exit_code(void);

#endif
