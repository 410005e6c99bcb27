// The server's side of TLS with HTTP/2 agreed on (ALPN), by blocking calls of OpenSSL: what hand-made servers of tests need of it.
#ifndef PREWARM_TEST_TLS_H
#define PREWARM_TEST_TLS_H

#include <stddef.h>

// Does the handshake on a connected socket, with a certificate and its key in PEM files; NULL where it fails.
void *test_tls_accept(int descriptor, const char *certificate, const char *key);

// Both return what SSL_read and SSL_write do: the count of bytes, or less than 1 at the end.
int test_tls_read(void *tls, void *bytes, size_t count);
int test_tls_write(void *tls, const void *bytes, size_t count);

// Frees it, without a word to the peer; the socket stays open.
void test_tls_free(void *tls);

#endif
