/* One line to stderr per message: "warning: link: text". */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int log_level = KVS_LOG_WARN;

void kvs_log_set_level(kvs_log_level level)
{
    atomic_store(&log_level, (int)level);
}

void kvs_log(kvs_log_level level, const char *topic, const char *fmt, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if ((int)level > atomic_load(&log_level))
        return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(stderr, "%s: %s: %s\n", names[level], topic, text);
}
