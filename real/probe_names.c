/* What names and datasheets say of a GPU. */
#include <stdlib.h>
#include <string.h>

#include "real/probe_rules.h"

#define NAMES_WORD_MAX 24

/* Next word of a name in lower case, parted by blanks and dashes; false at the end. */
static bool names_next(const char **text, char word[NAMES_WORD_MAX])
{
    size_t n = 0;
    while (**text == ' ' || **text == '-')
        (*text)++;
    while (**text != '\0' && **text != ' ' && **text != '-') {
        char c = *(*text)++;
        if (n + 1 < NAMES_WORD_MAX)
            word[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    word[n] = '\0';
    return n > 0;
}

/* "80gb" */
static bool names_is_size(const char *word)
{
    size_t n = strspn(word, "0123456789");
    return n > 0 && strcmp(word + n, "gb") == 0;
}

/* Memory and socket do not make another product; "nvl" and "laptop" do. */
static bool names_is_detail(const char *word)
{
    return names_is_size(word) || strncmp(word, "hbm", 3) == 0 ||
           strncmp(word, "sxm", 3) == 0 || strcmp(word, "pcie") == 0;
}

static bool names_is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* "NVIDIA GeForce RTX 4060 Ti" -> "rtx4060ti"; false when a word stands for another product. */
static bool names_product(const char *gpu_name, char product[2 * NAMES_WORD_MAX],
                          bool *out_is_pcie)
{
    static const char *const makers[] = {"nvidia", "geforce", "tesla", "quadro"};
    static const char *const suffixes[] = {"ti", "super"};
    char word[NAMES_WORD_MAX];
    size_t n = 0;
    product[0] = '\0';
    *out_is_pcie = false;
    while (names_next(&gpu_name, word)) {
        bool is_part = n == 0 || strcmp(product, "rtx") == 0 || strcmp(product, "gtx") == 0 ||
                       names_is_one_of(word, suffixes, KVS_COUNT_OF(suffixes));
        if (n == 0 && names_is_one_of(word, makers, KVS_COUNT_OF(makers)))
            continue;
        *out_is_pcie |= strcmp(word, "pcie") == 0;
        if (!is_part && names_is_detail(word))
            continue;
        if (!is_part || n + strlen(word) >= 2 * NAMES_WORD_MAX)
            return false;
        memcpy(product + n, word, strlen(word) + 1);
        n += strlen(word);
    }
    return n > 0;
}

bool kvs_probe_is_card(const char *gpu_name, const char *card)
{
    char product[2 * NAMES_WORD_MAX];
    bool is_pcie;
    if (!names_product(gpu_name, product, &is_pcie))
        return false;
    size_t n = strlen(product);
    return strncmp(card, product, n) == 0 && (card[n] == '\0' || card[n] == '-') &&
           !(is_pcie && strcmp(card + n, "-sxm") == 0);
}

/* Dense f16 rate of a datasheet over SMs and boost clock: V100 125 TFLOP/s, RTX 2080 Ti 53.8, A100
 * 312, RTX 3090 71, L40S 362 (an RTX 4090 half of that), H100 989, B200 2250, RTX 5090 209.5;
 * before Volta twice the FP32 cores. */
double kvs_probe_flop_per_clock(int major, int minor)
{
    static const struct {
        int major, minor;
        double flop;
    } cards[] = {{6, 0, 256},   {6, 1, 256},   {7, 0, 1024}, {7, 5, 512},
                 {8, 0, 2048},  {8, 6, 512},   {8, 9, 512},  {9, 0, 4096},
                 {10, 0, 8192}, {10, 3, 8192}, {12, 0, 512}};
    for (size_t i = 0; i < KVS_COUNT_OF(cards); i++)
        if (cards[i].major == major && cards[i].minor == minor)
            return cards[i].flop;
    return 0;
}

unsigned kvs_probe_pcie_gen(const char *speed)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64}; /* GT/s of gen1 to gen6 */
    double value = strtod(speed, NULL);
    for (size_t i = 0; i < KVS_COUNT_OF(speeds); i++)
        if (value > speeds[i] * 0.99 && value < speeds[i] * 1.01)
            return (unsigned)i + 1;
    return 0;
}
