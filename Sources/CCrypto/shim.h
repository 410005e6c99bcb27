// libcrypto: SHA-1, SHA-256 and HMAC, for hashing credentials in identities, expected digests and signed URLs.
#include <openssl/evp.h>
#include <openssl/hmac.h>
