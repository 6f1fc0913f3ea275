/* Totals of two timelines, and both in one file. */
#include <math.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "cli/compare.h"
#include "formats/md_table.h"
#include "formats/trace_read.h"

static const struct kvs_trace_total traces_nothing;

/* One line: the same operations in both; a or b may have none. */
struct line {
    const struct kvs_trace_total *named; /* either: says which they are */
    const struct kvs_trace_total *a;
    const struct kvs_trace_total *b;
};

static double traces_ms(const struct kvs_trace_total *total)
{
    return total->us * 1e-3;
}

static void traces_md_line(struct kvs_md_table *t, const struct line *line)
{
    kvs_md_cell(t, "%s", line->named->process);
    kvs_md_cell(t, "%s", line->named->kind);
    kvs_md_cell(t, "%s", line->named->tag);
    kvs_md_cell(t, "%" PRIu64, line->a->n);
    kvs_md_cell(t, "%" PRIu64, line->b->n);
    kvs_md_cell(t, "%.2f", (double)line->a->bytes / (double)KVS_MIB);
    kvs_md_cell(t, "%.2f", (double)line->b->bytes / (double)KVS_MIB);
    kvs_md_cell(t, "%.3f", traces_ms(line->a));
    kvs_md_cell(t, "%.3f", traces_ms(line->b));
    kvs_md_cell(t, "%+.3f", traces_ms(line->b) - traces_ms(line->a));
    kvs_md_percent(t, line->b->n > 0 ? (line->b->us / line->a->us - 1.0) * 100.0 : (double)NAN);
}

static void traces_json_line(struct kvs_json_writer *w, const struct line *line)
{
    kvs_json_begin(w, NULL, '{');
    kvs_json_str(w, "device", line->named->process);
    kvs_json_str(w, "kind", line->named->kind);
    kvs_json_str(w, "tag", line->named->tag);
    kvs_json_u64(w, "n_a", line->a->n);
    kvs_json_u64(w, "n_b", line->b->n);
    kvs_json_u64(w, "bytes_a", line->a->bytes);
    kvs_json_u64(w, "bytes_b", line->b->bytes);
    kvs_json_f64(w, "ms_a", traces_ms(line->a));
    kvs_json_f64(w, "ms_b", traces_ms(line->b));
    kvs_json_end(w, '}');
}

/* Line i: what A has, in its order, then what only B has. False behind the last. */
static bool traces_line(const struct kvs_trace_totals totals[2], size_t *at, struct line *out)
{
    size_t n_a = totals[0].items.n, n = n_a + totals[1].items.n;
    for (; *at < n; (*at)++) {
        bool is_a = *at < n_a;
        const struct kvs_trace_total *named =
            is_a ? &totals[0].items.items[*at] : &totals[1].items.items[*at - n_a];
        const struct kvs_trace_total *other =
            kvs_trace_find(&totals[is_a ? 1 : 0], named->process, named->kind, named->tag);
        if (!is_a && other != NULL)
            continue;
        const struct kvs_trace_total *second = other != NULL ? other : &traces_nothing;
        *out = (struct line){
            .named = named, .a = is_a ? named : second, .b = is_a ? second : named};
        (*at)++;
        return true;
    }
    return false;
}

static void traces_print_md(const struct kvs_comparison *c,
                            const struct kvs_trace_totals totals[2])
{
    static const char *const titles[] = {"n A",  "n B",  "MiB A", "MiB B",
                                         "ms A", "ms B", "B - A", "B / A"};
    struct kvs_md_table t = {0};
    struct line line;
    for (size_t i = 0; i < 2; i++)
        kvs_text_printf(c->text, "%s: %s, %" PRIu64 " token%s, %.3f ms\n", i == 0 ? "A" : "B",
                        c->files[i].label, totals[i].n_tokens,
                        totals[i].n_tokens == 1 ? "" : "s", totals[i].end_us * 1e-3);
    kvs_text_puts(c->text, "\n");
    kvs_md_title(&t, false, "device", "");
    kvs_md_title(&t, false, "kind", "");
    kvs_md_title(&t, false, "tag", "");
    for (size_t i = 0; i < KVS_COUNT_OF(titles); i++)
        kvs_md_title(&t, true, titles[i], "");
    for (size_t at = 0; traces_line(totals, &at, &line);)
        traces_md_line(&t, &line);
    kvs_md_print(&t, c->text);
    kvs_md_fini(&t);
    if (totals[0].n_tokens != totals[1].n_tokens)
        kvs_text_puts(c->text, "\n- the timelines have different numbers of tokens\n");
}

static void traces_print_json(const struct kvs_comparison *c,
                              const struct kvs_trace_totals totals[2])
{
    struct kvs_json_writer w = {.text = c->text};
    struct line line;
    kvs_json_begin(&w, NULL, '{');
    kvs_json_str(&w, "a", c->files[0].path);
    kvs_json_str(&w, "b", c->files[1].path);
    kvs_json_u64(&w, "n_tokens_a", totals[0].n_tokens);
    kvs_json_u64(&w, "n_tokens_b", totals[1].n_tokens);
    kvs_json_f64(&w, "ms_a", totals[0].end_us * 1e-3);
    kvs_json_f64(&w, "ms_b", totals[1].end_us * 1e-3);
    kvs_json_begin(&w, "operations", '[');
    for (size_t at = 0; traces_line(totals, &at, &line);)
        traces_json_line(&w, &line);
    kvs_json_end(&w, ']');
    kvs_json_end(&w, '}');
    kvs_text_puts(c->text, "\n");
}

static kvs_status traces_write(const struct kvs_comparison *c, const char *path,
                               struct kvs_error *err)
{
    struct kvs_text text = {0};
    struct kvs_trace_file files[2];
    for (size_t i = 0; i < 2; i++)
        files[i] = (struct kvs_trace_file){.name = c->files[i].path,
                                           .label = c->files[i].label,
                                           .bytes = c->files[i].bytes,
                                           .n = c->files[i].n};
    kvs_status status = kvs_trace_merge(files, &text, err);
    if (status == KVS_OK)
        status = kvs_file_write(path, text.data, text.n, err);
    kvs_text_fini(&text);
    return status;
}

kvs_status kvs_compare_traces(struct kvs_comparison *c, struct kvs_error *err)
{
    struct kvs_trace_totals totals[2] = {0};
    const char *path = kvs_options_str(c->options, "trace");
    kvs_status status = KVS_OK;
    if (c->is_one_file)
        return kvs_error_at(err, KVS_EINVAL, c->files[0].path, 0, 0,
                            "is a timeline, which takes another one to compare with");
    if (kvs_options_is_given(c->options, "tolerance"))
        return kvs_error_at(err, KVS_EINVAL, "--tolerance", 0, 0, "takes rows, got timelines");
    for (size_t i = 0; i < 2 && status == KVS_OK; i++)
        status =
            kvs_trace_read(c->files[i].path, c->files[i].bytes, c->files[i].n, &totals[i], err);
    if (status == KVS_OK && path != NULL)
        status = traces_write(c, path, err);
    if (status == KVS_OK && c->is_json)
        traces_print_json(c, totals);
    else if (status == KVS_OK)
        traces_print_md(c, totals);
    for (size_t i = 0; i < 2; i++)
        kvs_trace_totals_fini(&totals[i]);
    return status;
}
