/* GSL's default error handler aborts; every file of base that calls GSL turns it off first. */
#ifndef KVS_BASE_GSL_QUIET_H
#define KVS_BASE_GSL_QUIET_H

void kvs_gsl_quiet(void);

#endif
