// libcrypto: HMAC-SHA-256, for hashing credentials in identities.
#include <openssl/evp.h>
#include <openssl/hmac.h>
