/* A table; another executor is a line in it, and a name. */
#include "cli/executors.h"

#include "real/exec_cuda.h"
#include "real/exec_host.h"
#include "real/exec_serial.h"

/* An executor that was not built has no ops. */
struct executor {
    const char *name;
    const struct kvs_exec_ops *ops;
    const char *(*why_not)(void); /* why it cannot run here, or ""; NULL: it always can */
};

/* The last one that can run is the best. */
static const struct executor executors[] = {
    {"serial", &kvs_exec_serial, NULL},
    {"host", &kvs_exec_host, NULL},
    {"cuda", &kvs_exec_cuda, kvs_cuda_why_none},
};
const char *const kvs_executor_names[] = {"auto", "serial", "host", "cuda", NULL};

static const char *executor_why_not(const struct executor *e)
{
    if (e->ops == NULL)
        return "not built into this program";
    return e->why_not != NULL ? e->why_not() : "";
}

kvs_status kvs_executor_choose(unsigned i, const struct kvs_exec_ops **out,
                               struct kvs_error *err)
{
    KVS_ASSERT(i <= KVS_COUNT_OF(executors));
    size_t at = i > 0 ? i - 1 : KVS_COUNT_OF(executors) - 1;
    while (i == 0 && at > 0 && executor_why_not(&executors[at])[0] != '\0')
        at--;
    const char *why_not = executor_why_not(&executors[at]);
    *out = executors[at].ops;
    if (why_not[0] == '\0')
        return KVS_OK;
    kvs_error_at(err, KVS_ENODEVICE, "--executor", 0, 0, "%s cannot run: %s",
                 executors[at].name, why_not);
    kvs_error_hint(err, "--executor auto takes the best that can run here");
    return KVS_ENODEVICE;
}
