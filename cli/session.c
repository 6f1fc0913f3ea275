/* Loads an experiment and what it names. */
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "cli/settings.h"

static kvs_status session_experiment(struct kvs_session *s, struct kvs_catalogue *catalogue,
                                     const char *name, struct kvs_diags *diags,
                                     struct kvs_error *err)
{
    struct kvs_catalogue_entry entry;
    KVS_TRY(kvs_catalogue_find(catalogue, "experiment", name, &entry, err));
    KVS_TRY(kvs_experiment_parse(entry.path, entry.data, entry.n, diags, &s->experiment, err));
    s->experiment_hash = kvs_hash(entry.data, entry.n, 0);
    if (entry.path == name)
        (void)snprintf(s->file, sizeof s->file, "%s", name);
    return KVS_OK;
}

/* Settings from flags alone keep the default experiment's machine and model until overridden.
 */
static kvs_status session_from_flags(struct kvs_session *s, struct kvs_catalogue *catalogue,
                                     struct kvs_diags *diags, struct kvs_error *err)
{
    struct kvs_experiment bare = {0};
    KVS_TRY(session_experiment(s, catalogue, KVS_DEFAULT_EXPERIMENT, diags, err));
    bare.machine = s->experiment.machine;
    bare.model = s->experiment.model;
    s->experiment.machine = s->experiment.model = NULL;
    kvs_experiment_fini(&s->experiment);
    s->experiment = bare;
    s->experiment_hash = 0;
    return KVS_OK;
}

static kvs_status session_machine(struct kvs_session *s, struct kvs_catalogue *catalogue,
                                  struct kvs_diags *diags, struct kvs_error *err)
{
    struct kvs_catalogue_entry entry;
    KVS_TRY(kvs_catalogue_find(catalogue, "machine", s->experiment.machine, &entry, err));
    s->machine_hash = kvs_hash(entry.data, entry.n, 0);
    return kvs_machine_parse(entry.path, entry.data, entry.n, kvs_catalogue_gpu, catalogue,
                             diags, &s->machine, err);
}

static kvs_status session_model(struct kvs_session *s, struct kvs_catalogue *catalogue,
                                struct kvs_diags *diags, struct kvs_error *err)
{
    struct kvs_catalogue_entry entry;
    KVS_TRY(kvs_catalogue_find(catalogue, "llm", s->experiment.model, &entry, err));
    s->model_hash = kvs_hash(entry.data, entry.n, 0);
    return kvs_llm_parse(entry.path, entry.data, entry.n, diags, &s->llm, err);
}

kvs_status kvs_session_open(struct kvs_session *session, struct kvs_catalogue *catalogue,
                            const char *experiment, const struct kvs_options *options,
                            const struct kvs_console *console, struct kvs_diags *diags,
                            struct kvs_error *err)
{
    bool is_bare = experiment == NULL && (kvs_options_is_given(options, "machine") ||
                                          kvs_options_is_given(options, "model"));
    if (experiment == NULL)
        experiment = KVS_DEFAULT_EXPERIMENT;
    if (is_bare)
        KVS_TRY(session_from_flags(session, catalogue, diags, err));
    else
        KVS_TRY(session_experiment(session, catalogue, experiment, diags, err));
    KVS_TRY(kvs_settings_apply(options, &session->experiment, err));
    session->seed = kvs_options_u64(options, "seed");
    KVS_TRY(session_machine(session, catalogue, diags, err));
    KVS_TRY(session_model(session, catalogue, diags, err));
    KVS_TRY(kvs_experiment_complete(&session->experiment, session->machine->n_devices, err));
    KVS_TRY(kvs_product_create(&session->experiment, session->machine, session->llm,
                               &session->product, err));
    return kvs_measured_load(session, catalogue, console, err);
}

kvs_status kvs_session_needs_one(const struct kvs_session *session, const char *what,
                                 struct kvs_error *err)
{
    size_t n = kvs_product_n(session->product);
    if (n == 1 && session->experiment.arms.n == 1)
        return KVS_OK;
    kvs_error_at(err, KVS_EINVAL, what, 0, 0,
                 "takes one configuration and one policy, got %zu and %zu", n,
                 session->experiment.arms.n);
    kvs_error_hint(err, "choose with -d 16384 --policy pipelined");
    return KVS_EINVAL;
}

void kvs_session_fini(struct kvs_session *session)
{
    kvs_table_destroy(session->measured);
    kvs_product_destroy(session->product);
    kvs_llm_destroy(session->llm);
    kvs_machine_destroy(session->machine);
    kvs_experiment_fini(&session->experiment);
    memset(session, 0, sizeof *session);
}

struct kvs_row_context kvs_session_context(const struct kvs_session *session)
{
    return (struct kvs_row_context){
        .version = KVS_VERSION,
        .experiment = &session->experiment,
        .machine = session->machine,
        .llm = session->llm,
        .seed = session->seed,
        .machine_hash = session->machine_hash,
        .model_hash = session->model_hash,
    };
}
