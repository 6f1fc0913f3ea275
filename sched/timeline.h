/*
 * What happened when: every executor fills the same structures. Times are ps from the start of
 * the first token, virtual or measured.
 */
#ifndef KVS_SCHED_TIMELINE_H
#define KVS_SCHED_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/units.h"
#include "sched/plan.h"

struct kvs_span {
    uint32_t token; /* global, 0-based */
    uint32_t segment;
    kvs_op_id op;
    uint16_t queue;
    kvs_time issue_ps; /* the host issued it */
    kvs_time ready_ps; /* at the head of its queue with its dependencies met */
    kvs_time start_ps;
    kvs_time end_ps;
};

struct kvs_timeline {
    /* in the order recorded: device work by its end, host work by its start */
    KVS_ARRAY(struct kvs_span) spans;
};

void kvs_timeline_fini(struct kvs_timeline *timeline);

/* Totals of a run, per device; ps unless named otherwise. */
struct kvs_device_totals {
    kvs_time compute_ps;            /* compute running */
    kvs_time collective_ps;         /* collectives running, the last member arrived */
    kvs_time engine_ps[KVS_N_DIRS]; /* copy engine busy */
    kvs_time moving_ps[KVS_N_DIRS]; /* bytes moving: engine time less overheads */
    uint64_t moved_bytes[KVS_N_DIRS];
    kvs_time
        ring_wait_ps; /* h2d engine idle while a delivery was held back by a slot's release */
    uint64_t tag_bytes[KVS_TAG_COUNT]; /* copied bytes by tag */
};

struct kvs_link_totals {
    kvs_time busy_ps[KVS_N_DIRS]; /* some copy under way */
    double moved_bytes[KVS_N_DIRS];
};

struct kvs_host_totals {
    kvs_time issue_ps;                  /* calls and launches */
    kvs_time work_ps;                   /* HOST operations */
    kvs_time sample_ps;                 /* of these, between tokens */
    kvs_time blocked_ps[KVS_TAG_COUNT]; /* in blocking operations and waits, by their tag */
};

struct kvs_run {
    uint32_t n_tokens;
    kvs_time total_ps;      /* of all tokens */
    uint64_t n_dispatched;  /* operations carried out (not those skipped as repeats) */
    uint32_t repeat_from;   /* token from which the state repeats; n_tokens when none found */
    uint32_t repeat_length; /* tokens per repetition, 0 when none found */
    struct kvs_device_totals *devices; /* owned, [n_devices] */
    struct kvs_link_totals *links;     /* owned, [n_links] */
    struct kvs_host_totals host;
    double *busy_factors; /* owned, [n_devices] by which compute was slower for being busy */
    uint64_t digest;      /* of everything that compute read, when has_digest */
    bool has_digest;      /* real bytes were moved */
    double time_scale;    /* wall-clock seconds per second of total_ps; 0: not run by a clock */
    uint16_t n_devices;
    uint32_t n_links;
};

/*
 * Totals of the links, from those of the devices and zeros: a link is as busy as the copies that
 * cross it. What devices share counts each copy for as long as it would take there alone.
 * Shape: run->links is [n_links] of the machine.
 */
void kvs_run_total_links(struct kvs_run *run, const struct kvs_machine *machine);
void kvs_run_fini(struct kvs_run *run);

#endif
