/* Growing strings and nearest names. */
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

/* Makes room for n more bytes and the terminator; false after a failure. */
static bool text_reserve(struct kvs_text *text, size_t n)
{
    if (text->status != KVS_OK)
        return false;
    if (n < text->capacity - text->n)
        return true;
    if (n > SIZE_MAX / 4 || text->n > SIZE_MAX / 4) {
        text->status = KVS_ENOMEM;
        return false;
    }
    size_t want = text->capacity < 64 ? 64 : text->capacity * 2;
    if (want <= text->n + n)
        want = text->n + n + 1;
    void *data = text->data;
    text->status = kvs_mem_resize(&data, want, 1, NULL);
    if (text->status != KVS_OK)
        return false;
    text->data = data;
    text->capacity = want;
    return true;
}

void kvs_text_append(struct kvs_text *text, const char *bytes, size_t n)
{
    if (!text_reserve(text, n))
        return;
    if (n > 0)
        memcpy(text->data + text->n, bytes, n);
    text->n += n;
    text->data[text->n] = '\0';
}

void kvs_text_puts(struct kvs_text *text, const char *string)
{
    kvs_text_append(text, string, strlen(string));
}

void kvs_text_printf(struct kvs_text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0) {
        if (text->status == KVS_OK)
            text->status = KVS_EINVAL;
        return;
    }
    if (!text_reserve(text, (size_t)n))
        return;
    va_start(args, fmt);
    vsnprintf(text->data + text->n, (size_t)n + 1, fmt, args);
    va_end(args);
    text->n += (size_t)n;
}

void kvs_text_fini(struct kvs_text *text)
{
    kvs_mem_free(text->data);
    *text = (struct kvs_text){0};
}

enum { TEXT_WORD_MAX = 64 };

static size_t text_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Optimal string alignment distance (Damerau-Levenshtein with each pair swapped at most once),
 * by the usual table of prefixes of which three rows are kept. Both lengths at most
 * TEXT_WORD_MAX.
 */
static size_t text_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][TEXT_WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++)
        above[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = text_min(above[j], row[j - 1]) + 1;
            best = text_min(best, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = text_min(best, before[j - 2] + 1);
            row[j] = best;
        }
        size_t *recycled = before;
        before = above;
        above = row;
        row = recycled;
    }
    return above[nb];
}

/* Without case and separators, which people choose freely: "RTX 3060" is rtx3060. Returns the
 * length; more than TEXT_WORD_MAX: not a word. */
static size_t text_fold(const char *word, char folded[TEXT_WORD_MAX])
{
    size_t n = 0;
    for (; *word != '\0'; word++) {
        if (strchr(" -_", *word) != NULL)
            continue;
        if (n == TEXT_WORD_MAX)
            return TEXT_WORD_MAX + 1;
        folded[n++] = (char)(*word >= 'A' && *word <= 'Z' ? *word - 'A' + 'a' : *word);
    }
    return n;
}

const char *kvs_nearest(const char *word, const char *const *candidates, size_t n)
{
    char folded[TEXT_WORD_MAX], candidate[TEXT_WORD_MAX];
    size_t word_n = text_fold(word, folded);
    if (word_n > TEXT_WORD_MAX)
        return NULL;
    const char *best = NULL;
    size_t best_distance = word_n / 3 + 1;
    for (size_t i = 0; i < n; i++) {
        size_t candidate_n = text_fold(candidates[i], candidate);
        if (candidate_n > TEXT_WORD_MAX)
            continue;
        size_t distance = text_distance(folded, word_n, candidate, candidate_n);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidates[i];
        }
    }
    return best;
}
