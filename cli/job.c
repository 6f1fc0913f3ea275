/* Loads an experiment and what it names. */
#include "cli/job.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "cli/settings.h"

static kvs_status job_experiment(struct kvs_job *s, struct kvs_catalogue *catalogue,
                                 const char *name, struct kvs_diags *diags,
                                 struct kvs_error *err)
{
    struct kvs_catalogue_entry entry;
    KVS_TRY(kvs_catalogue_find(catalogue, "experiment", name, &entry, err));
    KVS_TRY(kvs_experiment_parse(entry.path, entry.data, entry.n, diags, &s->experiment, err));
    s->experiment_hash = kvs_hash(entry.data, entry.n, 0);
    s->place = entry.path;
    if (entry.path == name)
        (void)snprintf(s->file, sizeof s->file, "%s", name);
    return KVS_OK;
}

/* Settings from flags alone keep the default experiment's machine and model until overridden.
 */
static kvs_status job_from_flags(struct kvs_job *s, struct kvs_catalogue *catalogue,
                                 struct kvs_diags *diags, struct kvs_error *err)
{
    struct kvs_experiment bare = {0};
    KVS_TRY(job_experiment(s, catalogue, KVS_DEFAULT_EXPERIMENT, diags, err));
    bare.machine = s->experiment.machine;
    bare.model = s->experiment.model;
    s->experiment.machine = s->experiment.model = NULL;
    kvs_experiment_fini(&s->experiment);
    s->experiment = bare;
    s->experiment_hash = 0;
    return KVS_OK;
}

static kvs_status job_machine(struct kvs_job *s, struct kvs_catalogue *catalogue,
                              struct kvs_diags *diags, struct kvs_error *err)
{
    struct kvs_catalogue_entry entry;
    KVS_TRY(kvs_catalogue_find(catalogue, "machine", s->experiment.machine, &entry, err));
    s->machine_hash = kvs_hash(entry.data, entry.n, 0);
    return kvs_machine_parse(entry.path, entry.data, entry.n, kvs_catalogue_gpu, catalogue,
                             diags, &s->machine, err);
}

static kvs_status job_model(struct kvs_job *s, struct kvs_catalogue *catalogue,
                            struct kvs_diags *diags, struct kvs_error *err)
{
    struct kvs_catalogue_entry entry;
    KVS_TRY(kvs_catalogue_find(catalogue, "llm", s->experiment.model, &entry, err));
    s->model_hash = kvs_hash(entry.data, entry.n, 0);
    return kvs_llm_parse(entry.path, entry.data, entry.n, diags, &s->llm, err);
}

/* Shares that do not fit the machine stand in the experiment or in a flag. */
static kvs_status job_complete(struct kvs_job *s, const struct kvs_options *options,
                               struct kvs_error *err)
{
    kvs_status status = kvs_experiment_complete(&s->experiment, s->machine->n_devices, err);
    if (status == KVS_OK || err == NULL || err->file[0] != '\0')
        return status;
    if (err->line > 0)
        (void)snprintf(err->file, sizeof err->file, "%s", s->place);
    else if (kvs_options_is_given(options, "tensor-split"))
        (void)snprintf(err->file, sizeof err->file, "-ts");
    return status;
}

kvs_status kvs_job_open(struct kvs_job *job, struct kvs_catalogue *catalogue,
                        const char *experiment, const struct kvs_options *options,
                        struct kvs_diags *diags, struct kvs_error *err)
{
    bool is_bare = experiment == NULL && (kvs_options_is_given(options, "machine") ||
                                          kvs_options_is_given(options, "model"));
    if (experiment == NULL)
        experiment = KVS_DEFAULT_EXPERIMENT;
    if (is_bare)
        KVS_TRY(job_from_flags(job, catalogue, diags, err));
    else
        KVS_TRY(job_experiment(job, catalogue, experiment, diags, err));
    KVS_TRY(kvs_settings_apply(options, &job->experiment, err));
    job->seed = kvs_options_u64(options, "seed");
    job->n_threads = (unsigned)kvs_options_u64(options, "threads");
    KVS_TRY(job_machine(job, catalogue, diags, err));
    KVS_TRY(job_model(job, catalogue, diags, err));
    KVS_TRY(job_complete(job, options, err));
    return kvs_product_create(&job->experiment, job->machine, job->llm, &job->product, err);
}

kvs_status kvs_job_set_n_gen(struct kvs_job *job, uint64_t n_gen, struct kvs_error *err)
{
    kvs_product_destroy(job->product);
    job->product = NULL;
    kvs_experiment_clear(&job->experiment, KVS_SETTING_N_GEN);
    KVS_TRY(kvs_experiment_add(&job->experiment, KVS_SETTING_N_GEN, n_gen, err));
    return kvs_product_create(&job->experiment, job->machine, job->llm, &job->product, err);
}

kvs_status kvs_job_needs_one(const struct kvs_job *job, const char *what, struct kvs_error *err)
{
    size_t n = kvs_product_n(job->product);
    if (n == 1 && job->experiment.arms.n == 1)
        return KVS_OK;
    kvs_error_at(err, KVS_EINVAL, what, 0, 0,
                 "takes one configuration and one policy, got %zu and %zu", n,
                 job->experiment.arms.n);
    kvs_error_hint(err, "choose with -d 16384 --policy pipelined");
    return KVS_EINVAL;
}

void kvs_job_fini(struct kvs_job *job)
{
    kvs_table_destroy(job->measured);
    kvs_product_destroy(job->product);
    kvs_llm_destroy(job->llm);
    kvs_machine_destroy(job->machine);
    kvs_experiment_fini(&job->experiment);
    memset(job, 0, sizeof *job);
}

struct kvs_row_context kvs_job_context(const struct kvs_job *job)
{
    return (struct kvs_row_context){
        .version = KVS_VERSION,
        .experiment = &job->experiment,
        .machine = job->machine,
        .llm = job->llm,
        .seed = job->seed,
        .machine_hash = job->machine_hash,
        .model_hash = job->model_hash,
    };
}
