/* The flags with which llama-bench of the fork runs a row's configuration. Shares are joined by
 * '/', which both llama-bench and llama-cli read as one value; equal ones are spelled out,
 * since llama.cpp would divide by free memory. */
#include <inttypes.h>

#include "formats/row.h"

#define FLAGS_BENCH_N_GEN 128 /* llama-bench's default, left out */

static void flags_split(const struct kvs_row *row, struct kvs_text *out)
{
    kvs_text_printf(out, " -sm %s", row->split_mode);
    if (row->c.placement.mode == KVS_SPLIT_NONE)
        return;
    kvs_text_printf(out, " -ts %s", row->tensor_split[0] != '\0' ? row->tensor_split : "1");
    for (uint32_t d = 1; row->tensor_split[0] == '\0' && d < row->c.machine->n_devices; d++)
        kvs_text_puts(out, "/1");
}

static void flags_transport(const struct kvs_row *row, struct kvs_text *out)
{
    kvs_text_printf(out, " -kvpd %" PRIu64, row->kvpd);
    if (row->kvpd > 0)
        kvs_text_printf(out, " -kvpb %.0f", row->kvpb_mib);
}

void kvs_row_print_flags(const struct kvs_row *row, bool has_depth, struct kvs_text *out)
{
    if (row->is_host_kv && row->c.transport.keeps_tail)
        return; /* continuous: nobody has flags for it */
    if (row->is_host_kv)
        kvs_text_printf(out, "-nkvo%s ", row->is_pinned ? " --kv-cpu-pinned" : "");
    kvs_text_printf(out, "-ctk %s -ctv %s", row->type_k, row->type_v);
    if (row->c.machine->n_devices > 1)
        flags_split(row, out);
    if (row->n_parallel > 1)
        kvs_text_printf(out, " -np %" PRIu64, row->n_parallel);
    if (row->is_unified)
        kvs_text_puts(out, " -kvu");
    if (row->n_ctx > 0)
        kvs_text_printf(out, " -c %" PRIu64, row->n_ctx);
    if (row->kv_gpu_layers > 0 && row->is_host_kv)
        kvs_text_printf(out, " --kv-gpu-layers %" PRIu64, row->kv_gpu_layers);
    if (row->is_host_kv)
        flags_transport(row, out);
    if (row->n_gen != FLAGS_BENCH_N_GEN)
        kvs_text_printf(out, " -n %" PRIu64, row->n_gen);
    if (has_depth)
        kvs_text_printf(out, " -d %" PRIu64, row->n_depth);
}
