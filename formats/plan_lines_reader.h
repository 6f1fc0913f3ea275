/* State of reading plan lines, shared by plan_lines_read*.c alone. */
#ifndef KVS_FORMATS_PLAN_LINES_READER_H
#define KVS_FORMATS_PLAN_LINES_READER_H

#include "base/json.h"
#include "formats/plan_lines_names.h"
#include "sched/plan.h"

struct kvs_plan_reader {
    const char *name; /* of the file, borrowed */
    unsigned line;    /* 1-based */
    struct kvs_plan *plan;
    struct kvs_plan_names queues;
    struct kvs_plan_names buffers;
    bool is_sealed;                 /* setup or a segment has begun: names are complete */
    KVS_ARRAY(unsigned) op_lines;   /* of the open segment */
    const struct kvs_json_doc *doc; /* of the present line */
    const struct kvs_json_value *root;
    struct kvs_error *err;
};

/* One operation line, appended to the open segment. */
kvs_status kvs_plan_reader_op(struct kvs_plan_reader *r) KVS_MUST_USE;

/* A line of copies made before the first token. */
kvs_status kvs_plan_reader_setup(struct kvs_plan_reader *r) KVS_MUST_USE;

/* An error at the present line; path names the key, or is NULL. */
kvs_status kvs_plan_reader_fault(struct kvs_plan_reader *r, const char *path, const char *fmt,
                                 ...) KVS_PRINTF(3, 4);
/* An integer in [min, max]; absent: *out stays. */
kvs_status kvs_plan_reader_int(struct kvs_plan_reader *r, const struct kvs_json_value *obj,
                               const char *key, bool required, int64_t min, int64_t max,
                               int64_t *out) KVS_MUST_USE;
/* The number of the queue or buffer that `text`, the value of key, names. */
kvs_status kvs_plan_reader_name(struct kvs_plan_reader *r, const struct kvs_plan_names *names,
                                const char *what, const char *path, const char *text,
                                uint32_t *out) KVS_MUST_USE;

#endif
