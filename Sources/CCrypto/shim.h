// libcrypto: HMAC-SHA-256, for the hash of credentials in identities.
#include <openssl/evp.h>
#include <openssl/hmac.h>
