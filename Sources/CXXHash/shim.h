// xxHash: XXH3 with 128 bits, for cache keys and the checksums of bodies. The header is used as it is.
#include <xxhash.h>
