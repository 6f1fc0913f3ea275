/*
 * Copy engines of another machine, played on this one's GPU: for each engine a host thread that
 * serves copies in the order that models/arbiter.h gives, in pieces at the pace of the machine
 * file's link. Streams and threads meet at words in mapped host memory: a stream writes a copy's
 * number when the copy could begin, and waits until the thread has written it back.
 *
 * An engine has to know that the next copy of a stream is ready while one of that stream is still
 * under way; a stream that waits for the one cannot tell. So readiness is written by a second
 * stream for each queue, which waits for what the queue waits for, but not for its copies.
 *
 * What it proves is the plan and the executor under that machine's timing, not that machine's
 * hardware. Links are the devices' own: sharing is not played.
 */
#ifndef KVS_REAL_CUDA_EMULATE_H
#define KVS_REAL_CUDA_EMULATE_H

#include "real/kernels.h"
#include "sched/cost.h"
#include "sched/plan.h"

struct cuda_emulate;

/* What moves the bytes: device pointers are those of the GPU the device is mapped to. */
struct cuda_emulate_job {
    unsigned char *to;
    const unsigned char *from;
    uint64_t to_pitch, from_pitch;
    uint64_t width; /* bytes of a row */
    uint32_t rows;
    double Bps; /* alone on its path */
    bool is_d2h;
    bool may_bypass; /* small, 1D, and issued on an idle stream */
    double issue_s;  /* CLOCK_MONOTONIC */
};

/* gpus: [n_devices]. costs and plan are borrowed. Errors: KVS_EUNSUPPORTED without the driver's
 * stream memory operations, or when devices share a link that can bind. */
kvs_status cuda_emulate_create(const struct kvs_plan *plan, const struct kvs_costs *costs,
                               const int *gpus, struct cuda_emulate **out,
                               struct kvs_error *err) KVS_MUST_USE;
void cuda_emulate_destroy(struct cuda_emulate *e);

/* Around a run, between which the engines' threads are up: they spin, so that those of several
 * sessions at once would be too many. Ends once the streams have run dry. */
kvs_status cuda_emulate_begin(struct cuda_emulate *e, struct kvs_error *err);
void cuda_emulate_end(struct cuda_emulate *e);

/* Before a copy's own waits: other work of the queue since its last copy, on its stream, comes
 * first for the second stream too. */
kvs_status cuda_emulate_follow(struct cuda_emulate *e, uint16_t queue, cudaStream_t stream,
                               struct kvs_error *err);
/* Where the copy's waits go as well as on the queue's own stream. */
cudaStream_t cuda_emulate_stream(const struct cuda_emulate *e, uint16_t queue);
/* The copy, as the queue's next on this stream. Blocks while too many are under way. */
kvs_status cuda_emulate_copy(struct cuda_emulate *e, uint16_t queue, cudaStream_t stream,
                             const struct cuda_emulate_job *job, struct kvs_error *err);
/* Something else was put on the queue's stream. */
void cuda_emulate_note(struct cuda_emulate *e, uint16_t queue);
/* The state of a device's link, for kernels. */
const struct kvs_gpu_pace *cuda_emulate_pace(const struct cuda_emulate *e, uint16_t device);
/* The first failure of a thread since the last call, if there was one. */
kvs_status cuda_emulate_check(struct cuda_emulate *e, struct kvs_error *err);

#endif
