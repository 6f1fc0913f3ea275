/* Tables of quantities as people write them. */
#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "base/units.h"
#include "tests/base/base_test.h"

static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"512MiB", 536870912},
        {"34B", 34},
        {"1.5GB", 1500000000},
        {"64KiB", 65536},
        {"64 KiB", 65536},
        {"0B", 0},
        {"1kB", 1000},
        {"1TiB", 1099511627776},
        {"2TB", 2000000000000},
        {"0.1GB", 100000000},
        {"1e3B", 1000},
        {".5KiB", 512},
        {"17.6GiB", 18897856102}, /* 17.6 x 2^30 = 18897856102.4 */
        {"18446744073709551615B", UINT64_MAX},
        {"9007199254740993B", 9007199254740993}, /* 2^53 + 1: not a double */
    };
    for (size_t i = 0; i < KVS_COUNT_OF(good); i++) {
        uint64_t bytes = 1;
        assert_int_equal(kvs_parse_bytes(good[i].text, &bytes, NULL), KVS_OK);
        assert_true(bytes == good[i].bytes);
    }
}

static void test_bytes_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        kvs_status status;
        const char *says;
        const char *hint;
    } bad[] = {
        {"12", KVS_EINVAL, "expected bytes such as 512MiB, got \"12\"", "add a unit: 12GiB?"},
        {"", KVS_EINVAL, "expected bytes such as 512MiB, got \"\"", ""},
        {"MiB", KVS_EINVAL, "expected bytes such as 512MiB, got \"MiB\"", ""},
        {"-1B", KVS_EINVAL, "must not be negative, got \"-1B\"", ""},
        {"+1B", KVS_EINVAL, "expected bytes such as 512MiB, got \"+1B\"", ""},
        {" 1B", KVS_EINVAL, "expected bytes such as 512MiB, got \" 1B\"", ""},
        {"1B ", KVS_EINVAL, "expected bytes such as 512MiB, got \"1B \"",
         "units: B kB MB GB TB KiB MiB GiB TiB"},
        {"0x10B", KVS_EINVAL, "expected bytes such as 512MiB, got \"0x10B\"",
         "units: B kB MB GB TB KiB MiB GiB TiB"},
        {"infB", KVS_EINVAL, "expected bytes such as 512MiB, got \"infB\"", ""},
        {"nanB", KVS_EINVAL, "expected bytes such as 512MiB, got \"nanB\"", ""},
        {"1 2B", KVS_EINVAL, "expected bytes such as 512MiB, got \"1 2B\"",
         "units: B kB MB GB TB KiB MiB GiB TiB"},
        {"1  MiB", KVS_EINVAL, "expected bytes such as 512MiB, got \"1  MiB\"",
         "units: B kB MB GB TB KiB MiB GiB TiB"},
        {"512M", KVS_EINVAL, "expected bytes such as 512MiB, got \"512M\"",
         "512MiB (powers of 1024) or 512MB (powers of 1000)?"},
        {"8k", KVS_EINVAL, "expected bytes such as 512MiB, got \"8k\"",
         "8KiB (powers of 1024) or 8kB (powers of 1000)?"},
        {"8KB", KVS_EINVAL, "expected bytes such as 512MiB, got \"8KB\"",
         "8KiB (1024 bytes) or 8kB (1000 bytes)?"},
        {"8Gb", KVS_EINVAL, "expected bytes such as 512MiB, got \"8Gb\"",
         "b means bits, B bytes: 8GB?"},
        {"1,5GB", KVS_EINVAL, "expected bytes such as 512MiB, got \"1,5GB\"",
         "units: B kB MB GB TB KiB MiB GiB TiB"},
        {"18446744073709551616B", KVS_ERANGE,
         "too large: at most 16 EiB, got \"18446744073709551616B\"", ""},
        {"16777216TiB", KVS_ERANGE, "too large: at most 16 EiB, got \"16777216TiB\"", ""},
        {"0.3B", KVS_ERANGE, "less than one byte: \"0.3B\"", ""},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(bad); i++) {
        struct kvs_error err;
        uint64_t bytes = 77;
        assert_int_equal(kvs_parse_bytes(bad[i].text, &bytes, &err), bad[i].status);
        assert_string_equal(err.text, bad[i].says);
        assert_string_equal(err.hint, bad[i].hint);
        assert_int_equal(bytes, 77);
    }
}

static void test_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        kvs_time ps;
    } good[] = {
        {"31us", 31000000},    {"0.6ms", 600000000}, {"1.5ns", 1500},
        {"2s", 2000000000000}, {"250ps", 250},       {"0s", 0},
        {"1.6ps", 2},          {"31 us", 31000000},  {"2305843s", 2305843000000000000},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(good); i++) {
        kvs_time ps = 1;
        assert_int_equal(kvs_parse_time(good[i].text, &ps, NULL), KVS_OK);
        assert_true(ps == good[i].ps);
    }
    static const struct {
        const char *text;
        kvs_status status;
    } bad[] = {
        {"31", KVS_EINVAL},    {"-1us", KVS_EINVAL},     {"1 min", KVS_EINVAL},
        {"0.4ps", KVS_ERANGE}, {"2305844s", KVS_ERANGE}, {"1e400s", KVS_EINVAL},
        {"1US", KVS_EINVAL},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(bad); i++) {
        kvs_time ps = 77;
        assert_int_equal(kvs_parse_time(bad[i].text, &ps, NULL), bad[i].status);
        assert_int_equal(ps, 77);
    }
}

static void test_rate(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double rate_Bps;
    } good[] = {
        {"24.8GB/s", 24.8e9}, {"24GiB/s", 25769803776.0}, /* 24 x 2^30 */
        {"196Gb/s", 24.5e9},  {"1B/s", 1},
        {"8b/s", 1},          {"gen1x16", 4e9},
        {"gen2x1", 0.5e9},    {"gen4x16", 31.508e9},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(good); i++) {
        double rate_Bps = 0;
        assert_int_equal(kvs_parse_rate(good[i].text, &rate_Bps, NULL), KVS_OK);
        assert_near(rate_Bps / good[i].rate_Bps, 1, 1e-5);
    }
    static const char *const bad[] = {"24.8",   "24.8GB",   "gen4",     "gen7x16",
                                      "gen4x3", "gen4x16x", "gen4 x16", "gen 4x16",
                                      "-1GB/s", "1e308TB/s"};
    for (size_t i = 0; i < KVS_COUNT_OF(bad); i++) {
        double rate_Bps = 77;
        assert_int_not_equal(kvs_parse_rate(bad[i], &rate_Bps, NULL), KVS_OK);
        assert_true(rate_Bps > 76 && rate_Bps < 78);
    }
}

/* From the PCI-SIG figures quoted in base/units.h. */
static void test_pcie(void **state)
{
    (void)state;
    assert_near(kvs_pcie_raw_Bps(1, 16), 4.0e9, 1);
    assert_near(kvs_pcie_raw_Bps(2, 1), 0.5e9, 1);
    assert_near(kvs_pcie_raw_Bps(3, 4), 3.938e9, 1e6);
    assert_near(kvs_pcie_raw_Bps(4, 16), 31.51e9, 1e7);
    assert_near(kvs_pcie_raw_Bps(5, 16), 63.02e9, 1e7);
    assert_near(kvs_pcie_raw_Bps(6, 16), 118e9, 1); /* 64 GT/s x 16 / 8 x 236/256 */
    assert_true(kvs_pcie_raw_Bps(0, 16) <= 0);
    assert_true(kvs_pcie_raw_Bps(7, 16) <= 0);
    assert_true(kvs_pcie_raw_Bps(4, 3) <= 0);
}

static void test_flops_and_frac(void **state)
{
    (void)state;
    double value = 0;
    assert_int_equal(kvs_parse_flops("29.1TFLOP/s", &value, NULL), KVS_OK);
    assert_near(value, 29.1e12, 1);
    assert_int_equal(kvs_parse_flops("800GFLOP/s", &value, NULL), KVS_OK);
    assert_near(value, 800e9, 1);
    assert_int_equal(kvs_parse_flops("29.1", &value, NULL), KVS_EINVAL);
    assert_int_equal(kvs_parse_flops("29.1GiFLOP/s", &value, NULL), KVS_EINVAL);
    assert_int_equal(kvs_parse_frac("7%", &value, NULL), KVS_OK);
    assert_near(value, 0.07, 1e-15);
    assert_int_equal(kvs_parse_frac("0.07", &value, NULL), KVS_OK);
    assert_near(value, 0.07, 1e-15);
    assert_int_equal(kvs_parse_frac("12.5 %", &value, NULL), KVS_OK);
    assert_near(value, 0.125, 1e-15);
    assert_int_equal(kvs_parse_frac("-7%", &value, NULL), KVS_EINVAL);
    assert_int_equal(kvs_parse_frac("7%%", &value, NULL), KVS_EINVAL);
    assert_int_equal(kvs_parse_frac("%", &value, NULL), KVS_EINVAL);
}

static void test_plain(void **state)
{
    (void)state;
    uint64_t whole = 0;
    double value = 0;
    assert_int_equal(kvs_parse_u64("18446744073709551615", &whole, NULL), KVS_OK);
    assert_true(whole == UINT64_MAX);
    assert_int_equal(kvs_parse_u64("18446744073709551616", &whole, NULL), KVS_ERANGE);
    static const char *const not_whole[] = {"",   "-1",  "+1", "1.0", "1e3",  " 1",
                                            "1 ", "0x1", "1k", "-0",  "1_000"};
    for (size_t i = 0; i < KVS_COUNT_OF(not_whole); i++)
        assert_int_equal(kvs_parse_u64(not_whole[i], &whole, NULL), KVS_EINVAL);
    assert_int_equal(kvs_parse_f64("-1.25e-1", &value, NULL), KVS_OK);
    assert_near(value, -0.125, 0);
    static const char *const not_number[] = {"",      "inf",   "nan", "-inf", "NaN", "+1",
                                             "0x1p3", "1 2",   "1e",  "e5",   ".",   "-",
                                             "1,5",   "1e999", "--1", "1.2.3"};
    for (size_t i = 0; i < KVS_COUNT_OF(not_number); i++)
        assert_int_equal(kvs_parse_f64(not_number[i], &value, NULL), KVS_EINVAL);
    char longer[300];
    memset(longer, '1', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(kvs_parse_f64(longer, &value, NULL), KVS_EINVAL);
}

static void test_format(void **state)
{
    (void)state;
    char buf[KVS_UNITS_BUF];
    assert_string_equal(kvs_format_bytes(579338240, buf, sizeof(buf)), "552.50 MiB");
    assert_string_equal(kvs_format_bytes(512, buf, sizeof(buf)), "512 B");
    assert_string_equal(kvs_format_bytes(1023, buf, sizeof(buf)), "1023 B");
    assert_string_equal(kvs_format_bytes(1048575, buf, sizeof(buf)), "1.00 MiB");
    assert_string_equal(kvs_format_bytes(UINT64_MAX, buf, sizeof(buf)), "16.00 EiB");
    assert_string_equal(kvs_format_time(1760000000, buf, sizeof(buf)), "1.760 ms");
    assert_string_equal(kvs_format_time(250, buf, sizeof(buf)), "250 ps");
    assert_string_equal(kvs_format_time(-1500, buf, sizeof(buf)), "-1.500 ns");
    assert_string_equal(kvs_format_time(999999999999, buf, sizeof(buf)), "1.000 s");
    assert_string_equal(kvs_format_rate(24.83e9, buf, sizeof(buf)), "24.83 GB/s");
    assert_string_equal(kvs_format_rate(0, buf, sizeof(buf)), "0 B/s");
}

static void test_format_f64(void **state)
{
    (void)state;
    char buf[KVS_UNITS_BUF];
    volatile double tenth = 0.1; /* IEEE 754: 0.1 + 0.2 needs 17 digits */
    assert_string_equal(kvs_format_f64(tenth, buf, sizeof(buf)), "0.1");
    assert_string_equal(kvs_format_f64(tenth + 0.2, buf, sizeof(buf)), "0.30000000000000004");
    assert_string_equal(kvs_format_f64(1.0 / 3.0, buf, sizeof(buf)), "0.3333333333333333");
    assert_string_equal(kvs_format_f64(-1e300, buf, sizeof(buf)), "-1e+300");
    assert_string_equal(kvs_format_f64(DBL_MAX, buf, sizeof(buf)), "1.7976931348623157e+308");
}

static void test_to_ps(void **state)
{
    (void)state;
    assert_int_equal(kvs_ps_from_seconds(1.5e-12), 2);
    assert_int_equal(kvs_ps_from_seconds(0.001), 1000000000);
    assert_true(kvs_ps_from_seconds(1e30) == INT64_MAX / 4);
    assert_true(kvs_ps_from_seconds(-1e30) == -(INT64_MAX / 4));
    assert_int_equal(kvs_ps_from_bytes(24, 24e9), 1000); /* 1 ns */
    assert_int_equal(kvs_ps_from_bytes(1, 3e12), 1);     /* 1/3 ps, rounded up */
    assert_int_equal(kvs_ps_from_bytes(0, 1e9), 0);
    assert_int_equal(kvs_ps_from_bytes(0, 0), 0);
    assert_true(kvs_ps_from_bytes(1, 0) == INT64_MAX / 4);
    assert_near(kvs_ms_from_ps(1500000000), 1.5, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),      cmocka_unit_test(test_bytes_refused),
        cmocka_unit_test(test_time),       cmocka_unit_test(test_rate),
        cmocka_unit_test(test_pcie),       cmocka_unit_test(test_flops_and_frac),
        cmocka_unit_test(test_plain),      cmocka_unit_test(test_format),
        cmocka_unit_test(test_format_f64), cmocka_unit_test(test_to_ps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
