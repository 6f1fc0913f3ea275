/* What compute costs, as it was measured for a model on a device, or as a program asks for it. */
#ifndef KVS_MODELS_PROFILE_H
#define KVS_MODELS_PROFILE_H

#include "models/kv_type.h"
#include "models/param.h"

/* fixed + per_row x window rows, a token. */
struct kvs_compute_profile {
    char model[64];   /* model name it was measured with */
    char weights[32]; /* quantisation label, or "" */
    kvs_kv_type kv_type;
    double head_share;        /* share of the heads and weights this device had: 1, 0.5 ... */
    struct kvs_param fixed;   /* s per token: weights and everything that does not grow */
    struct kvs_param per_row; /* s per window row, one query, all staged layers of this share */
    struct kvs_param per_query_row; /* s per (query, row) beyond the first query */
    struct kvs_param copy_slowdown; /* fraction slower while its h2d link runs at full rate */
    struct kvs_param busy_slowdown; /* slower per unit of busy share above busy_threshold */
    struct kvs_param busy_threshold;
};

#endif
