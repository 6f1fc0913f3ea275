/* What a machine file leaves open: who rests on it, and the machine at either end. */
#include "study/sweep.h"

static bool interval_has_width(const struct kvs_param *param)
{
    return param->lo < param->hi;
}

static bool interval_is_open_link(const struct kvs_link *link)
{
    kvs_origin origin = link->rate[KVS_H2D].origin;
    bool is_measured =
        link->is_rate_measured && (origin == KVS_ORIGIN_MEASURED ||
                                   origin == KVS_ORIGIN_FITTED || origin == KVS_ORIGIN_STATED);
    return link->mode != KVS_LINK_UNLIMITED && !is_measured &&
           interval_has_width(&link->rate[KVS_H2D]);
}

static bool interval_is_open_device(const struct kvs_case *c, uint32_t d)
{
    return !kvs_case_compute_cost(c, d).is_measured &&
           interval_has_width(&c->machine->devices[d].memory_efficiency);
}

/* A default of kvsim's with some width: nobody has measured it, here or elsewhere. */
static bool interval_is_guess(const struct kvs_param *param)
{
    return param->origin == KVS_ORIGIN_DEFAULT && interval_has_width(param);
}

static bool interval_is_open_reduce(const struct kvs_case *c)
{
    return c->placement.mode == KVS_SPLIT_TENSOR && c->machine->n_devices > 1 &&
           interval_is_guess(&c->machine->collective.latency);
}

bool kvs_case_is_uncertain(const struct kvs_case *c)
{
    if (interval_is_open_reduce(c) || interval_is_guess(&c->machine->host.between_tokens))
        return true;
    for (uint32_t d = 0; d < c->machine->n_devices; d++) {
        if (!kvs_case_uses_device(c, d))
            continue;
        if (interval_is_open_device(c, d))
            return true;
        for (int32_t l = (int32_t)c->machine->devices[d].link; l >= 0;
             l = c->machine->links[l].parent)
            if (interval_is_open_link(&c->machine->links[l]))
                return true;
    }
    return false;
}

static void interval_move(struct kvs_param *param, kvs_interval_end end)
{
    param->value = end == KVS_END_SLOW ? param->lo : param->hi;
}

kvs_status kvs_machine_at_end(const struct kvs_case *c, kvs_interval_end end,
                              struct kvs_machine **out, struct kvs_error *err)
{
    KVS_TRY(kvs_machine_clone(c->machine, out, err));
    for (uint32_t l = 0; l < (*out)->n_links; l++) {
        struct kvs_link *link = &(*out)->links[l];
        if (!interval_is_open_link(link))
            continue;
        for (int dir = 0; dir < KVS_N_DIRS; dir++) {
            interval_move(&link->rate[dir], end);
            interval_move(&link->opposite[dir], end);
        }
    }
    for (uint32_t d = 0; d < (*out)->n_devices; d++)
        if (kvs_case_uses_device(c, d) && interval_is_open_device(c, d))
            interval_move(&(*out)->devices[d].memory_efficiency, end);
    /* times: the slow end is the long one */
    kvs_interval_end of_times = end == KVS_END_SLOW ? KVS_END_FAST : KVS_END_SLOW;
    if (interval_is_open_reduce(c))
        interval_move(&(*out)->collective.latency, of_times);
    if (interval_is_guess(&c->machine->host.between_tokens))
        interval_move(&(*out)->host.between_tokens, of_times);
    return KVS_OK;
}
