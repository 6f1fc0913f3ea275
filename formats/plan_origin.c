/* Plain text and numbers of a case, kept beside a plan. */
#include "formats/plan_origin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/experiment.h"

static void origin_shares(const struct kvs_case *c, char *to, size_t cap)
{
    size_t n = 0;
    for (uint32_t d = 0; d < c->machine->n_devices && n < cap; d++)
        n +=
            (size_t)snprintf(to + n, cap - n, "%s%.4g", d > 0 ? "/" : "", kvs_case_share(c, d));
}

void kvs_plan_origin_of(const struct kvs_case *c, struct kvs_plan_origin *out)
{
    const struct kvs_workload *w = &c->workload;
    *out = (struct kvs_plan_origin){
        .n_parallel = w->n_parallel, .has_depth = true, .depth = w->depth};
    (void)snprintf(out->machine, sizeof out->machine, "%s", c->machine->name);
    (void)snprintf(out->model, sizeof out->model, "%s", c->llm->name);
    (void)snprintf(out->type_k, sizeof out->type_k, "%s", kvs_kv_type_name(w->type_k));
    (void)snprintf(out->type_v, sizeof out->type_v, "%s", kvs_kv_type_name(w->type_v));
    if (c->machine->n_devices < 2)
        return;
    (void)snprintf(out->split_mode, sizeof out->split_mode, "%s",
                   kvs_split_mode_names[c->placement.mode]);
    origin_shares(c, out->shares, sizeof out->shares);
}

static const char *origin_comma(const struct kvs_text *out)
{
    return out->n > 0 ? ", " : "";
}

static void origin_text(const char *key, const char *made, const char *here,
                        struct kvs_text *out)
{
    if (made[0] != '\0' && here[0] != '\0' && strcmp(made, here) != 0)
        kvs_text_printf(out, "%s%s %s instead of %s", origin_comma(out), key, made, here);
}

void kvs_plan_origin_differences(const struct kvs_plan_origin *made,
                                 const struct kvs_plan_origin *here, struct kvs_text *out)
{
#define ORIGIN_TEXT(key) origin_text(#key, made->key, here->key, out);
    KVS_PLAN_ORIGIN_TEXT_MAP(ORIGIN_TEXT)
#undef ORIGIN_TEXT
    if (made->n_parallel > 0 && here->n_parallel > 0 && made->n_parallel != here->n_parallel)
        kvs_text_printf(out, "%s%" PRIu32 " sequences instead of %" PRIu32, origin_comma(out),
                        made->n_parallel, here->n_parallel);
    if (made->has_depth && here->has_depth && made->depth != here->depth)
        kvs_text_printf(out, "%sdepth %" PRIu64 " instead of %" PRIu64, origin_comma(out),
                        made->depth, here->depth);
}

bool kvs_plan_origin_is_known(const struct kvs_plan_origin *origin)
{
    return origin->machine[0] != '\0' && origin->model[0] != '\0' && origin->has_depth;
}
