// Reports locks to the thread sanitizer that it can't see; scripts/soak preloads this for the tests.
//
// `Mutex` of Swift's Synchronization locks and unlocks by an atomic exchange in the caller's code, which is instrumented. Under
// contention, the kernel passes the lock on (FUTEX_LOCK_PI) within libswiftSynchronization.so, which isn't instrumented, so every
// contended lock would be reported as a race. These functions wrap the three functions of that path (Mutex/LinuxImpl.swift in Swift's
// sources) and report what they do. Without the sanitizer in the process they only call through.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

static void *next(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) abort();
  return function;
}

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT bool try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT void lock_slow(uint32_t thread, SELF) {
  static SWIFT void (*real)(uint32_t, SELF);
  if (!real) real = (SWIFT void (*)(uint32_t, SELF))next(LOCK_SLOW);
  real(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT bool try_lock_slow(SELF) {
  static SWIFT bool (*real)(SELF);
  if (!real) real = (SWIFT bool (*)(SELF))next(TRY_LOCK_SLOW);
  bool is_locked = real(self);
  if (is_locked && __tsan_acquire) __tsan_acquire(self);
  return is_locked;
}

SWIFT void unlock_slow(SELF) {
  static SWIFT void (*real)(SELF);
  if (!real) real = (SWIFT void (*)(SELF))next(UNLOCK_SLOW);
  if (__tsan_release) __tsan_release(self);
  real(self);
}
