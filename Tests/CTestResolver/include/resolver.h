// A resolver for tests that replaces libc's `getaddrinfo`, `connect` and `getpeername` in programs that link or preload it.
#ifndef PREWARM_TEST_RESOLVER_H
#define PREWARM_TEST_RESOLVER_H

// Makes `name` resolve to `answers`: comma-separated lists of addresses, one list per query, separated by semicolons; the last list
// repeats. Other names resolve as usual. For programs that preload this, set PREWARM_TEST_RESOLVER to `name=answers`.
void test_resolver_set(const char *name, const char *answers);

// Connections to 11.0.0.0/8, which represents public addresses here, go to 127.0.0.1 instead.
#endif
