/* UTF-8 strictly as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef KVS_BASE_UTF8_H
#define KVS_BASE_UTF8_H

#include <stddef.h>

/* Length, 1..4, of the well-formed sequence at the start of bytes[0..n); 0 if there is none. */
size_t kvs_utf8_len(const char *bytes, size_t n);

/* Replaces control characters and malformed bytes by '?', so that text prints as one line. */
void kvs_utf8_make_printable(char *text);

#endif
