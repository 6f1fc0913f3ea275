/* Names that the writer and the reader of plan lines share. */
#ifndef KVS_FORMATS_PLAN_LINES_PARTS_H
#define KVS_FORMATS_PLAN_LINES_PARTS_H

#include "sched/plan.h"

/* flag, key */
#define KVS_PLAN_FLAG_MAP(X)                                                                   \
    X(KVS_OP_BLOCKS, "blocks")                                                                 \
    X(KVS_OP_VIA_KERNEL, "kernel")                                                             \
    X(KVS_OP_D2H, "d2h")                                                                       \
    X(KVS_OP_2D, "2d")                                                                         \
    X(KVS_OP_PAGEABLE, "pageable")                                                             \
    X(KVS_OP_LIGHT, "light")                                                                   \
    X(KVS_OP_SUBGRAPH, "subgraph")

/* place, name; in the order of kvs_place */
#define KVS_PLAN_PLACE_MAP(X)                                                                  \
    X(KVS_PLACE_HOST_PINNED, "pinned")                                                         \
    X(KVS_PLACE_HOST_PAGEABLE, "pageable")                                                     \
    X(KVS_PLACE_DEVICE, "device")

/* mode, key; in the order of kvs_access_mode */
#define KVS_PLAN_ACCESS_MAP(X)                                                                 \
    X(KVS_ACCESS_READ, "read")                                                                 \
    X(KVS_ACCESS_WRITE, "write")                                                               \
    X(KVS_ACCESS_EXPECT, "expect")                                                             \
    X(KVS_ACCESS_FRESH, "fresh")                                                               \
    X(KVS_ACCESS_CELLS, "cells")

#endif
