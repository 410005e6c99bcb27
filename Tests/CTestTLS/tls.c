#include "tls.h"

#include <openssl/ssl.h>

// HTTP/2 if the client supports it, else HTTP/1.1.
static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
                           unsigned int count, void *context) {
  static const unsigned char known[] = {2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char *found = NULL;
  int status = SSL_select_next_proto(&found, length, known, sizeof known, offered, count);
  *chosen = found;
  return status == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void *test_tls_accept(int descriptor, const char *certificate, const char *key) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  SSL *ssl = NULL;
  if (SSL_CTX_use_certificate_chain_file(context, certificate) == 1 &&
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1) {
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    ssl = SSL_new(context);
    SSL_set_fd(ssl, descriptor);
    if (SSL_accept(ssl) != 1) {
      SSL_free(ssl);
      ssl = NULL;
    }
  }
  SSL_CTX_free(context);
  return ssl;
}

int test_tls_read(void *tls, void *bytes, size_t count) { return SSL_read(tls, bytes, (int)count); }

int test_tls_write(void *tls, const void *bytes, size_t count) { return SSL_write(tls, bytes, (int)count); }

void test_tls_free(void *tls) { SSL_free(tls); }
