/* Copies of one GPU: rates, overheads, both directions, rows, pageable memory. */
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "real/probe_internal.h"

#define COPY_ROUNDS      9
#define COPY_MOST_ROUNDS 21
#define COPY_ROWS_S      0.6e-3
#define COPY_PIECES_S    0.76e-3 /* 40 MiB at 55 GB/s */
#define COPY_OPPOSITE_S  10e-3
#define COPY_BLOCKED_S                                                                         \
    8e-3 /* a stream is blocked for so long while a pageable copy is issued */

static const char *copy_bytes(uint64_t bytes, char buf[KVS_UNITS_BUF])
{
    return kvs_format_bytes(bytes, buf, KVS_UNITS_BUF);
}

static kvs_status copy_rate(struct kvs_probe *p, struct probe_gpu *g, kvs_dir dir)
{
    const struct {
        uint64_t most_bytes;
        double most_s;
    } amounts[] = {{256 * KVS_MIB, 0.1}, {KVS_GIB, 0.25}};
    struct probe_samples times, rates = {0};
    char small[KVS_UNITS_BUF], large[KVS_UNITS_BUF];
    uint64_t sizes[KVS_COUNT_OF(amounts)];
    for (size_t a = 0; a < KVS_COUNT_OF(amounts); a++) {
        sizes[a] = probe_amount(p, g, dir, amounts[a].most_s, amounts[a].most_bytes);
        struct probe_job job = {.p = p,
                                .g = g,
                                .stream = g->streams[0],
                                .dir = dir,
                                .size_bytes = sizes[a],
                                .n = 1};
        KVS_TRY(probe_sample(&job, probe_work_copies, PROBE_GATE_S, COPY_ROUNDS,
                             COPY_MOST_ROUNDS, &times));
        for (size_t i = 0; i < times.n; i++)
            probe_add(&rates, (double)sizes[a] / times.x[i]);
    }
    struct kvs_param figure =
        kvs_probe_figure(rates.x, rates.n, "median of %zu pinned copies of %s and %s", rates.n,
                         copy_bytes(sizes[0], small), copy_bytes(sizes[1], large));
    g->rate_Bps[dir] = figure.value;
    if (dir == KVS_H2D) {
        g->link->is_rate_measured = true;
        g->link->efficiency = (struct kvs_param){0};
    }
    return probe_set(p, &g->link->rate[dir], figure);
}

kvs_status probe_rates(struct kvs_probe *p, struct probe_gpu *g)
{
    KVS_TRY(copy_rate(p, g, KVS_H2D));
    if (g->link->mode == KVS_LINK_SHARED)
        return KVS_OK; /* the file says that both directions have one rate */
    return copy_rate(p, g, KVS_D2H);
}

/* Behind a kernel, whose end the engine has to be told of: that takes longer on top of the bytes
 * than a copy that the host waits for, twice as long on some days. */
kvs_status probe_sizes(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_samples rest = {0};
    struct kvs_text line = {0};
    char buf[KVS_UNITS_BUF];
    for (uint64_t size = 4 * KVS_KIB; size <= 64 * KVS_MIB; size *= 4) {
        struct probe_job job = {
            .p = p, .g = g, .stream = g->streams[0], .size_bytes = size, .n = 1};
        struct probe_samples samples;
        if ((double)size > 0.1 * g->rate_Bps[KVS_H2D] || size > p->pinned_bytes)
            break;
        kvs_status status = probe_sample(&job, probe_work_copies, PROBE_GATE_S,
                                         COPY_MOST_ROUNDS, 2 * COPY_MOST_ROUNDS, &samples);
        if (status != KVS_OK) {
            kvs_text_fini(&line);
            return status;
        }
        double time_s = probe_median(&samples);
        kvs_text_printf(&line, "%s %s %.1f us", line.n > 0 ? "," : "", copy_bytes(size, buf),
                        time_s * 1e6);
        if (size >= PROBE_FROM_BYTES && size <= PROBE_TO_BYTES)
            probe_add(&rest, fmax(0, time_s - (double)size / g->rate_Bps[KVS_H2D]));
    }
    probe_note(p, "%s: a copy to the device, behind a kernel, of%s", probe_name(g),
               line.data != NULL ? line.data : " any size takes too long");
    kvs_text_fini(&line);
    g->behind_kernel_s = rest.n > 0 ? probe_median(&rest) : 0;
    return KVS_OK;
}

kvs_status probe_pieces(struct kvs_probe *p, struct probe_gpu *g)
{
    static const uint32_t counts[] = {1, 10, 41, 162};
    double pieces[KVS_COUNT_OF(counts)], times[KVS_COUNT_OF(counts)];
    uint64_t amount = probe_amount(p, g, KVS_H2D, COPY_PIECES_S, 40 * KVS_MIB);
    struct kvs_param figure;
    char buf[KVS_UNITS_BUF];
    for (size_t i = 0; i < KVS_COUNT_OF(counts); i++) {
        struct probe_job job = {
            .p = p, .g = g, .stream = g->streams[0], .size_bytes = amount, .n = counts[i]};
        struct probe_samples samples;
        KVS_TRY(probe_sample(&job, probe_work_copies, PROBE_GATE_S + 4e-6 * counts[i],
                             COPY_ROUNDS, COPY_MOST_ROUNDS, &samples));
        pieces[i] = counts[i];
        times[i] = probe_median(&samples);
    }
    KVS_TRY(kvs_probe_next_overhead(pieces, times, KVS_COUNT_OF(counts), &figure, p->err));
    (void)snprintf(figure.source, sizeof figure.source,
                   "%s in 1, 10, 41 and 162 copies: %.1f, %.1f, %.1f and %.1f us",
                   copy_bytes(amount, buf), times[0] * 1e6, times[1] * 1e6, times[2] * 1e6,
                   times[3] * 1e6);
    return probe_set(p, &g->device->engines.next_overhead, figure);
}

/* Both directions from the moment when the gate opens; seconds until each is done. */
static kvs_status copy_both(struct kvs_probe *p, struct probe_gpu *g, uint64_t amount,
                            double done_s[KVS_N_DIRS])
{
    enum { OPEN = PROBE_FREE_EVENT, DONE };
    cudaStream_t down = g->streams[0], up = g->streams[1];
    KVS_TRY(probe_gate(p, g, down, PROBE_GATE_S));
    KVS_TRY(probe_record(p, g, OPEN, down));
    KVS_CUDA(cudaStreamWaitEvent(up, g->events[OPEN], 0), g->gpu, 0, p->err);
    KVS_TRY(probe_copy(p, g, KVS_H2D, 0, 0, amount, down));
    KVS_TRY(probe_record(p, g, DONE + KVS_H2D, down));
    KVS_TRY(probe_copy(p, g, KVS_D2H, p->pinned_bytes - amount, p->pinned_bytes - amount,
                       amount, up));
    KVS_TRY(probe_record(p, g, DONE + KVS_D2H, up));
    KVS_TRY(probe_sync(p, g));
    KVS_TRY(probe_elapsed(p, g, OPEN, DONE + KVS_H2D, &done_s[KVS_H2D]));
    return probe_elapsed(p, g, OPEN, DONE + KVS_D2H, &done_s[KVS_D2H]);
}

kvs_status probe_opposite(struct kvs_probe *p, struct probe_gpu *g)
{
    uint64_t amount =
        probe_amount(p, g, KVS_H2D, COPY_OPPOSITE_S, p->pinned_bytes / 2 / KVS_MIB * KVS_MIB);
    struct probe_samples rates[KVS_N_DIRS] = {{.n = 0}, {.n = 0}};
    char buf[KVS_UNITS_BUF];
    if (g->link->mode == KVS_LINK_SHARED)
        return KVS_OK;
    for (int round = 0; round <= COPY_MOST_ROUNDS; round++) {
        double done_s[KVS_N_DIRS];
        KVS_TRY(copy_both(p, g, amount, done_s));
        for (int dir = 0; dir < KVS_N_DIRS && round > 0; dir++)
            probe_add(&rates[dir], kvs_probe_opposite_Bps((double)amount, done_s[dir],
                                                          done_s[1 - dir], g->rate_Bps[dir]));
    }
    for (int dir = 0; dir < KVS_N_DIRS; dir++)
        KVS_TRY(probe_set(p, &g->link->opposite[dir],
                          kvs_probe_figure(rates[dir].x, rates[dir].n,
                                           "median of %zu, %s both ways at once", rates[dir].n,
                                           copy_bytes(amount, buf))));
    return KVS_OK;
}

static kvs_status copy_rows(const struct probe_job *job)
{
    struct kvs_probe *p = job->p;
    size_t width = job->width_bytes;
    KVS_CUDA(cudaMemcpy2DAsync(job->g->memory, width, p->pinned, 2 * width, width,
                               job->size_bytes / width, cudaMemcpyHostToDevice, job->stream),
             job->g->gpu, job->size_bytes, p->err);
    return KVS_OK;
}

static kvs_status copy_rows_time(struct kvs_probe *p, struct probe_gpu *g, uint32_t width,
                                 uint64_t amount, double *out_s)
{
    struct probe_job job = {
        .p = p, .g = g, .stream = g->streams[0], .width_bytes = width, .size_bytes = amount};
    struct probe_samples samples;
    KVS_TRY(
        probe_sample(&job, copy_rows, PROBE_GATE_S, COPY_ROUNDS, COPY_MOST_ROUNDS, &samples));
    /* as if the rows were the whole amount */
    *out_s = probe_median(&samples) * (double)amount / (double)(amount / width * width);
    return KVS_OK;
}

kvs_status probe_rows(struct kvs_probe *p, struct probe_gpu *g)
{
    static const uint32_t widths[] = {64,  128,  136,  256,  272,  512,
                                      544, 1024, 1088, 2048, 2176, 4096};
    static const uint32_t odd_width = 546; /* 2 off a multiple of 4: some drivers crawl */
    double times[KVS_COUNT_OF(widths)], odd_s;
    uint64_t amount =
        probe_amount(p, g, KVS_H2D, COPY_ROWS_S, p->pinned_bytes / 2 / KVS_MIB * KVS_MIB);
    for (size_t i = 0; i < KVS_COUNT_OF(widths); i++)
        KVS_TRY(copy_rows_time(p, g, widths[i], amount, &times[i]));
    kvs_probe_row_curve(widths, times, KVS_COUNT_OF(widths), (double)amount, g->behind_kernel_s,
                        g->rate_Bps[KVS_H2D], &g->device->engines.row_curve);
    KVS_TRY(copy_rows_time(p, g, odd_width, amount, &odd_s));
    double odd_Bps = (double)amount / odd_s;
    probe_note(p, "%s: rows of %u B are copied at %.2f GB/s, of %u B at %.2f", probe_name(g),
               odd_width, odd_Bps * 1e-9, 544u, (double)amount / times[6] * 1e-9);
    if (odd_s > 2 * times[6])
        probe_warn(p,
                   "%s: rows of %u B, 2 off a multiple of 4, are copied at %.2f GB/s, rows of "
                   "544 B at %.2f; predictions for such rows are too good; try another cache "
                   "type or split",
                   probe_name(g), odd_width, odd_Bps * 1e-9, (double)amount / times[6] * 1e-9);
    return probe_mark(p, &g->device->engines.row_curve);
}

static kvs_status copy_pageable(struct kvs_probe *p, struct probe_gpu *g, uint64_t size_bytes)
{
    KVS_CUDA(cudaMemcpyAsync(g->memory, p->pageable, size_bytes, cudaMemcpyHostToDevice,
                             g->streams[0]),
             g->gpu, size_bytes, p->err);
    return KVS_OK;
}

static kvs_status copy_pageable_rate(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_samples rates = {0};
    double lo = HUGE_VAL, hi = 0;
    for (uint64_t size = 4 * KVS_MIB; size <= p->pageable_bytes; size *= 4) {
        struct probe_samples here = {0};
        double limit_s = probe_now_s() + 1.0;
        for (int round = 0; round < COPY_ROUNDS && (round < 3 || probe_now_s() < limit_s);
             round++) {
            KVS_TRY(probe_sync(p, g));
            double start_s = probe_now_s();
            KVS_TRY(copy_pageable(p, g, size));
            KVS_TRY(probe_sync(p, g));
            probe_add(&here, (double)size / (probe_now_s() - start_s));
            probe_add(&rates, here.x[here.n - 1]);
        }
        lo = fmin(lo, probe_median(&here));
        hi = fmax(hi, probe_median(&here));
    }
    double median = probe_median(&rates);
    return probe_set(p, &p->machine->host.pageable_rate,
                     kvs_probe_range(median, lo, hi,
                                     "median of %zu copies of 4 to 256 MiB to %s; the interval "
                                     "holds the median of each size",
                                     rates.n, probe_name(g)));
}

/* The call came back while its stream was still blocked: it did not wait for the copy. */
static kvs_status copy_pageable_returns(struct kvs_probe *p, struct probe_gpu *g,
                                        uint64_t size_bytes, bool *out)
{
    KVS_TRY(probe_sync(p, g));
    KVS_TRY(probe_gate(p, g, g->streams[0], COPY_BLOCKED_S));
    KVS_TRY(probe_record(p, g, PROBE_FREE_EVENT, g->streams[0]));
    KVS_TRY(copy_pageable(p, g, size_bytes));
    *out = !probe_is_done(g->events[PROBE_FREE_EVENT]);
    return probe_sync(p, g);
}

kvs_status probe_pageable(struct kvs_probe *p, struct probe_gpu *g)
{
    struct kvs_probe_passed sizes[16];
    struct kvs_param *figure = &p->machine->host.pageable_async_bytes;
    uint64_t next;
    bool is_clean;
    size_t n = 0;
    KVS_TRY(copy_pageable_rate(p, g));
    for (uint64_t size = 16 * KVS_KIB; size <= 16 * KVS_MIB && size <= p->pageable_bytes;
         size *= 2) {
        struct kvs_probe_passed *here = &sizes[n++];
        *here = (struct kvs_probe_passed){.size_bytes = size, .n_rounds = 5};
        for (unsigned round = 0; round < here->n_rounds; round++) {
            bool returns;
            KVS_TRY(copy_pageable_returns(p, g, size, &returns));
            here->n_passed += returns;
        }
    }
    double largest = (double)kvs_probe_largest(sizes, n, &next, &is_clean);
    return probe_set(p, figure,
                     kvs_probe_exact(largest, largest, largest,
                                     "calls that return while their stream is blocked for %.0f "
                                     "ms; 16 KiB to 16 MiB, in powers of two, 5 each",
                                     COPY_BLOCKED_S * 1e3));
}
