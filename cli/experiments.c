/* One experiment after another. */
#include "cli/experiments.h"

bool kvs_experiments_open(struct kvs_experiments *e, const struct kvs_options_spec *spec,
                          int argc, const char *const *argv, int *code)
{
    struct kvs_options *options;
    if (!kvs_command_parse(spec, argc, argv, &options, code))
        return false;
    *e = (struct kvs_experiments){.options = options, .console = kvs_console_of(options)};
    e->catalogue.dir = kvs_options_str(options, "catalogue");
    kvs_output_open(&e->output, options);
    kvs_diags_init(&e->diags);
    return true;
}

static kvs_status experiments_one(struct kvs_experiments *e, const char *name,
                                  const struct kvs_experiments_work *work,
                                  struct kvs_error *err)
{
    struct kvs_job job = {0};
    kvs_status status = kvs_job_open(&job, &e->catalogue, name, e->options, &e->diags, err);
    if (status == KVS_OK && work->adjust != NULL)
        status = work->adjust(work->context, &job, err);
    if (status == KVS_OK && kvs_options_flag(e->options, "dry-run"))
        status = kvs_output_dry_run(&job, err);
    else if (status == KVS_OK)
        status = work->run(work->context, &job, err);
    kvs_job_fini(&job);
    return status;
}

static kvs_status experiments_each(struct kvs_experiments *e,
                                   const struct kvs_experiments_work *work,
                                   struct kvs_error *err)
{
    size_t n;
    const char *const *names = kvs_options_operands(e->options, &n);
    if (n == 0)
        return experiments_one(e, NULL, work, err);
    for (size_t i = 0; i < n; i++)
        KVS_TRY(experiments_one(e, names[i], work, err));
    return KVS_OK;
}

kvs_status kvs_experiments_run(struct kvs_experiments *e,
                               const struct kvs_experiments_work *work, struct kvs_error *err)
{
    struct kvs_error why = {0};
    KVS_TRY(kvs_given_read(&e->given, e->options, &e->console, err));
    kvs_status status = experiments_each(e, work, err);
    if (kvs_options_flag(e->options, "dry-run") || (status != KVS_OK && status != KVS_ESTOPPED))
        return status;
    kvs_status ended = kvs_output_end(&e->output, kvs_options_u64(e->options, "seed"), &why);
    if (status == KVS_OK && ended != KVS_OK)
        *err = why;
    return status == KVS_OK ? ended : status;
}

int kvs_experiments_close(struct kvs_experiments *e, kvs_status status,
                          const struct kvs_error *err)
{
    int code = status != KVS_OK ? kvs_fail(status, &e->diags, err) : kvs_exit_code(e->worst);
    kvs_output_close(&e->output);
    kvs_given_fini(&e->given);
    kvs_diags_fini(&e->diags);
    kvs_catalogue_fini(&e->catalogue);
    kvs_options_destroy(e->options);
    return code;
}
