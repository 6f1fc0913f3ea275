/* UTF-8 sequences, strictly as RFC 3629 has them: no overlong forms, surrogates or > U+10FFFF.
 */
#ifndef KVS_BASE_UTF8_H
#define KVS_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed sequence at the start of bytes[0..n), 1..4, or 0 when there is none.
 */
size_t kvs_utf8_len(const char *bytes, size_t n);

/* Replaces control characters and malformed bytes by '?', so that text prints as one line. */
void kvs_utf8_make_printable(char *text);

#endif
