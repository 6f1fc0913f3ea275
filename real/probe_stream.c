/* The executor's own kernels, where they stand for a model's: weights in graphs of many kernels,
 * and K and V into the digest. */
#include <math.h>

#include "real/kernels.h"
#include "real/probe_internal.h"

#define STREAM_ROUNDS   21
#define STREAM_BYTES    (384 * KVS_MIB) /* many times what a cache keeps */
#define STREAM_KERNELS  24u             /* of a graph; as many bytes in twice as many */
#define STREAM_LAUNCHES 8
#define STREAM_LOAD_S   10e-3          /* of copies beside them, more than they take */
#define STREAM_FEW      (16 * KVS_MIB) /* of K and V, and so much more */
#define STREAM_MANY     (128 * KVS_MIB)
#define STREAM_WINDOW   (4 * KVS_MIB) /* K or V of a layer */
#define STREAM_ROW      1088
#define STREAM_REST     (255 * STREAM_ROW)
#define STREAM_STEPS    3 /* kernels of an operation besides: two folds, and the rows made */
#define STREAM_GATE_S   250e-6 /* the calls of the operations */

struct stream {
    struct kvs_probe *p;
    struct probe_gpu *g;
    unsigned char *memory;       /* owned, [STREAM_BYTES] on the device */
    struct kvs_gpu_state *state; /* owned, on the device */
    cudaGraphExec_t graphs[2];   /* owned: few kernels, and twice as many of half the bytes */
};

static kvs_status stream_kernels(const struct probe_job *job)
{
    const struct stream *s = job->object;
    uint64_t each = STREAM_BYTES / job->n;
    for (uint32_t i = 0; i < job->n; i++)
        KVS_CUDA(kvs_gpu_stream(job->stream, s->memory + i * each, each, job->g->sink),
                 job->g->gpu, each, job->p->err);
    return KVS_OK;
}

static kvs_status stream_launch(const struct probe_job *job)
{
    cudaGraphExec_t graph = job->object;
    for (uint32_t i = 0; i < STREAM_LAUNCHES; i++)
        KVS_CUDA(cudaGraphLaunch(graph, job->stream), job->g->gpu, 0, job->p->err);
    return KVS_OK;
}

static struct kvs_gpu_cells stream_cells(const struct stream *s, uint64_t size_bytes)
{
    return (struct kvs_gpu_cells){.bytes = s->memory,
                                  .pitch = size_bytes,
                                  .cell_pitch = size_bytes,
                                  .width = size_bytes,
                                  .rows = 1};
}

static const struct kvs_gpu_time stream_no_time = {0};

/* In three pieces, as a window is: rows that are there, the token's new row, and padding. */
static kvs_status stream_fold(const struct probe_job *job)
{
    const struct stream *s = job->object;
    struct kvs_gpu_cells_list list = {.n = 3};
    list.items[0] = stream_cells(s, job->size_bytes - STREAM_REST - STREAM_ROW);
    list.items[1] = stream_cells(s, STREAM_ROW);
    list.items[2] = stream_cells(s, STREAM_REST);
    KVS_CUDA(kvs_gpu_fold(job->stream, &list, s->state, stream_no_time, 0), job->g->gpu,
             job->size_bytes, job->p->err);
    return KVS_OK;
}

/* As a layer does: K, weights, V, and the rows that it makes. */
static kvs_status stream_operations(const struct probe_job *job)
{
    const struct stream *s = job->object;
    struct kvs_gpu_cells_list rows = {.n = 2};
    rows.items[0] = rows.items[1] = stream_cells(s, STREAM_ROW);
    for (uint32_t i = 0; i < STREAM_LAUNCHES; i++) {
        KVS_TRY(stream_fold(job));
        KVS_CUDA(cudaGraphLaunch(s->graphs[0], job->stream), job->g->gpu, 0, job->p->err);
        KVS_TRY(stream_fold(job));
        KVS_CUDA(kvs_gpu_make(job->stream, &rows, s->state, 0, stream_no_time), job->g->gpu, 0,
                 job->p->err);
    }
    return KVS_OK;
}

static struct probe_job stream_job(const struct stream *s, void *object)
{
    return (struct probe_job){
        .p = s->p, .g = s->g, .stream = s->g->streams[1], .object = object};
}

/* The same bytes in twice as many kernels: what each of them takes; the rest is bytes. */
static kvs_status stream_alone(const struct stream *s, struct probe_samples *kernels,
                               struct probe_samples *rates, struct probe_samples *times)
{
    const double n = STREAM_LAUNCHES * STREAM_KERNELS;
    for (int round = 0; round <= STREAM_ROUNDS; round++) {
        double took[2];
        for (int k = 0; k < 2; k++) {
            struct probe_job job = stream_job(s, s->graphs[k]);
            KVS_TRY(probe_bracket(&job, stream_launch, 2 * PROBE_GATE_S, &took[k]));
        }
        double each = fmax(0, took[1] - took[0]) / n;
        if (round == 0 || took[0] <= n * each) /* warm-up, or the host was held up */
            continue;
        probe_add(kernels, each);
        probe_add(rates, (double)STREAM_BYTES * STREAM_LAUNCHES / (took[0] - n * each));
        probe_add(times, took[0]);
    }
    return rates->n > 0 ? KVS_OK
                        : kvs_error_set(s->p->err, KVS_EDEVICE,
                                        "probe: twice as many kernels take twice as long");
}

static kvs_status stream_beside(const struct stream *s, double alone_s,
                                struct probe_samples *slower)
{
    struct probe_job job = stream_job(s, s->graphs[0]);
    for (int round = 0; round < STREAM_ROUNDS; round++) {
        double took;
        KVS_TRY(
            probe_bracket_beside(&job, stream_launch, 2 * PROBE_GATE_S, STREAM_LOAD_S, &took));
        probe_add(slower, fmin(1, fmax(0, took / alone_s - 1)));
    }
    return KVS_OK;
}

static kvs_status stream_folds(struct stream *s, struct probe_samples *rates)
{
    const uint64_t sizes[] = {STREAM_FEW, STREAM_MANY};
    struct probe_job job = stream_job(s, s);
    for (int round = 0; round <= STREAM_ROUNDS; round++) {
        double took[2];
        for (int k = 0; k < 2; k++) {
            job.size_bytes = sizes[k];
            KVS_TRY(probe_bracket(&job, stream_fold, PROBE_GATE_S, &took[k]));
        }
        if (round > 0 && took[1] > took[0])
            probe_add(rates, (double)(sizes[1] - sizes[0]) / (took[1] - took[0]));
    }
    return rates->n > 0 ? KVS_OK
                        : kvs_error_set(s->p->err, KVS_EDEVICE,
                                        "probe: 128 MiB are folded no slower than 16 MiB");
}

/* What an operation takes on top of its kernels and their bytes, and beside copies on top of
 * being slower. */
static kvs_status stream_whole(struct stream *s, double kernel_s, double rate_Bps,
                               double fold_Bps, double slowdown, struct probe_samples *out,
                               struct probe_samples *beside)
{
    struct probe_job job = stream_job(s, s);
    job.size_bytes = STREAM_WINDOW;
    double known_s = (STREAM_KERNELS + STREAM_STEPS) * kernel_s +
                     (double)STREAM_BYTES / rate_Bps + 2.0 * STREAM_WINDOW / fold_Bps;
    for (int round = 0; round <= STREAM_ROUNDS; round++) {
        double took;
        KVS_TRY(probe_bracket(&job, stream_operations, STREAM_GATE_S, &took));
        if (round > 0)
            probe_add(out, fmax(0, took / STREAM_LAUNCHES - known_s));
    }
    double alone_s = known_s + probe_median(out);
    for (int round = 0; round <= STREAM_ROUNDS; round++) {
        double took;
        KVS_TRY(
            probe_bracket_beside(&job, stream_operations, STREAM_GATE_S, STREAM_LOAD_S, &took));
        if (round > 0)
            probe_add(beside, fmax(0, took / STREAM_LAUNCHES - alone_s * (1 + slowdown)));
    }
    return KVS_OK;
}

static kvs_status stream_open(struct stream *s)
{
    int gpu = s->g->gpu;
    KVS_CUDA(cudaMalloc((void **)&s->memory, STREAM_BYTES), gpu, STREAM_BYTES, s->p->err);
    KVS_CUDA(cudaMemset(s->memory, 1, STREAM_BYTES), gpu, STREAM_BYTES, s->p->err);
    KVS_CUDA(cudaMalloc((void **)&s->state, sizeof *s->state), gpu, sizeof *s->state,
             s->p->err);
    KVS_CUDA(cudaMemset(s->state, 0, sizeof *s->state), gpu, sizeof *s->state, s->p->err);
    for (uint32_t k = 0; k < 2; k++) {
        struct probe_job job = stream_job(s, s);
        job.n = STREAM_KERNELS << k;
        KVS_TRY(probe_capture(&job, stream_kernels, &s->graphs[k]));
    }
    return KVS_OK;
}

static void stream_close(struct stream *s)
{
    for (int k = 0; k < 2; k++)
        if (s->graphs[k] != NULL)
            (void)cudaGraphExecDestroy(s->graphs[k]);
    (void)cudaFree(s->memory);
    (void)cudaFree(s->state);
}

static kvs_status stream_measure(struct stream *s)
{
    struct kvs_probe *p = s->p;
    struct kvs_device *device = s->g->device;
    struct probe_samples kernels = {0}, rates = {0}, times = {0}, slower = {0}, folds = {0},
                         whole = {0}, beside = {0};
    KVS_TRY(stream_open(s));
    KVS_TRY(stream_alone(s, &kernels, &rates, &times));
    KVS_TRY(stream_beside(s, probe_median(&times), &slower));
    KVS_TRY(stream_folds(s, &folds));
    KVS_TRY(stream_whole(s, probe_median(&kernels), probe_median(&rates), probe_median(&folds),
                         probe_median(&slower), &whole, &beside));
    KVS_TRY(probe_set(p, &device->stream.kernel,
                      kvs_probe_figure(kernels.x, kernels.n,
                                       "384 MiB read by 24 and by 48 kernels of a graph: the "
                                       "difference, each; median of %zu",
                                       kernels.n)));
    KVS_TRY(probe_set(p, &device->stream.rate,
                      kvs_probe_figure(rates.x, rates.n,
                                       "384 MiB read by 24 kernels of a graph, less what each "
                                       "takes; median of %zu",
                                       rates.n)));
    KVS_TRY(probe_set(p, &device->stream.slowdown,
                      kvs_probe_figure(slower.x, slower.n,
                                       "the same beside copies to the device, median of %zu",
                                       slower.n)));
    KVS_TRY(probe_set(p, &device->stream.operation,
                      kvs_probe_figure(whole.x, whole.n,
                                       "8 times K, the 24 kernels, V and the rows made, less "
                                       "kernels and bytes; median of %zu",
                                       whole.n)));
    KVS_TRY(probe_set(p, &device->stream.beside,
                      kvs_probe_figure(beside.x, beside.n,
                                       "such operations beside copies, less what they take "
                                       "alone and what slows the weights down; median of %zu",
                                       beside.n)));
    return probe_set(p, &device->stream.fold_rate,
                     kvs_probe_figure(folds.x, folds.n,
                                      "128 MiB less 16 MiB by the digest's kernel, median of "
                                      "%zu",
                                      folds.n));
}

kvs_status probe_stream(struct kvs_probe *p, struct probe_gpu *g)
{
    struct stream s = {.p = p, .g = g};
    size_t free_bytes, total_bytes;
    KVS_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes), g->gpu, 0, p->err);
    if (free_bytes < 2 * STREAM_BYTES) {
        probe_note(p, "%s: too little memory is free to measure kvsim's own kernels",
                   probe_name(g));
        return KVS_OK;
    }
    kvs_status status = stream_measure(&s);
    stream_close(&s);
    return status;
}
