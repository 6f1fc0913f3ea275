/* Model time: what is due happens in its order, whichever thread of this computer notices. */
#include "real/host_paced.h"

/* An operation whose bytes are on their way ends when they are there, which nobody knows yet. */
static bool event_is_known(const struct paced_queue *q)
{
    return q->head != PACED_HEAD_RUNNING || q->bytes == PACED_BYTES_NONE ||
           q->bytes == PACED_BYTES_MOVED;
}

/* The earliest event, of several the one set first; PACED_NONE: there is none. */
static uint32_t event_first(const struct paced *p)
{
    uint32_t first = PACED_NONE;
    for (uint32_t i = 1; i < p->n_queues; i++) {
        const struct paced_queue *q = &p->queues[i];
        if (q->event_ps == PACED_NEVER || !event_is_known(q))
            continue;
        const struct paced_queue *than = first == PACED_NONE ? NULL : &p->queues[first];
        if (!than || q->event_ps < than->event_ps ||
            (q->event_ps == than->event_ps && q->event_number < than->event_number))
            first = i;
    }
    return first;
}

kvs_time paced_next_ps(const struct paced *p, bool with_bytes)
{
    kvs_time next_ps = PACED_NEVER;
    for (uint32_t i = 1; i < p->n_queues; i++)
        if (p->queues[i].event_ps < next_ps && (with_bytes || event_is_known(&p->queues[i])))
            next_ps = p->queues[i].event_ps;
    return next_ps;
}

/*
 * Nothing goes past what the host thread is about to do. While it moves bytes it does nothing else
 * before now, since it ends them at the time at which it comes back.
 */
bool paced_is_held(const struct paced *p, kvs_time event_ps)
{
    return p->host.block == PACED_BLOCK_NONE && !p->host.is_moving && event_ps > p->host.now_ps;
}

/* Everything that ends at one time ends before anything starts at it. */
static void event_fire(struct paced *p, uint32_t queue)
{
    p->time_ps = p->queues[queue].event_ps;
    do {
        paced_clear_event(&p->queues[queue]);
        paced_fire(p, queue);
        queue = event_first(p);
    } while (queue != PACED_NONE && p->queues[queue].event_ps == p->time_ps);
    paced_settle(p);
}

void paced_advance(struct paced *p)
{
    while (p->is_running && !p->is_over) {
        uint32_t queue = event_first(p);
        if (queue == PACED_NONE || paced_is_held(p, p->queues[queue].event_ps) ||
            p->queues[queue].event_ps > paced_clock_now_ps(&p->clock))
            break;
        event_fire(p, queue);
    }
    if (!p->is_running || p->is_over || p->host.block == PACED_BLOCK_NONE ||
        paced_next_ps(p, true) != PACED_NEVER)
        return;
    p->is_over = p->is_stuck = true; /* nothing is under way that could end the wait */
    (void)pthread_cond_signal(&p->host.wakes);
}

void paced_set_event(struct paced *p, struct paced_queue *q, kvs_time event_ps)
{
    q->event_ps = event_ps > p->time_ps ? event_ps : p->time_ps;
    q->event_number = p->n_events++;
    if (paced_wake_ps(q) < q->worker->until_ps)
        (void)pthread_cond_signal(&q->worker->wakes);
}

void paced_clear_event(struct paced_queue *q)
{
    q->event_ps = PACED_NEVER;
}

void paced_set_deadline(struct paced *p, struct paced_queue *q, kvs_time deadline_ps)
{
    bool is_late = q->bytes == PACED_BYTES_MOVED && q->moved_ps > deadline_ps;
    q->deadline_ps = deadline_ps;
    paced_set_event(p, q, is_late ? q->moved_ps : deadline_ps);
}

void paced_begin(struct paced *p, struct paced_queue *q, paced_lane lane, bool has_bytes)
{
    q->head = PACED_HEAD_RUNNING;
    q->start_ps = p->time_ps;
    q->worker = paced_worker(p, q->device, lane);
    q->bytes = has_bytes ? PACED_BYTES_WAITING : PACED_BYTES_NONE;
    if (has_bytes)
        (void)pthread_cond_signal(&q->worker->wakes);
}

void paced_moved(struct paced *p, struct paced_queue *q)
{
    kvs_time now_ps = paced_clock_now_ps(&p->clock);
    q->bytes = PACED_BYTES_MOVED;
    q->moved_ps = now_ps > p->time_ps ? now_ps : p->time_ps;
    if (q->head == PACED_HEAD_RUNNING)
        paced_set_deadline(p, q, q->deadline_ps);
}

void paced_fail(struct paced *p, kvs_status status)
{
    if (p->status == KVS_OK)
        p->status = status;
    p->is_over = true;
    (void)pthread_cond_signal(&p->host.wakes);
}

void paced_count_late(struct paced *p, kvs_time late_ps)
{
    if (late_ps <= 0)
        return;
    p->report.n_late++;
    p->report.late_ps += late_ps;
    if (late_ps > p->report.worst_late_ps)
        p->report.worst_late_ps = late_ps;
}
