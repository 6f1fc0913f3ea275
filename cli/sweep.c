/* The grammar of sweeps: part {"," part}, part = first ["-" last [("+" | "*") step]]. */
#include "cli/sweep.h"

#include <stdbool.h>

#include "base/array.h"

#define SWEEP_HINT "whole numbers, lists and ranges: 4096 or 4096,16384 or 4096-32768*2"

struct sweep_reader {
    const char *flag;
    const char *text; /* the whole value, for messages */
    const char *at;
    struct kvs_error *err;
};

struct sweep_range {
    uint64_t first, last, step;
    char op; /* '+' or '*' */
};

static kvs_status sweep_fail(const struct sweep_reader *r, kvs_status status, const char *what,
                             const char *found, const char *rule)
{
    char place[256];
    snprintf(place, sizeof(place), "%s %s", r->flag, r->text);
    kvs_error_at(r->err, status, place, 0, 0, "%s: \"%s\" %s", what, found, rule);
    kvs_error_hint(r->err, "%s", SWEEP_HINT);
    return status;
}

static kvs_status sweep_number(struct sweep_reader *r, const char *what, uint64_t *out)
{
    const char *start = r->at;
    uint64_t value = 0;
    for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
        uint64_t digit = (uint64_t)(*r->at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return sweep_fail(r, KVS_ERANGE, what, start, "is too large");
        value = value * 10 + digit;
    }
    if (r->at == start) {
        if (*start == '\0')
            return sweep_fail(r, KVS_EINVAL, what, r->text, "ends where a number is expected");
        return sweep_fail(r, KVS_EINVAL, what, start, "is not a whole number");
    }
    *out = value;
    return KVS_OK;
}

static kvs_status sweep_advances(const struct sweep_reader *r, const char *part,
                                 const struct sweep_range *range)
{
    if (range->last < range->first)
        return sweep_fail(r, KVS_EINVAL, "invalid range", part,
                          "goes down; write the smaller first");
    if (range->op == '+' && range->step == 0)
        return sweep_fail(r, KVS_EINVAL, "invalid range", part, "does not advance by +0");
    if (range->op == '*' && range->step < 2)
        return sweep_fail(r, KVS_EINVAL, "invalid range", part,
                          "does not advance; a factor is 2 or more");
    if (range->op == '*' && range->first == 0)
        return sweep_fail(r, KVS_EINVAL, "invalid range", part,
                          "does not advance from 0 by factors");
    return KVS_OK;
}

/* The value after v, or false at the end of the range; never wraps. */
static bool sweep_next(const struct sweep_range *range, uint64_t *v)
{
    if (range->op == '+') {
        if (range->step > range->last - *v)
            return false;
        *v += range->step;
        return true;
    }
    if (*v > range->last / range->step)
        return false;
    *v *= range->step;
    return true;
}

static kvs_status sweep_expand(struct kvs_sweep *sweep, const struct sweep_reader *r,
                               const char *part, const struct sweep_range *range)
{
    uint64_t v = range->first;
    do {
        if (sweep->n == KVS_SWEEP_MAX)
            return sweep_fail(r, KVS_ERANGE, "too many values", part,
                              "exceeds the limit of 65536");
        KVS_TRY(KVS_ARRAY_PUSH(sweep, v, r->err));
    } while (sweep_next(range, &v));
    return KVS_OK;
}

static kvs_status sweep_part(struct kvs_sweep *sweep, struct sweep_reader *r)
{
    const char *part = r->at;
    struct sweep_range range = {.op = '+', .step = 1};
    KVS_TRY(sweep_number(r, "invalid value", &range.first));
    range.last = range.first;
    if (*r->at == '-') {
        r->at++;
        KVS_TRY(sweep_number(r, "invalid range", &range.last));
        if (*r->at == '+' || *r->at == '*') {
            range.op = *r->at++;
            KVS_TRY(sweep_number(r, "invalid range", &range.step));
        }
        KVS_TRY(sweep_advances(r, part, &range));
    }
    if (*r->at != ',' && *r->at != '\0')
        return sweep_fail(r, KVS_EINVAL, "invalid value", r->at, "is trailing text");
    return sweep_expand(sweep, r, part, &range);
}

kvs_status kvs_sweep_add(struct kvs_sweep *sweep, const char *flag, const char *text,
                         struct kvs_error *err)
{
    struct sweep_reader r = {.flag = flag, .text = text, .at = text, .err = err};
    for (;;) {
        KVS_TRY(sweep_part(sweep, &r));
        if (*r.at == '\0')
            return KVS_OK;
        r.at++;
    }
}

void kvs_sweep_fini(struct kvs_sweep *sweep)
{
    KVS_ARRAY_FREE(sweep);
}
