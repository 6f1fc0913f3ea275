/* Diagnostics to stderr, by level and topic. The level is the one accepted global. */
#ifndef KVS_BASE_LOG_H
#define KVS_BASE_LOG_H

#include "base/compiler.h"

typedef enum kvs_log_level {
    KVS_LOG_ERROR,
    KVS_LOG_WARN,
    KVS_LOG_INFO,
    KVS_LOG_DEBUG
} kvs_log_level;

void kvs_log_set_level(kvs_log_level level); /* default KVS_LOG_WARN */
void kvs_log(kvs_log_level level, const char *topic, const char *fmt, ...) KVS_PRINTF(3, 4);

#endif
