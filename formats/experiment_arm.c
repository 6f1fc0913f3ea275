/* Arms: reads "pipelined+n4+yield", and lists the policies and options that there are. */
#include "formats/experiment_arm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

const struct kvs_policy *const kvs_policies[] = {&kvs_policy_resident, &kvs_policy_ordered,
                                                 &kvs_policy_pipelined, &kvs_policy_continuous};
const size_t kvs_n_policies = KVS_COUNT_OF(kvs_policies);

const struct kvs_arm_option kvs_arm_options[] = {
    {"nN", "look-ahead N, 1 to 14 deliveries beyond the layer being computed (1); also of "
           "continuous"},
    {"per-slot", "a transfer stream per ring slot instead of one for all"},
    {"yield", "a tiny kernel on the transfer stream between deliveries"},
    {"yield-kv", "the same, also between K and V of a delivery"},
    {"late-kernel", "late bytes read by a small kernel instead of copied"},
};
const size_t kvs_n_arm_options = KVS_COUNT_OF(kvs_arm_options);

/* Bits of the options seen, to refuse one given twice. */
enum { ARM_LOOKAHEAD = 1, ARM_STREAMS = 2, ARM_YIELD = 4, ARM_LATE = 8 };

static bool arm_has_ring(const struct kvs_policy *policy)
{
    return policy == &kvs_policy_pipelined || policy == &kvs_policy_continuous;
}

static kvs_status arm_unknown(const char *what, const char *word, const char *const *known,
                              size_t n, struct kvs_error *err)
{
    struct kvs_text list = {0};
    for (size_t i = 0; i < n; i++)
        kvs_text_printf(&list, "%s%s", i == 0 ? "" : ", ", known[i]);
    kvs_error_set(err, KVS_ENOTFOUND, "unknown %s \"%.40s\"; known: %s", what, word,
                  list.data != NULL ? list.data : "");
    kvs_text_fini(&list);
    const char *nearest = kvs_nearest(word, known, n);
    if (nearest != NULL)
        kvs_error_hint(err, "did you mean %s?", nearest);
    return KVS_ENOTFOUND;
}

static kvs_status arm_policy(const char *word, struct kvs_arm *arm, struct kvs_error *err)
{
    const char *known[KVS_COUNT_OF(kvs_policies)];
    for (size_t i = 0; i < kvs_n_policies; i++) {
        known[i] = kvs_policies[i]->name;
        if (strcmp(word, known[i]) == 0)
            arm->policy = kvs_policies[i];
    }
    if (arm->policy == NULL)
        return arm_unknown("policy", word, known, kvs_n_policies, err);
    arm->lookahead = arm_has_ring(arm->policy) ? 1 : 0;
    return KVS_OK;
}

static kvs_status arm_lookahead(const char *digits, struct kvs_arm *arm, struct kvs_error *err)
{
    uint64_t n;
    KVS_TRY(kvs_parse_u64(digits, &n, err));
    if (n < 1 || n > KVS_ARM_MAX_LOOKAHEAD)
        return kvs_error_set(err, KVS_ERANGE, "look-ahead must be 1 to %u, got %" PRIu64,
                             KVS_ARM_MAX_LOOKAHEAD, n);
    arm->lookahead = (uint32_t)n;
    return KVS_OK;
}

static kvs_status arm_option(const char *word, struct kvs_arm *arm, unsigned *io_seen,
                             struct kvs_error *err)
{
    unsigned bit = 0;
    if (word[0] == 'n' && word[1] >= '0' && word[1] <= '9') {
        bit = ARM_LOOKAHEAD;
        KVS_TRY(arm_lookahead(word + 1, arm, err));
    } else if (strcmp(word, "per-slot") == 0) {
        bit = ARM_STREAMS;
        arm->streams = KVS_STREAMS_PER_SLOT;
    } else if (strcmp(word, "yield") == 0 || strcmp(word, "yield-kv") == 0) {
        bit = ARM_YIELD;
        arm->yield = word[5] == '\0' ? KVS_YIELD_LAYER : KVS_YIELD_KV;
    } else if (strcmp(word, "late-kernel") == 0) {
        bit = ARM_LATE;
        arm->late = KVS_LATE_KERNEL;
    } else {
        const char *known[KVS_COUNT_OF(kvs_arm_options)];
        for (size_t i = 0; i < kvs_n_arm_options; i++)
            known[i] = kvs_arm_options[i].name;
        return arm_unknown("option", word, known, kvs_n_arm_options, err);
    }
    if (bit != ARM_LOOKAHEAD && arm->policy != &kvs_policy_pipelined)
        return kvs_error_set(err, KVS_EINVAL, "%s takes no option but nN, got \"%.20s\"",
                             arm->policy->name, word);
    if (*io_seen & bit)
        return kvs_error_set(err, KVS_EINVAL, "option \"%.20s\" repeats or contradicts another",
                             word);
    *io_seen |= bit;
    return KVS_OK;
}

static void arm_set_name(struct kvs_arm *arm)
{
    char number[16] = "";
    if (arm->lookahead > 1)
        (void)snprintf(number, sizeof number, "+n%u", (unsigned)arm->lookahead);
    (void)snprintf(arm->name, sizeof arm->name, "%s%s%s%s%s", arm->policy->name, number,
                   arm->streams == KVS_STREAMS_PER_SLOT ? "+per-slot" : "",
                   arm->yield == KVS_YIELD_NONE    ? ""
                   : arm->yield == KVS_YIELD_LAYER ? "+yield"
                                                   : "+yield-kv",
                   arm->late == KVS_LATE_KERNEL ? "+late-kernel" : "");
}

kvs_status kvs_arm_parse(const char *text, struct kvs_arm *out, struct kvs_error *err)
{
    char words[128];
    struct kvs_arm arm = {.policy = NULL};
    unsigned seen = 0;
    if (strlen(text) >= sizeof words)
        return kvs_error_set(err, KVS_EINVAL, "\"%.40s...\" is too long for a policy", text);
    (void)snprintf(words, sizeof words, "%s", text);
    char *next = strchr(words, '+');
    if (next != NULL)
        *next++ = '\0';
    KVS_TRY(arm_policy(words, &arm, err));
    while (next != NULL) {
        char *word = next;
        next = strchr(word, '+');
        if (next != NULL)
            *next++ = '\0';
        if (!arm_has_ring(arm.policy))
            return kvs_error_set(err, KVS_EINVAL, "%s takes no options, got \"%.40s\"",
                                 arm.policy->name, word);
        KVS_TRY(arm_option(word, &arm, &seen, err));
    }
    arm_set_name(&arm);
    *out = arm;
    return KVS_OK;
}

kvs_status kvs_arm_from_lookahead(uint64_t lookahead, struct kvs_arm *out,
                                  struct kvs_error *err)
{
    char text[48];
    (void)snprintf(text, sizeof text, "pipelined+n%" PRIu64, lookahead);
    return kvs_arm_parse(lookahead == 0 ? "ordered" : text, out, err);
}

void kvs_arm_apply(const struct kvs_arm *arm, struct kvs_transport *transport)
{
    transport->lookahead = arm->lookahead;
    transport->streams = arm->streams;
    transport->yield = arm->yield;
    transport->late = arm->late;
    transport->keeps_tail = arm->policy == &kvs_policy_continuous;
}
