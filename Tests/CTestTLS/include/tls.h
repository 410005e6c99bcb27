// The server side of TLS with HTTP/2 negotiated by ALPN, using blocking calls of OpenSSL, for hand-made test servers.
#ifndef PREWARM_TEST_TLS_H
#define PREWARM_TEST_TLS_H

#include <stddef.h>

// Does the handshake on a connected socket, with a certificate and key in PEM files; NULL if it fails.
void *test_tls_accept(int descriptor, const char *certificate, const char *key);

// Both return the result of SSL_read or SSL_write: the number of bytes, or less than 1 at the end.
int test_tls_read(void *tls, void *bytes, size_t count);
int test_tls_write(void *tls, const void *bytes, size_t count);

// Frees it without notifying the peer; the socket stays open.
void test_tls_free(void *tls);

#endif
