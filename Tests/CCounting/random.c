#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Replaces the function of Swift's library if linked in: returns the same numbers in every run, so that hash tables with random
// seeds are the same too. SplitMix64 (Steele, Lea, Flood 2014, OOPSLA).
void swift_stdlib_random(void *buffer, size_t count) {
  static uint64_t state;
  unsigned char *bytes = buffer;
  while (count > 0) {
    uint64_t mixed = __atomic_add_fetch(&state, UINT64_C(0x9e3779b97f4a7c15), __ATOMIC_RELAXED);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    mixed ^= mixed >> 31;
    size_t part = count < sizeof mixed ? count : sizeof mixed;
    memcpy(bytes, &mixed, part);
    bytes += part;
    count -= part;
  }
}
