/* Any bytes through the JSON reader; strings that come out go through the writer and back. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void get_all(const struct kvs_json_doc *doc, const struct kvs_json_value *obj)
{
    static const char *const known[] = {"a", "size"};
    const char *text = NULL;
    struct kvs_error err;
    int64_t whole;
    double value;
    bool flag;
    bool is_bad = kvs_json_get_i64(doc, obj, "a", true, 1, 64, &whole, &err) != KVS_OK;
    is_bad |= kvs_json_get_f64(doc, obj, "a", false, 0, 1, &value, &err) != KVS_OK;
    is_bad |= kvs_json_get_bool(doc, obj, "a", false, &flag, &err) != KVS_OK;
    is_bad |= kvs_json_only_keys(doc, obj, known, 2, &err) != KVS_OK;
    is_bad |= kvs_json_get_str(doc, obj, "a", false, &text, &err) != KVS_OK;
    if (is_bad && err.status == KVS_OK)
        abort();
}

/* What the writer prints must read back as the same string. */
static void write_and_read(const char *string)
{
    struct kvs_text text = {0};
    struct kvs_json_writer w = {.text = &text};
    struct kvs_json_doc *doc = NULL;
    const char *again = NULL;
    kvs_json_begin(&w, NULL, '{');
    kvs_json_str(&w, "a", string);
    kvs_json_end(&w, '}');
    if (kvs_json_parse("w", text.data, text.n, 0, &doc, NULL) != KVS_OK ||
        kvs_json_get_str(doc, kvs_json_root(doc), "a", true, &again, NULL) != KVS_OK ||
        strcmp(again, string) != 0)
        abort();
    kvs_json_destroy(doc);
    kvs_text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct kvs_json_doc *doc = NULL;
    struct kvs_error err;
    const char *text = NULL;
    uint64_t start_bytes = kvs_mem_live_bytes();
    if (kvs_json_parse("fuzz.json", (const char *)data, n, 0, &doc, &err) == KVS_OK) {
        const struct kvs_json_value *root = kvs_json_root(doc);
        get_all(doc, root);
        for (size_t i = 0; i < kvs_json_array_len(root) && i < 32; i++)
            get_all(doc, kvs_json_array_item(root, i));
        if (kvs_json_get_str(doc, root, "a", true, &text, &err) == KVS_OK)
            write_and_read(text);
    }
    kvs_json_destroy(doc);
    if (kvs_mem_live_bytes() != start_bytes)
        abort();
    return 0;
}
