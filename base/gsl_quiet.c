/* Turns GSL's aborting error handler off, once per process. */
#include "base/gsl_quiet.h"

#include <gsl/gsl_errno.h>
#include <threads.h>

static once_flag gsl_quiet_once = ONCE_FLAG_INIT;

static void gsl_quiet_now(void)
{
    gsl_set_error_handler_off();
}

void kvs_gsl_quiet(void)
{
    call_once(&gsl_quiet_once, gsl_quiet_now);
}
