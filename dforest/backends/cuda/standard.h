/* What kernels use of C's standard library, for NVRTC, which has mathematical functions and copies memory, but brings no headers. */
#ifndef DFOREST_CUDA_STANDARD_H
#define DFOREST_CUDA_STANDARD_H

/* stdint.h and stddef.h */
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
#define INT32_MAX 2147483647
#define INT32_MIN (-INT32_MAX - 1)
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807l
#define INT64_MIN (-INT64_MAX - 1)
#define UINT64_MAX 18446744073709551615ul

/* math.h */
#define INFINITY __longlong_as_double(0x7FF0000000000000ll)
#define HUGE_VAL INFINITY
#define NAN __longlong_as_double(0x7FF8000000000000ll)

/* float.h */
#define DBL_MAX 1.7976931348623157e308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define FLT_MAX 3.40282347e38f

/* GCC's, which kernels use too */
#define __builtin_nan(text) NAN
#define __builtin_clz(x) __clz((int) (x))
#define __builtin_clzll(x) __clzll((long long) (x))
#define __builtin_ctzll(x) (__ffsll((long long) (x)) - 1)

#endif
