/* Judging predictions. */
#include "cli/judge.h"

#include <stdio.h>

#include "base/json.h"

static const char *const format_choices[] = {"md", "json", NULL};

static const struct kvs_option judge_options[] = {
    {.name = "tolerance",
     .kind = KVS_OPTION_FRAC,
     .metavar = "PERCENT",
     .is_common = true,
     .help = "exit with 3 when the mean error of rows is larger, such as 3%"},
    {.name = "output",
     .alias = "-o",
     .kind = KVS_OPTION_ENUM,
     .metavar = "FORMAT",
     .fallback = "md",
     .choices = format_choices,
     .is_common = true,
     .help = "format on stdout"},
};
const struct kvs_option_group kvs_judge_group = {"Judgement", judge_options,
                                                 KVS_COUNT_OF(judge_options)};

kvs_status kvs_judge_check(const struct kvs_options *options, struct kvs_error *err)
{
    double tolerance = kvs_options_frac(options, "tolerance");
    if (tolerance <= 1.0)
        return KVS_OK;
    kvs_error_at(err, KVS_ERANGE, "--tolerance", 0, 0, "must be at most 100%%, got %.4g%%",
                 tolerance * 100.0);
    kvs_error_hint(err, "write 3%% or 0.03");
    return KVS_ERANGE;
}

bool kvs_judge_is_json(const struct kvs_options *options)
{
    return kvs_options_enum(options, "output") == 1;
}

bool kvs_judge_is_outside(const struct kvs_options *options, const char *of,
                          const struct kvs_accuracy *accuracy)
{
    double tolerance = kvs_options_frac(options, "tolerance");
    if (!kvs_options_is_given(options, "tolerance") || !(accuracy->mean_frac > tolerance))
        return false;
    fprintf(stderr, "%sthe mean error of %.3g%% is outside --tolerance %.3g%%\n", of,
            accuracy->mean_frac * 100.0, tolerance * 100.0);
    return true;
}

void kvs_judge_json(struct kvs_json_writer *w, const char *key,
                    const struct kvs_accuracy *accuracy)
{
    kvs_json_begin(w, key, '{');
    kvs_json_u64(w, "n", accuracy->n);
    kvs_json_f64(w, "mean_err_pct", accuracy->mean_frac * 100.0);
    kvs_json_f64(w, "signed_err_pct", accuracy->bias_frac * 100.0);
    kvs_json_f64(w, "worst_err_pct", accuracy->worst_frac * 100.0);
    kvs_json_end(w, '}');
}
