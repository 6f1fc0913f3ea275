/* From facts about GPUs to a machine, and to its file. */
#include "cli/probe_machine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/machine_write.h"

#define MACHINE_SAME_MEMORY 0.12  /* a card with so much more or less is another one */
#define MACHINE_GUESS_BPS   100e9 /* of device memory, when nothing is known of it */
#define MACHINE_GUESS_FLOPS 10e12

/* The card of each GPU, "" where there is none. */
struct machine_cards {
    char names[KVS_PROBE_MAX_GPUS][32];
};

static kvs_status machine_find_cards(const struct kvs_probe_facts *facts,
                                     struct kvs_catalogue *catalogue, struct machine_cards *out,
                                     struct kvs_error *err)
{
    struct kvs_catalogue_names names = {0};
    kvs_status status = kvs_catalogue_list(catalogue, "gpu", &names, err);
    for (uint32_t i = 0; i < facts->n_gpus && status == KVS_OK; i++) {
        out->names[i][0] = '\0';
        for (size_t k = 0; k < names.n; k++)
            if (kvs_probe_is_card(facts->gpus[i].name, names.items[k]))
                (void)snprintf(out->names[i], sizeof out->names[i], "%s", names.items[k]);
    }
    KVS_ARRAY_FREE(&names);
    return status;
}

/* A card that no file describes: by its clocks. */
static void machine_card(const struct kvs_probe_gpu *gpu, struct kvs_text *yaml)
{
    double flops =
        kvs_probe_flop_per_clock(gpu->major, gpu->minor) * gpu->n_sms * gpu->clock_Hz;
    double memory_Bps = gpu->peak_memory_Bps;
    kvs_text_printf(yaml, "gpu: {memory: %" PRIu64 "B, ", gpu->memory_bytes);
    if (memory_Bps > 0)
        kvs_text_printf(yaml,
                        "memory_rate: {value: %.4gGB/s, origin: inferred, source: \"memory "
                        "clock x bus width\"}, ",
                        memory_Bps * 1e-9);
    else
        kvs_text_printf(yaml,
                        "memory_rate: {value: %.4gGB/s, origin: default, source: \"nothing is "
                        "known of it\"}, ",
                        MACHINE_GUESS_BPS * 1e-9);
    if (flops > 0)
        kvs_text_printf(yaml,
                        "flops: {value: %.4gTFLOP/s, origin: inferred, interval: [%.4gTFLOP/s, "
                        "%.4gTFLOP/s], source: \"%u SMs x %.0f MHz x f16 rate of compute "
                        "capability %d.%d\"}}",
                        flops * 1e-12, flops * 0.5e-12, flops * 2e-12, gpu->n_sms,
                        gpu->clock_Hz * 1e-6, gpu->major, gpu->minor);
    else
        kvs_text_printf(yaml,
                        "flops: {value: %.4gTFLOP/s, origin: default, source: \"compute "
                        "capability %d.%d is not known\"}}",
                        MACHINE_GUESS_FLOPS * 1e-12, gpu->major, gpu->minor);
}

static void machine_yaml(const struct kvs_probe_facts *facts, const char *name,
                         const struct machine_cards *cards, struct kvs_text *yaml)
{
    kvs_text_printf(yaml, "kind: machine\nname: \"%s\"\ndevices:\n", name);
    for (uint32_t i = 0; i < facts->n_gpus; i++) {
        const struct kvs_probe_gpu *gpu = &facts->gpus[i];
        kvs_text_printf(yaml,
                        "  - {name: gpu%u, h2d: {value: %.4gGB/s, origin: measured, source: "
                        "\"three copies of 16 MiB\"}, ",
                        i, gpu->h2d_Bps * 1e-9);
        if (kvs_pcie_raw_Bps(gpu->gen, gpu->lanes) > 0)
            kvs_text_printf(yaml, "pcie: gen%ux%u, ", gpu->gen, gpu->lanes);
        if (cards->names[i][0] != '\0')
            kvs_text_printf(yaml, "gpu: %s", cards->names[i]);
        else
            machine_card(gpu, yaml);
        kvs_text_puts(yaml, "}\n");
    }
}

static kvs_status machine_parse(const struct kvs_probe_facts *facts, const char *name,
                                const struct machine_cards *cards,
                                struct kvs_catalogue *catalogue, struct kvs_machine **out,
                                struct kvs_error *err)
{
    struct kvs_text yaml = {0};
    struct kvs_diags diags;
    kvs_diags_init(&diags);
    machine_yaml(facts, name, cards, &yaml);
    kvs_status status = yaml.status;
    if (status == KVS_OK)
        status = kvs_machine_parse("probe", yaml.data, yaml.n, kvs_catalogue_gpu, catalogue,
                                   &diags, out, err);
    else
        kvs_error_set(err, status, "out of memory");
    kvs_diags_fini(&diags);
    kvs_text_fini(&yaml);
    return status;
}

/* Forgets cards of another size; true when there were any. */
static bool machine_drop_cards(const struct kvs_probe_facts *facts,
                               const struct kvs_machine *machine, struct machine_cards *cards)
{
    bool has_dropped = false;
    for (uint32_t i = 0; i < facts->n_gpus; i++) {
        double here = (double)facts->gpus[i].memory_bytes;
        double there = machine->devices[i].memory_bytes.value;
        if (cards->names[i][0] == '\0' || fabs(here - there) <= MACHINE_SAME_MEMORY * there)
            continue;
        cards->names[i][0] = '\0';
        has_dropped = true;
    }
    return has_dropped;
}

kvs_status kvs_probe_skeleton(const struct kvs_probe_facts *facts, const char *name,
                              struct kvs_catalogue *catalogue, struct kvs_machine **out,
                              struct kvs_error *err)
{
    struct machine_cards cards;
    KVS_TRY(machine_find_cards(facts, catalogue, &cards, err));
    KVS_TRY(machine_parse(facts, name, &cards, catalogue, out, err));
    if (!machine_drop_cards(facts, *out, &cards))
        return KVS_OK;
    kvs_machine_destroy(*out);
    *out = NULL;
    return machine_parse(facts, name, &cards, catalogue, out, err);
}

void kvs_probe_describe(const struct kvs_probe_facts *facts, struct kvs_machine *machine)
{
    struct kvs_text text = {0};
    for (uint32_t i = 0, n; i < facts->n_gpus; i += n) {
        const struct kvs_probe_gpu *gpu = &facts->gpus[i];
        for (n = 1; i + n < facts->n_gpus && strcmp(gpu[n].name, gpu->name) == 0; n++) {
        }
        kvs_text_printf(&text, "%s%u x %s", i > 0 ? ", " : "", n, gpu->name);
        if (gpu->gen > 0)
            kvs_text_printf(&text, " on gen%ux%u", gpu->gen, gpu->lanes);
    }
    if (facts->driver[0] != '\0')
        kvs_text_printf(&text, ", driver %s", facts->driver);
    if (text.status == KVS_OK)
        (void)snprintf(machine->description, sizeof machine->description, "%.199s", text.data);
    (void)snprintf(machine->build, sizeof machine->build, "cuda-%s", facts->runtime);
    kvs_text_fini(&text);
}

kvs_status kvs_probe_file(const struct kvs_probe_facts *facts,
                          const struct kvs_probe_report *report,
                          const struct kvs_machine *machine, struct kvs_text *out)
{
    kvs_text_printf(out,
                    "# Measured by kvsim probe %s. Driver %s, CUDA %s of the driver, %s of the "
                    "program.\n",
                    KVS_VERSION, facts->driver[0] != '\0' ? facts->driver : "unknown",
                    facts->cuda[0] != '\0' ? facts->cuda : "unknown", facts->runtime);
    for (uint32_t i = 0; i < facts->n_gpus; i++) {
        const struct kvs_probe_gpu *gpu = &facts->gpus[i];
        kvs_text_printf(out,
                        "# gpu%u: %s at %s, compute capability %d.%d, %u SMs at up to %.0f "
                        "MHz\n",
                        i, gpu->name, gpu->pci, gpu->major, gpu->minor, gpu->n_sms,
                        gpu->clock_Hz * 1e-6);
    }
    const char *line = report->notes.data != NULL ? report->notes.data : "";
    while (*line != '\0') {
        size_t n = strcspn(line, "\n");
        kvs_text_puts(out, "# ");
        kvs_text_append(out, line, n);
        kvs_text_puts(out, "\n");
        line += n + (line[n] == '\n');
    }
    return kvs_machine_write(machine, out);
}
