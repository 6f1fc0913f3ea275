/* Decimal numbers in and out, the same in every locale. Private to base. */
#ifndef KVS_BASE_NUMBER_H
#define KVS_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest number read, in characters. */
#define KVS_NUMBER_MAX 128

/* What the text of a number says, before anybody asks for a unit. */
struct kvs_number {
    double value;
    uint64_t whole;  /* exact, when is_whole */
    bool is_whole;   /* digits only and within 64 bits */
    bool is_signed;  /* has a leading '-' */
    const char *end; /* first character after the number */
};

/*
 * Reads [-] digits [. digits] [e [+-] digits] at the start of text, with a digit on at least
 * one side of the point. False when there is no such number, or it is longer than
 * KVS_NUMBER_MAX or overflows a double.
 */
bool kvs_number_read(const char *text, struct kvs_number *out);

/* Replaces the decimal point of the current locale in a printed number by '.'. */
void kvs_number_fix_point(char *printed);

#endif
