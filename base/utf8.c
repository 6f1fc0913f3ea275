/* Table 3-7 of the Unicode standard (well-formed byte sequences) as code. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

static bool utf8_is_tail(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The second byte has a narrower range after E0, ED, F0 and F4. */
static bool utf8_is_second(unsigned char lead, unsigned char byte)
{
    switch (lead) {
    case 0xE0:
        return byte >= 0xA0 && byte <= 0xBF;
    case 0xED:
        return byte >= 0x80 && byte <= 0x9F;
    case 0xF0:
        return byte >= 0x90 && byte <= 0xBF;
    case 0xF4:
        return byte >= 0x80 && byte <= 0x8F;
    default:
        return utf8_is_tail(byte);
    }
}

size_t kvs_utf8_len(const char *bytes, size_t n)
{
    if (n == 0)
        return 0;
    unsigned char lead = (unsigned char)bytes[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    size_t len = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (n < len || !utf8_is_second(lead, (unsigned char)bytes[1]))
        return 0;
    for (size_t i = 2; i < len; i++)
        if (!utf8_is_tail((unsigned char)bytes[i]))
            return 0;
    return len;
}

void kvs_utf8_make_printable(char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        size_t len = kvs_utf8_len(text + i, n - i);
        if (len == 0 || (unsigned char)text[i] < 0x20 || text[i] == 0x7F) {
            text[i] = '?';
            len = 1;
        }
        i += len;
    }
}
