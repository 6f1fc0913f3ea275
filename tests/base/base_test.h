/* What every test of this folder needs: cmocka with the headers it asks for. */
#ifndef KVS_TESTS_BASE_TEST_H
#define KVS_TESTS_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
