// xxHash: XXH3 with 128 bits, for cache keys and the checksums of bodies. The header is used directly, except for bodies.
#include <xxhash.h>
// Makes the functions below use AVX2 or AVX-512, if the processor has it.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

static inline XXH128_hash_t xxhash_checksum(const void *bytes, size_t count) {
  return XXH3_128bits(bytes, count);
}

static inline void xxhash_append(XXH3_state_t *state, const void *bytes, size_t count) {
  XXH3_128bits_update(state, bytes, count);
}
