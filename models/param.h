/*
 * A figure with its origin. Every number of a machine is one of these, so that a result can
 * list where the numbers that matter come from.
 *
 * In YAML a parameter is a scalar (`24.83GB/s`, origin `stated`) or a map:
 *     {value: 24.83GB/s, origin: fitted, interval: [24.6GB/s, 25.0GB/s], build: current,
 *      source: "ordered rows of rtx4070.csv, slope less attention"}
 */
#ifndef KVS_MODELS_PARAM_H
#define KVS_MODELS_PARAM_H

#include <stdbool.h>

#include "base/yaml.h"

typedef enum kvs_origin {
    KVS_ORIGIN_DEFAULT,   /* kvsim's own, because the file says nothing */
    KVS_ORIGIN_STATED,    /* a bare figure in a file */
    KVS_ORIGIN_DATASHEET, /* from the vendor */
    KVS_ORIGIN_MEASURED,
    KVS_ORIGIN_FITTED,  /* to measured rows */
    KVS_ORIGIN_INFERRED /* from other measurements by a stated argument */
} kvs_origin;

typedef enum kvs_unit {
    KVS_UNIT_TIME,  /* value in seconds */
    KVS_UNIT_RATE,  /* B/s */
    KVS_UNIT_BYTES, /* bytes */
    KVS_UNIT_FLOPS, /* FLOP/s */
    KVS_UNIT_FRAC,  /* fraction; percent accepted */
    KVS_UNIT_PLAIN  /* a bare number */
} kvs_unit;

struct kvs_param {
    double value;
    double lo; /* interval; lo = hi = value when none is known */
    double hi;
    kvs_origin origin;
    char build[24];   /* software build the figure belongs to, or "" */
    char source[200]; /* where it comes from, or "" */
};

const char *kvs_origin_name(kvs_origin origin);
/* "24.83 GB/s", "1.500 us", "0.65", "29.15 TFLOP/s"; digits: significant ones, of fractions,
 * bare numbers and FLOP/s. buf of KVS_UNITS_BUF is enough. Returns buf. */
const char *kvs_figure_format(double value, kvs_unit unit, int digits, char *buf, size_t cap);
/* A figure of kvsim's own; source is cut to what fits. */
struct kvs_param kvs_param_default(double value, double lo, double hi, const char *source);

/*
 * Getter in the manner of yaml.h; *out keeps its preset (default) value when the key is absent.
 * Shape:  a scalar (interval = the value, no source) or the map above; both ends of the
 * interval obey the same limits as the value. Limits: min and max in the unit of `unit`,
 * inclusive; min = DBL_MIN means "above zero". A rate other than 0 is at least 1 kB/s, so that
 * no time overflows. `gen4x16` is not a rate here: it is a raw figure, which takes an
 * efficiency (machine.h).
 */
bool kvs_param_get(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                   kvs_presence presence, kvs_unit unit, double min, double max,
                   struct kvs_param *out);

/* Getter of one line of text into buf[cap]; control characters become blanks, ends are trimmed.
 * Longer text is an error, and buf is untouched. */
bool kvs_param_get_text(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                        kvs_presence presence, char *buf, size_t cap);

#endif
