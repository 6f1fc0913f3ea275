/* Any bytes read as a plan, and what comes of it checked and written again. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/plan_lines.h"
#include "sched/plan_check.h"

/* Checking is bounded, but not to what a fuzzer calls quick. */
#define FUZZ_MAX_OPS 20000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t fuzz_work(const struct kvs_plan *plan)
{
    uint64_t work = 0;
    for (size_t i = 0; i < plan->segments.n; i++) {
        const struct kvs_segment *s = &plan->segments.items[i];
        uint64_t tokens = 8u * s->period;
        for (size_t d = 0; d < s->deps.n; d++)
            tokens += 3u * s->deps.items[d].distance;
        work += (tokens < s->n_tokens ? tokens : s->n_tokens) * (s->ops.n + 1);
    }
    for (size_t i = 0; i < plan->segments.n; i++)
        for (size_t a = 0; a < plan->segments.items[i].accesses.n; a++)
            work += plan->segments.items[i].accesses.items[a].rows;
    return work;
}

/* What was written reads back as the same bytes. */
static void fuzz_round_trip(const struct kvs_plan *plan)
{
    struct kvs_text text = {0}, again = {0};
    struct kvs_plan *copy = NULL;
    kvs_plan_lines_write(plan, &text);
    KVS_ASSERT(kvs_plan_lines_read("again", text.data, text.n, &copy, NULL) == KVS_OK);
    kvs_plan_lines_write(copy, &again);
    KVS_ASSERT(strcmp(text.data, again.data) == 0);
    kvs_plan_destroy(copy);
    kvs_text_fini(&text);
    kvs_text_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvs_plan *plan = NULL;
    struct kvs_error err = {0};
    if (kvs_plan_lines_read("fuzz", (const char *)data, size, &plan, &err) != KVS_OK)
        return 0;
    fuzz_round_trip(plan);
    if (fuzz_work(plan) <= FUZZ_MAX_OPS && kvs_plan_check(plan, NULL, NULL, &err) == KVS_OK) {
        struct kvs_text path = {0};
        kvs_status status = kvs_plan_explain_dep(plan, 0, 0, &path, &err);
        KVS_ASSERT(status == KVS_OK || err.text[0] != '\0');
        kvs_text_fini(&path);
    }
    kvs_plan_destroy(plan);
    return 0;
}
