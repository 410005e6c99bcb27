// xxHash: XXH3 with 128 bits, for cache keys and the checksums of bodies. The header is used directly.
#include <xxhash.h>
