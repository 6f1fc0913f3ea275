/*
 * Measures the machine that it runs on, and fills in a machine's figures (models/machine.h): copy
 * rates and overheads, what the copy engines do, kernels that read host memory, what calls cost
 * the host, all-reduces, and the state of the links. docs/probe.md says how; real/probe_rules.h
 * turns samples into figures.
 *
 *     struct kvs_probe *probe;
 *     KVS_TRY(kvs_probe_open(&options, &probe, err));    the GPUs, and a first rate of each link
 *     ... make a machine with a device for each GPU of kvs_probe_facts(probe) ...
 *     status = kvs_probe_measure(probe, machine, &report, err);
 *     kvs_probe_close(probe);
 */
#ifndef KVS_REAL_PROBE_H
#define KVS_REAL_PROBE_H

#include <signal.h>

#include "base/array.h"
#include "base/text.h"
#include "models/machine.h"
#include "real/probe_rules.h"

typedef enum kvs_probe_part {
    KVS_PROBE_LINKS,
    KVS_PROBE_ENGINES,
    KVS_PROBE_KERNELS,
    KVS_PROBE_HOST,
    KVS_PROBE_COLLECTIVES,
    KVS_PROBE_TOPOLOGY,
    KVS_PROBE_N_PARTS
} kvs_probe_part;

/* "links", "engines", ...; NULL-terminated. */
extern const char *const kvs_probe_part_names[];
#define KVS_PROBE_ALL ((1u << KVS_PROBE_N_PARTS) - 1)

/* One measurement, and the figures of a machine file that come from it. */
struct kvs_probe_step {
    kvs_probe_part part;
    const char *what;    /* for a progress line */
    const char *figures; /* keys of the machine file, or what else is said of it */
    const char *how;
};

typedef enum kvs_probe_step_id {
    KVS_PROBE_LINK_STATE, /* first: it tells of a link that is slower than it should be */
    KVS_PROBE_RATES,
    KVS_PROBE_SIZES,
    KVS_PROBE_PIECES,
    KVS_PROBE_OPPOSITE,
    KVS_PROBE_ROWS,
    KVS_PROBE_PAGEABLE,
    KVS_PROBE_TOGETHER,
    KVS_PROBE_ARBITRATION,
    KVS_PROBE_LEAD,
    KVS_PROBE_BYPASS,
    KVS_PROBE_FIRST_TURN,
    KVS_PROBE_BESIDE,
    KVS_PROBE_READ_LATENCY,
    KVS_PROBE_READS,
    KVS_PROBE_KERNEL_GAP,
    KVS_PROBE_MEMORY,
    KVS_PROBE_STREAM,
    KVS_PROBE_CALLS,
    KVS_PROBE_WAITS,
    KVS_PROBE_BLOCKING,
    KVS_PROBE_STORE,
    KVS_PROBE_QUEUE,
    KVS_PROBE_ALL_REDUCE,
    KVS_PROBE_N_STEPS
} kvs_probe_step_id;

extern const struct kvs_probe_step kvs_probe_steps[]; /* [KVS_PROBE_N_STEPS], in order */

/* All borrowed until close. */
struct kvs_probe_options {
    unsigned parts;  /* a bit each */
    double budget_s; /* for open and measure together; steps that would not fit are left out */
    const volatile sig_atomic_t *stop; /* not 0: end with KVS_ESTOPPED; may be NULL */
    void (*progress)(void *context, size_t done, size_t n, const char *what); /* may be NULL */
    void (*warn)(void *context, const char *text);                            /* may be NULL */
    void *context;
};

struct kvs_probe_gpu {
    char name[96];
    char pci[24]; /* "0000:01:00.0" */
    uint64_t memory_bytes, free_bytes;
    int major, minor; /* compute capability */
    unsigned n_sms, n_engines;
    double clock_Hz;
    double peak_memory_Bps;         /* memory clock x bus width, 0: not known */
    double h2d_Bps;                 /* of a few copies, before anything else is measured */
    unsigned gen, lanes;            /* of the link just after them; 0: not known */
    unsigned max_gen, max_lanes;    /* that GPU and slot allow; 0: not known */
    unsigned sm_clock_MHz, power_W; /* under load, and the limit; 0: not known */
    unsigned memory_clock_MHz;      /* under load; 0: not known */
    int numa_node;                  /* -1: not known */
};

struct kvs_probe_facts {
    char driver[32]; /* "580.95.05", or "" */
    char cuda[16];   /* of the driver and of this program: "13.0" */
    char runtime[16];
    uint32_t n_gpus;
    struct kvs_probe_gpu gpus[KVS_PROBE_MAX_GPUS];
};

/* Zero-initialise; release with kvs_probe_report_fini. */
struct kvs_probe_report {
    KVS_ARRAY(const void *) measured; /* parameters, rules and curves that were set */
    KVS_ARRAY(struct kvs_probe_group)
    groups;                /* links that GPUs share, not yet in the machine */
    struct kvs_text notes; /* a line each: what no figure can say */
    unsigned n_skipped;    /* steps for which there was no time */
};
void kvs_probe_report_fini(struct kvs_probe_report *report);
bool kvs_probe_report_has(const struct kvs_probe_report *report, const void *what);

struct kvs_probe;

/* Errors: KVS_ENODEVICE without a GPU, or in a program built without CUDA. */
kvs_status kvs_probe_open(const struct kvs_probe_options *options, struct kvs_probe **out,
                          struct kvs_error *err) KVS_MUST_USE;
const struct kvs_probe_facts *kvs_probe_facts(const struct kvs_probe *probe);
/*
 * Sets the figures of the machine, whose device i is GPU i, and lists them in the report. Figures
 * that could not be told keep their value, and a warning or a note says why.
 */
kvs_status kvs_probe_measure(struct kvs_probe *probe, struct kvs_machine *machine,
                             struct kvs_probe_report *report,
                             struct kvs_error *err) KVS_MUST_USE;
void kvs_probe_close(struct kvs_probe *probe); /* NULL is fine */

#endif
