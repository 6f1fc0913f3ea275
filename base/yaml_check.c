/* What is refused before libyaml sees the bytes (see base/yaml_node.h). */
#include "base/yaml_node.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/*
 * Nesting refused here. Brackets and indentation are only estimated, because a text may contain
 * both; hence a limit far above KVS_YAML_MAX_DEPTH, which the events enforce exactly. libyaml's
 * cost is quadratic in depth, and at this depth that is still nothing.
 */
enum { CHECK_MAX_LEVELS = 16 * KVS_YAML_MAX_DEPTH };

struct check_state {
    size_t n_flow;                    /* open brackets */
    size_t n_indents;                 /* open block levels */
    size_t indents[CHECK_MAX_LEVELS]; /* their columns, rising */
    char quote;                       /* ' or " inside a quoted scalar, else 0 */
    bool may_start;                   /* a token may start here, so a quote opens a scalar */
};

void kvs_yaml_locate(const char *bytes, size_t offset, unsigned *out_line, unsigned *out_column)
{
    *out_line = 1;
    *out_column = 1;
    for (size_t i = 0; i < offset; i++) {
        if (bytes[i] == '\n') {
            ++*out_line;
            *out_column = 1;
        } else if (((unsigned char)bytes[i] & 0xC0) != 0x80) {
            ++*out_column;
        }
    }
}

static bool check_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Opens a block level at a column, closing those at or right of it; false when too deep. */
static bool check_open_block(struct check_state *state, size_t column)
{
    while (state->n_indents > 0 && state->indents[state->n_indents - 1] >= column)
        state->n_indents--;
    if (state->n_indents == CHECK_MAX_LEVELS)
        return false;
    state->indents[state->n_indents++] = column;
    return true;
}

/* Indentation, "- " and "? " at the start of a line, each of which may open a level. */
static bool check_line_start(struct check_state *state, const char *line, size_t n)
{
    size_t i = 0;
    for (;;) {
        while (i < n && line[i] == ' ')
            i++;
        if (i == n || line[i] == '#')
            return true;
        if (!check_open_block(state, i))
            return false;
        bool is_marker = (line[i] == '-' || line[i] == '?') && i + 1 < n && line[i + 1] == ' ';
        if (!is_marker)
            return true;
        i++;
    }
}

/* Brackets of one line, outside quotes and comments. False when too deep. */
static bool check_line_flow(struct check_state *state, const char *line, size_t n)
{
    state->may_start = true;
    for (size_t i = 0; i < n; i++) {
        char c = line[i];
        if (state->quote != 0) {
            if (c == '\\' && state->quote == '"')
                i++;
            else if (c == state->quote)
                state->quote = 0;
            continue;
        }
        if (c == '#' && (i == 0 || check_is_blank(line[i - 1])))
            return true;
        if ((c == '"' || c == '\'') && state->may_start)
            state->quote = c;
        else if ((c == '[' || c == '{') && ++state->n_flow > CHECK_MAX_LEVELS)
            return false;
        else if ((c == ']' || c == '}') && state->n_flow > 0)
            state->n_flow--;
        state->may_start = check_is_blank(c) || strchr("[{,:", c) != NULL;
    }
    return true;
}

static kvs_status check_depth(const char *name, const char *bytes, size_t n,
                              struct kvs_error *err)
{
    struct check_state state = {0};
    unsigned line = 1;
    for (size_t start = 0; start < n; line++) {
        const char *newline = memchr(bytes + start, '\n', n - start);
        size_t line_n = newline != NULL ? (size_t)(newline - bytes) - start : n - start;
        bool is_block = state.n_flow == 0 && state.quote == 0;
        if ((is_block && !check_line_start(&state, bytes + start, line_n)) ||
            !check_line_flow(&state, bytes + start, line_n))
            return kvs_error_at(err, KVS_ESYNTAX, name, line, 0,
                                "nested deeper than the limit of %d levels",
                                KVS_YAML_MAX_DEPTH);
        start += line_n + 1;
    }
    return KVS_OK;
}

static kvs_status check_bytes(const char *name, const char *bytes, size_t n,
                              struct kvs_error *err)
{
    for (size_t i = 0; i < n;) {
        size_t len = kvs_utf8_len(bytes + i, n - i);
        if (len > 0 && bytes[i] != '\0') {
            i += len;
            continue;
        }
        unsigned line;
        unsigned column;
        kvs_yaml_locate(bytes, i, &line, &column);
        if (len > 0)
            return kvs_error_at(err, KVS_ESYNTAX, name, line, column,
                                "expected text, got a zero byte");
        return kvs_error_at(err, KVS_ESYNTAX, name, line, column,
                            "expected UTF-8, got the byte 0x%02X", (unsigned char)bytes[i]);
    }
    return KVS_OK;
}

kvs_status kvs_yaml_precheck(const char *name, const char *bytes, size_t n,
                             struct kvs_error *err)
{
    if (n > KVS_YAML_MAX_BYTES)
        return kvs_error_at(err, KVS_ERANGE, name, 0, 0,
                            "file is larger than the limit of %u bytes", KVS_YAML_MAX_BYTES);
    KVS_TRY(check_bytes(name, bytes, n, err));
    return check_depth(name, bytes, n, err);
}
