/* The operations of a token that every transport shares. */
#include "sched/build_internal.h"

/* A blocking copy from the input area on the host to a device buffer. */
static kvs_status build_input(struct kvs_build *b, uint32_t device, kvs_tag tag, uint64_t from,
                              uint16_t buffer, uint64_t to, uint64_t size_bytes)
{
    if (size_bytes == 0)
        return KVS_OK;
    struct kvs_op op = {.kind = KVS_OP_COPY,
                        .tag = (uint8_t)tag,
                        .flags = KVS_OP_BLOCKS,
                        .queue = b->devices[device].q_blocking,
                        .layer = KVS_NO_LAYER};
    struct kvs_range source = kvs_build_run(b->buf_inputs, from, size_bytes);
    struct kvs_range target = kvs_build_run(buffer, to, size_bytes);
    KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, &source, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, &target, KVS_ACCESS_WRITE, b->err);
}

/* Both constants read by one kernel; the host still waits for it. */
static kvs_status build_rotation_kernel(struct kvs_build *b, uint32_t device, uint64_t from,
                                        uint64_t size_bytes)
{
    struct kvs_op op = {.kind = KVS_OP_COPY,
                        .tag = KVS_TAG_ROTATION,
                        .flags = KVS_OP_BLOCKS | KVS_OP_VIA_KERNEL,
                        .queue = b->devices[device].q_blocking,
                        .layer = KVS_NO_LAYER};
    struct kvs_range source = kvs_build_run(b->buf_inputs, from, size_bytes);
    struct kvs_range target = kvs_build_run(b->devices[device].buf_rotation, 0, size_bytes);
    KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, &source, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, &target, KVS_ACCESS_WRITE, b->err);
}

kvs_status kvs_build_inputs(struct kvs_build *b, kvs_late how)
{
    const struct kvs_llm *llm = b->c->llm;
    uint64_t hidden = kvs_build_hidden_bytes(b);
    uint64_t k = llm->rotation_k_bytes, v = llm->rotation_v_bytes;
    bool is_mirrored = b->c->placement.mode == KVS_SPLIT_TENSOR;
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        const struct kvs_build_device *device = &b->devices[d];
        /* the hidden state enters at the first device, or everywhere under tensor split */
        if (is_mirrored || (int32_t)d == b->graph->pieces.items[0].device)
            KVS_TRY(build_input(b, d, KVS_TAG_INPUT, 0, device->buf_hidden, 0, hidden));
    }
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        uint16_t buffer = b->devices[d].buf_rotation;
        if (how == KVS_LATE_KERNEL && k + v > 0) {
            KVS_TRY(build_rotation_kernel(b, d, hidden, k + v));
            continue;
        }
        KVS_TRY(build_input(b, d, KVS_TAG_ROTATION, hidden, buffer, 0, k));
        KVS_TRY(build_input(b, d, KVS_TAG_ROTATION, hidden + k, buffer, k, v));
    }
    return KVS_OK;
}

kvs_status kvs_build_wait(struct kvs_build *b, kvs_tag tag, uint16_t layer)
{
    struct kvs_op op = {
        .kind = KVS_OP_WAIT, .tag = (uint8_t)tag, .queue = KVS_HOST_QUEUE, .layer = layer};
    return kvs_plan_add_op(b->plan, &op, NULL, b->err);
}

/* One way of a hop: by a blocking copy, or where nothing waits by a kernel behind the compute. */
static kvs_status build_hop_leg(struct kvs_build *b, uint32_t from, uint32_t to, bool is_first,
                                uint16_t layer, kvs_op_id *out)
{
    uint64_t hidden = kvs_build_hidden_bytes(b);
    const struct kvs_build_device *device = &b->devices[is_first ? from : to];
    bool is_kernel = b->tail.ring_rows > 0;
    struct kvs_range host = kvs_build_run(b->buf_hop, 0, hidden);
    struct kvs_range end = kvs_build_run(device->buf_hidden, 0, hidden);
    struct kvs_op op = {.kind = KVS_OP_COPY,
                        .tag = KVS_TAG_HOP,
                        .flags = is_kernel ? KVS_OP_VIA_KERNEL : KVS_OP_BLOCKS,
                        .queue = is_kernel ? device->q_compute : device->q_blocking,
                        .layer = layer};
    if (is_first)
        op.flags |= KVS_OP_D2H;
    KVS_TRY(kvs_plan_add_op(b->plan, &op, out, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, is_first ? &end : &host, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, is_first ? &host : &end, KVS_ACCESS_WRITE, b->err);
}

/*
 * The hidden state goes through host memory to the device of the next piece. *after: what its
 * compute still has to wait for, or KVS_NO_OP.
 */
static kvs_status build_hop(struct kvs_build *b, uint32_t from, uint32_t to, uint16_t layer,
                            kvs_op_id *after)
{
    bool has_bytes = kvs_build_hidden_bytes(b) > 0, waits = b->tail.ring_rows == 0;
    kvs_op_id first;
    *after = KVS_NO_OP;
    if (waits) {
        KVS_TRY(kvs_build_wait(b, KVS_TAG_HOP, layer));
        KVS_TRY(kvs_plan_add_dep(b->plan, b->devices[from].last_compute, 0,
                                 has_bytes ? KVS_DEP_HAZARD : KVS_DEP_PACING, b->err));
    }
    if (!has_bytes) { /* a synthetic program: in sequence all the same */
        *after = waits ? KVS_NO_OP : b->devices[from].last_compute;
        return KVS_OK;
    }
    KVS_TRY(build_hop_leg(b, from, to, true, layer, &first));
    KVS_TRY(build_hop_leg(b, from, to, false, layer, NULL));
    return waits ? KVS_OK : kvs_plan_add_dep(b->plan, first, 0, KVS_DEP_HAZARD, b->err);
}

/* Does the hidden state enter or leave the device at this piece? */
static bool build_hidden_crosses(const struct kvs_build *b, const struct kvs_piece *piece)
{
    const struct kvs_piece *first = b->graph->pieces.items;
    const struct kvs_piece *last = first + b->graph->pieces.n - 1;
    return piece == first || (piece > first && piece[-1].device != piece->device) ||
           (piece < last && piece[1].device != piece->device);
}

/* Is it the first piece of a token on its device? Every device has its own constants. */
static bool build_is_first_of_device(const struct kvs_build *b, const struct kvs_piece *piece)
{
    for (const struct kvs_piece *p = b->graph->pieces.items; p < piece; p++)
        if (p->device < 0 || p->device == piece->device)
            return false;
    return true;
}

/* A piece reads its stage's window, reads and writes its residents, and ends with new rows. */
static kvs_status build_cell_accesses(struct kvs_build *b, const struct kvs_piece *piece,
                                      uint32_t d, const struct kvs_build_input *inputs)
{
    uint32_t stage = piece->stage, next = piece->before_stage;
    bool has_tail = b->tail.ring_rows > 0;
    if (stage != KVS_NO_STAGE && kvs_build_holds(b, stage, d))
        KVS_TRY(has_tail ? kvs_build_tail_reads(b, stage, d, inputs[d].slot)
                         : kvs_build_window_reads(b, stage, d, inputs[d].slot));
    KVS_TRY(kvs_build_resident_accesses(b, piece, d));
    if (next == KVS_NO_STAGE || !kvs_build_stores(b, next, d))
        return KVS_OK;
    return has_tail ? kvs_build_tail_writes(b, next, d) : kvs_build_row_writes(b, next, d);
}

static kvs_status build_compute_accesses(struct kvs_build *b, const struct kvs_piece *piece,
                                         uint32_t d, const struct kvs_build_input *inputs)
{
    const struct kvs_build_device *device = &b->devices[d];
    uint64_t rotation = kvs_build_rotation_bytes(b);
    struct kvs_range hidden = kvs_build_run(device->buf_hidden, 0, kvs_build_hidden_bytes(b));
    if (rotation > 0 && build_is_first_of_device(b, piece)) {
        struct kvs_range constants = kvs_build_run(device->buf_rotation, 0, rotation);
        KVS_TRY(kvs_plan_add_access(b->plan, &constants, KVS_ACCESS_READ, b->err));
    }
    /* between pieces of one device the hidden state stays on its queue: ends alone are stated
     */
    if (hidden.width > 0 && build_hidden_crosses(b, piece))
        KVS_TRY(kvs_plan_add_access(b->plan, &hidden, KVS_ACCESS_WRITE, b->err));
    KVS_TRY(build_cell_accesses(b, piece, d, inputs));
    if (piece->is_last_of_token) {
        struct kvs_range logits = kvs_build_run(device->buf_logits, 0, 4);
        KVS_TRY(kvs_plan_add_access(b->plan, &logits, KVS_ACCESS_WRITE, b->err));
    }
    return KVS_OK;
}

static struct kvs_op build_compute_op(const struct kvs_build *b, const struct kvs_piece *piece,
                                      uint32_t d)
{
    bool is_tensor = b->c->placement.mode == KVS_SPLIT_TENSOR;
    double share = is_tensor ? kvs_case_share(b->c, d) : 1.0;
    uint64_t resident = kvs_piece_resident_bytes(b->c, piece, b->step);
    bool has_stage = piece->stage != KVS_NO_STAGE;
    struct kvs_op op = {.kind = KVS_OP_COMPUTE,
                        .tag = has_stage                         ? KVS_TAG_ATTENTION
                               : piece == b->graph->pieces.items ? KVS_TAG_FIRST
                                                                 : KVS_TAG_BODY,
                        .flags = is_tensor ? KVS_OP_SUBGRAPH : 0,
                        .queue = b->devices[d].q_compute,
                        .layer = (uint16_t)piece->layer,
                        .compute = {.params = (uint64_t)((double)piece->params * share + 0.5),
                                    .kv_bytes = (uint64_t)((double)resident * share + 0.5),
                                    .n_kernels = piece->n_kernels,
                                    .n_queries = kvs_case_stream_rows(b->c)}};
    if (has_stage)
        op.compute.kv_bytes += kvs_build_window_bytes(b, piece->stage, d);
    return op;
}

/* after: one more thing that it waits for, or KVS_NO_OP. */
static kvs_status build_compute(struct kvs_build *b, const struct kvs_piece *piece, uint32_t d,
                                const struct kvs_build_input *inputs, kvs_op_id after)
{
    struct kvs_op op = build_compute_op(b, piece, d);
    struct kvs_build_device *device = &b->devices[d];
    KVS_TRY(kvs_plan_add_op(b->plan, &op, &device->last_compute, b->err));
    if (piece->stage != KVS_NO_STAGE) {
        device->last_attention = device->last_compute;
        if (inputs[d].ready != KVS_NO_OP)
            KVS_TRY(kvs_plan_add_dep(b->plan, inputs[d].ready, 0, KVS_DEP_HAZARD, b->err));
        if (inputs[d].ready_at)
            KVS_TRY(kvs_build_add_later(b, inputs[d].ready_at, KVS_DEP_HAZARD));
    }
    if (after != KVS_NO_OP)
        KVS_TRY(kvs_plan_add_dep(b->plan, after, 0, KVS_DEP_PACING, b->err));
    return build_compute_accesses(b, piece, d, inputs);
}

static kvs_status build_reduce(struct kvs_build *b, const struct kvs_piece *piece)
{
    uint64_t hidden = kvs_build_hidden_bytes(b);
    uint32_t group = b->n_groups++;
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        struct kvs_op op = {.kind = KVS_OP_COLLECTIVE,
                            .tag = KVS_TAG_REDUCE,
                            .queue = b->devices[d].q_compute,
                            .layer = (uint16_t)piece->layer,
                            .collective = {.size_bytes = hidden,
                                           .group = group,
                                           .n_members = b->graph->n_devices}};
        KVS_TRY(kvs_plan_add_op(b->plan, &op, &b->devices[d].last_compute, b->err));
    }
    return KVS_OK;
}

kvs_status kvs_build_piece(struct kvs_build *b, uint32_t index,
                           const struct kvs_build_input *inputs)
{
    const struct kvs_piece *piece = &b->graph->pieces.items[index];
    if (piece->device >= 0) {
        const struct kvs_piece *before = index > 0 ? piece - 1 : NULL;
        kvs_op_id after = KVS_NO_OP;
        if (before && before->device != piece->device)
            KVS_TRY(build_hop(b, (uint32_t)before->device, (uint32_t)piece->device,
                              (uint16_t)piece->layer, &after));
        return build_compute(b, piece, (uint32_t)piece->device, inputs, after);
    }
    for (uint32_t d = 0; d < b->graph->n_devices; d++)
        KVS_TRY(build_compute(b, piece, d, inputs, KVS_NO_OP));
    return piece->has_reduce && b->graph->n_devices > 1 ? build_reduce(b, piece) : KVS_OK;
}

/* What the host waits for at the end of a token: the last compute of each device, and stores of
 * rows that the next token writes again. */
static kvs_status build_sample_wait(struct kvs_build *b)
{
    bool waits_for_stores = b->tail.ring_rows > 0 && kvs_build_rewrites(b);
    KVS_TRY(kvs_build_wait(b, KVS_TAG_SAMPLE, KVS_NO_LAYER));
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        const struct kvs_build_device *device = &b->devices[d];
        if (device->last_compute != KVS_NO_OP)
            KVS_TRY(kvs_plan_add_dep(b->plan, device->last_compute, 0, KVS_DEP_HAZARD, b->err));
        if (waits_for_stores && device->last_store != KVS_NO_OP)
            KVS_TRY(kvs_plan_add_dep(b->plan, device->last_store, 0, KVS_DEP_HAZARD, b->err));
    }
    return KVS_OK;
}

kvs_status kvs_build_sample(struct kvs_build *b)
{
    const struct kvs_piece *last = &b->graph->pieces.items[b->graph->pieces.n - 1];
    struct kvs_op op = {.kind = KVS_OP_HOST,
                        .tag = KVS_TAG_SAMPLE,
                        .queue = KVS_HOST_QUEUE,
                        .layer = KVS_NO_LAYER,
                        .host = {.n_calls = 1}};
    KVS_TRY(build_sample_wait(b));
    KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        if (last->device >= 0 && (int32_t)d != last->device)
            continue;
        struct kvs_range logits = kvs_build_run(b->devices[d].buf_logits, 0, 4);
        KVS_TRY(kvs_plan_add_access(b->plan, &logits, KVS_ACCESS_READ, b->err));
    }
    return KVS_OK;
}
