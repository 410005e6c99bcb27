// A resolver of the tests' own, in place of libc's `getaddrinfo`, `connect` and `getpeername` in a program that links or preloads it.
#ifndef PREWARM_TEST_RESOLVER_H
#define PREWARM_TEST_RESOLVER_H

// Has `name` resolve to `answers`: lists of addresses separated by commas, one list a question, separated by semicolons, of which the
// last repeats. Other names resolve as ever. In a program that preloads this, the variable PREWARM_TEST_RESOLVER has `name=answers`.
void test_resolver_set(const char *name, const char *answers);

// Where an address of 11.0.0.0/8, which stands for public ones here, is connected to, 127.0.0.1 is instead.
#endif
