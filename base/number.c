/* The syntax of numbers, and the detour around the locale's decimal point. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool number_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t number_digits(const char *text)
{
    size_t n = 0;
    while (number_is_digit(text[n]))
        n++;
    return n;
}

/* An exponent only when a digit follows, so that a unit starting with e is left alone. */
static size_t number_exponent(const char *text)
{
    if (text[0] != 'e' && text[0] != 'E')
        return 0;
    size_t n = text[1] == '+' || text[1] == '-' ? 2 : 1;
    size_t digits = number_digits(text + n);
    return digits > 0 ? n + digits : 0;
}

static bool number_whole(const char *text, size_t n, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* strtod with the point written as the locale wants it, for a text already known to be good. */
static bool number_value(const char *text, size_t n, size_t point, double *out)
{
    const char *locale_point = localeconv()->decimal_point;
    size_t point_n = strlen(locale_point);
    char copy[KVS_NUMBER_MAX + 16];
    if (n > KVS_NUMBER_MAX || point_n > 15)
        return false;
    size_t head = point < n ? point : n;
    memcpy(copy, text, head);
    size_t copy_n = head;
    if (point < n) {
        memcpy(copy + copy_n, locale_point, point_n);
        copy_n += point_n;
        memcpy(copy + copy_n, text + point + 1, n - point - 1);
        copy_n += n - point - 1;
    }
    copy[copy_n] = '\0';
    *out = strtod(copy, NULL);
    return isfinite(*out);
}

bool kvs_number_read(const char *text, struct kvs_number *out)
{
    size_t sign = text[0] == '-' ? 1 : 0;
    size_t digits = number_digits(text + sign);
    size_t n = sign + digits;
    size_t point = SIZE_MAX;
    size_t fraction = 0;
    if (text[n] == '.') {
        fraction = number_digits(text + n + 1);
        point = n;
        n += 1 + fraction;
    }
    if (digits + fraction == 0)
        return false;
    size_t exponent = number_exponent(text + n);
    n += exponent;
    *out = (struct kvs_number){.is_signed = sign != 0, .end = text + n};
    if (point == SIZE_MAX && exponent == 0 && sign == 0)
        out->is_whole = number_whole(text, digits, &out->whole);
    return number_value(text, n, point, &out->value);
}

void kvs_number_fix_point(char *printed)
{
    const char *locale_point = localeconv()->decimal_point;
    char *at = strstr(printed, locale_point);
    if (at == NULL || strcmp(locale_point, ".") == 0)
        return;
    size_t point_n = strlen(locale_point);
    *at = '.';
    memmove(at + 1, at + point_n, strlen(at + point_n) + 1);
}
