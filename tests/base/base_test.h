/* What every test of this folder needs: cmocka with the headers it asks for. */
#ifndef KVS_TESTS_BASE_BASE_TEST_H
#define KVS_TESTS_BASE_BASE_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka's own comparison is in float. */
#define assert_near(a, b, epsilon) assert_true(fabs((a) - (b)) <= (epsilon))

#endif
