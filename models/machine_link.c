/* Links as a file lists them or a device carries them: rates measured or from the slot. */
#define _POSIX_C_SOURCE 200809L /* strncasecmp */
#include <float.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "models/machine_yaml.h"

#define LINK_RATE_HINT "pcie: gen4x16 for a slot, h2d: 24.8GB/s for a measured rate"

/* The keys of a link that a device may carry itself. */
static const char *const link_keys[] = {"pcie",         "h2d",          "d2h",
                                        "opposite_h2d", "opposite_d2h", "latency",
                                        "efficiency",   "mode",         "parent"};

static struct kvs_param link_default_efficiency(unsigned lanes)
{
    if (lanes == 16)
        return kvs_param_default(0.77, 0.70, 0.90,
                                 "24.2 of 31.5 GB/s measured on a gen4x16 card");
    return kvs_param_default(0.80, 0.70, 0.90, "2.75 to 3.3 of 3.94 GB/s measured at gen3x4");
}

/* One or two digits at *text, which moves behind them. */
static bool link_parse_digits(const char **text, unsigned *out)
{
    size_t n = strspn(*text, "0123456789");

    if (n < 1 || n > 2)
        return false;
    *out = 0;
    for (; n > 0; n--)
        *out = *out * 10 + (unsigned)(*(*text)++ - '0');
    return true;
}

/* "gen4x16", "Gen4 x16" -> 4, 16. */
static bool link_parse_pcie(const char *text, unsigned *out_gen, unsigned *out_lanes)
{
    if (strncasecmp(text, "gen", 3) != 0)
        return false;
    text += 3;
    if (!link_parse_digits(&text, out_gen))
        return false;
    text += strspn(text, " ");
    return (*text == 'x' || *text == 'X') && (text++, link_parse_digits(&text, out_lanes)) &&
           *text == '\0';
}

static bool link_read_pcie(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                           struct kvs_link *link)
{
    const char *text = NULL;
    unsigned gen = 0;
    unsigned lanes = 0;

    if (!kvs_yaml_get_str(doc, map, "pcie", KVS_OPTIONAL, &text))
        return false;
    const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, "pcie", KVS_OPTIONAL);
    if (!link_parse_pcie(text, &gen, &lanes)) {
        kvs_yaml_complain(doc, node, "a measured rate goes under h2d: 24.8GB/s",
                          "expected a slot such as gen4x16, got \"%s\"", text);
        return false;
    }
    if (kvs_pcie_raw_Bps(gen, lanes) <= 0) {
        kvs_yaml_complain(doc, node, "generations are 1 to 6, lanes 1, 2, 4, 8 or 16",
                          "there is no PCIe link \"%s\"", text);
        return false;
    }
    link->gen = gen;
    link->lanes = lanes;
    return true;
}

/* Raw rate of the slot x efficiency, for both directions. */
static void link_read_slot_rate(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                struct kvs_link *link)
{
    struct kvs_param efficiency = link_default_efficiency(link->lanes);
    double raw_Bps = kvs_pcie_raw_Bps(link->gen, link->lanes);
    struct kvs_param *rate = &link->rate[KVS_H2D];
    char raw[KVS_UNITS_BUF];

    (void)kvs_param_get(doc, map, "efficiency", KVS_OPTIONAL, KVS_UNIT_FRAC, DBL_MIN, 1,
                        &efficiency);
    link->efficiency = *rate = efficiency;
    rate->value = raw_Bps * efficiency.value;
    rate->lo = raw_Bps * efficiency.lo;
    rate->hi = raw_Bps * efficiency.hi;
    (void)snprintf(rate->source, sizeof rate->source,
                   "gen%ux%u: %s raw x efficiency %.4g%s%.120s", link->gen, link->lanes,
                   kvs_format_rate(raw_Bps, raw, sizeof raw), efficiency.value,
                   efficiency.source[0] ? ", " : "", efficiency.source);
    link->rate[KVS_D2H] = *rate;
}

/* Complains about each key of a group that is present though it cannot apply. */
static void link_refuse(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                        const char *const *keys, size_t n, const char *why)
{
    for (size_t i = 0; i < n; i++) {
        const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, keys[i], KVS_OPTIONAL);
        if (node)
            kvs_yaml_complain(doc, node, NULL, "%s does not apply: %s", keys[i], why);
    }
}

static void link_read_measured_rate(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                    struct kvs_link *link)
{
    static const char *const unused[] = {"efficiency"};

    link_refuse(doc, map, unused, KVS_COUNT_OF(unused), "the rate is given by h2d");
    link->is_rate_measured = true;
    if (!kvs_param_get(doc, map, "h2d", KVS_OPTIONAL, KVS_UNIT_RATE, DBL_MIN,
                       KVS_MACHINE_MAX_BPS, &link->rate[KVS_H2D]))
        return;
    link->rate[KVS_D2H] =
        kvs_param_default(link->rate[KVS_H2D].value, link->rate[KVS_H2D].lo,
                          link->rate[KVS_H2D].hi, "not stated: as host to device");
}

/* The second direction and the rates under opposite traffic; a shared link has neither. */
static void link_read_directions(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                 struct kvs_link *link)
{
    static const char *const second[] = {"d2h", "opposite_h2d", "opposite_d2h"};

    for (int dir = 0; dir < KVS_N_DIRS; dir++)
        link->opposite[dir] =
            kvs_param_default(0, 0, 0, "not stated: as without other traffic");
    if (link->mode == KVS_LINK_SHARED) {
        link_refuse(doc, map, second, KVS_COUNT_OF(second), "a shared link has one rate, h2d");
        return;
    }
    (void)kvs_param_get(doc, map, "d2h", KVS_OPTIONAL, KVS_UNIT_RATE, DBL_MIN,
                        KVS_MACHINE_MAX_BPS, &link->rate[KVS_D2H]);
    (void)kvs_param_get(doc, map, "opposite_h2d", KVS_OPTIONAL, KVS_UNIT_RATE, DBL_MIN,
                        KVS_MACHINE_MAX_BPS, &link->opposite[KVS_H2D]);
    (void)kvs_param_get(doc, map, "opposite_d2h", KVS_OPTIONAL, KVS_UNIT_RATE, DBL_MIN,
                        KVS_MACHINE_MAX_BPS, &link->opposite[KVS_D2H]);
}

void kvs_machine_link_set_unlimited(struct kvs_link *link)
{
    link->mode = KVS_LINK_UNLIMITED;
    for (int dir = 0; dir < KVS_N_DIRS; dir++)
        link->rate[dir] = link->opposite[dir] = kvs_param_default(0, 0, 0, "no limit");
}

static void link_read_rates(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                            struct kvs_link *link)
{
    static const char *const no_rate[] = {"pcie",         "h2d",          "d2h",
                                          "opposite_h2d", "opposite_d2h", "efficiency"};

    if (link->mode == KVS_LINK_UNLIMITED) {
        link_refuse(doc, map, no_rate, KVS_COUNT_OF(no_rate), "the link is unlimited");
        kvs_machine_link_set_unlimited(link);
        return;
    }
    const struct kvs_yaml_node *h2d = kvs_yaml_get(doc, map, "h2d", KVS_OPTIONAL);
    const struct kvs_yaml_node *pcie = kvs_yaml_get(doc, map, "pcie", KVS_OPTIONAL);
    bool has_slot = link_read_pcie(doc, map, link);
    if (h2d)
        link_read_measured_rate(doc, map, link);
    else if (has_slot)
        link_read_slot_rate(doc, map, link);
    else if (!pcie)
        kvs_yaml_complain(doc, map, LINK_RATE_HINT ", or mode: unlimited",
                          "link \"%s\" has no rate", link->name);
    if (!h2d && !has_slot)
        (void)kvs_yaml_get(doc, map, "efficiency", KVS_OPTIONAL);
    link_read_directions(doc, map, link);
}

int64_t kvs_machine_link_find(const struct kvs_machine_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->drafts.n; i++) {
        if (strcmp(reader->drafts.items[i].link.name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

kvs_status kvs_machine_link_complain(struct kvs_machine_reader *reader,
                                     const struct kvs_yaml_node *node, const char *what,
                                     struct kvs_error *err)
{
    const char *name = kvs_yaml_scalar(node);
    void *memory = NULL;
    char hint[100];

    KVS_TRY(kvs_mem_alloc(reader->drafts.n, sizeof(const char *), &memory, err));
    const char **names = memory;
    for (size_t i = 0; i < reader->drafts.n; i++)
        names[i] = reader->drafts.items[i].link.name;
    const char *nearest = kvs_nearest(name, names, reader->drafts.n);
    if (nearest)
        (void)snprintf(hint, sizeof hint, "did you mean \"%s\"?", nearest);
    kvs_yaml_complain(reader->doc, node,
                      nearest ? hint : "give links a list entry of that name",
                      "unknown %s \"%s\"", what, name);
    kvs_mem_free(memory);
    return KVS_OK;
}

/* Reads the keys of a link from map into a new draft. */
static kvs_status link_add(struct kvs_machine_reader *reader, const struct kvs_yaml_node *map,
                           const char *name, bool is_of_device, struct kvs_error *err)
{
    static const char *const modes[] = {"duplex", "shared", "unlimited"}; /* as enum */
    struct kvs_link_draft draft = {.node = map, .is_of_device = is_of_device};
    struct kvs_link *link = &draft.link;
    const char *parent = NULL;
    unsigned mode = KVS_LINK_DUPLEX;
    int64_t same = kvs_machine_link_find(reader, name);

    (void)snprintf(link->name, sizeof link->name, "%s", name);
    (void)kvs_yaml_get_enum(reader->doc, map, "mode", KVS_OPTIONAL, modes, KVS_COUNT_OF(modes),
                            &mode);
    link->mode = (kvs_link_mode)mode;
    link->latency = kvs_param_default(0, 0, 0, "not stated: part of the copy overheads");
    (void)kvs_param_get(reader->doc, map, "latency", KVS_OPTIONAL, KVS_UNIT_TIME, 0,
                        KVS_MACHINE_MAX_S, &link->latency);
    link_read_rates(reader->doc, map, link);
    if (kvs_yaml_get_str(reader->doc, map, "parent", KVS_OPTIONAL, &parent))
        draft.parent_node = kvs_yaml_get(reader->doc, map, "parent", KVS_OPTIONAL);
    if (is_of_device && strcmp(name, "root") == 0)
        kvs_yaml_complain(reader->doc, map, "rename the device, or let it name one of links",
                          "root is the link above, so no device with a link of its own");
    else if (same >= 0 && !reader->drafts.items[same].is_of_device)
        kvs_yaml_complain(reader->doc, map,
                          is_of_device ? "the link of a device is called as the device"
                                       : "give each link a name of its own",
                          "two links are called \"%s\"", name);
    return KVS_ARRAY_PUSH(&reader->drafts, draft, err);
}

kvs_status kvs_machine_links_read(struct kvs_machine_reader *reader,
                                  const struct kvs_yaml_node *root, struct kvs_error *err)
{
    const struct kvs_yaml_node *list =
        kvs_yaml_get_seq(reader->doc, root, "links", KVS_OPTIONAL);
    size_t n = list ? kvs_yaml_len(list) : 0;

    if (n > KVS_MACHINE_MAX_LINKS) {
        kvs_yaml_complain(reader->doc, list, NULL, "expected at most %u links, got %zu",
                          KVS_MACHINE_MAX_LINKS, n);
        return KVS_OK;
    }
    for (size_t i = 0; i < n; i++) {
        const struct kvs_yaml_node *map = kvs_yaml_item(list, i);
        char name[32] = "";

        if (kvs_yaml_node_kind(map) != KVS_YAML_MAP) {
            kvs_yaml_complain(reader->doc, map, "- {name: slot0, parent: root, pcie: gen4x16}",
                              "expected a link, a map");
            continue;
        }
        if (!kvs_machine_get_name(reader->doc, map, KVS_REQUIRED, name, sizeof name))
            continue;
        KVS_TRY(link_add(reader, map, name, false, err));
        kvs_yaml_end_map(reader->doc, map);
    }
    return KVS_OK;
}

kvs_status kvs_machine_link_of_device(struct kvs_machine_reader *reader,
                                      const struct kvs_yaml_node *map,
                                      struct kvs_device *device, struct kvs_error *err)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(reader->doc, map, "link", KVS_OPTIONAL);
    const char *name = NULL;
    bool has_own = false;

    if (node) {
        link_refuse(reader->doc, map, link_keys, KVS_COUNT_OF(link_keys),
                    "the device names a link, which has it");
        if (!kvs_yaml_get_str(reader->doc, map, "link", KVS_OPTIONAL, &name))
            return KVS_OK;
        int64_t i = kvs_machine_link_find(reader, name);
        if (i < 0)
            return kvs_machine_link_complain(reader, node, "link", err);
        device->link = (uint32_t)i;
        return KVS_OK;
    }
    for (size_t i = 0; i < KVS_COUNT_OF(link_keys); i++)
        has_own |= kvs_yaml_get(reader->doc, map, link_keys[i], KVS_OPTIONAL) != NULL;
    if (!has_own) {
        kvs_yaml_complain(reader->doc, map, LINK_RATE_HINT ", link: NAME for one of links",
                          "device \"%s\" has no link", device->name);
        return KVS_OK;
    }
    device->link = (uint32_t)reader->drafts.n;
    return link_add(reader, map, device->name, true, err);
}
