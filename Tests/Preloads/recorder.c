/* Records the changes that a program that preloads it makes to files below PREWARM_RECORDED, in order, in the file PREWARM_RECORD: enough to
   reconstruct the folder as a power loss could leave it after each step.

   A record: kind (1 byte), lengths of path, second path and data (4 bytes each), offset (8 bytes), then path, second path and data.
   Calls are made and recorded under one lock, so that the order is correct. A sync is recorded once it has returned. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 'w', SYNCED_WRITE = 'W', SYNC = 's', TRUNCATE = 't', RENAME = 'r', LINK = 'l', UNLINK = 'u', FOLDER = 'd', CREATE = 'c' };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;
static const char *root;

__attribute__((constructor)) static void start(void) {
  root = getenv("PREWARM_RECORDED");
  const char *path = getenv("PREWARM_RECORD");
  if (root && path) record = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static int is_recorded(const char *path) { return record >= 0 && strncmp(path, root, strlen(root)) == 0; }

static int path_of(int descriptor, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = 0;
  return is_recorded(path);
}

static int path_at(int folder, const char *name, char *path) {
  if (*name == '/' || folder == AT_FDCWD) {
    snprintf(path, PATH_MAX, "%s", name);
  } else {
    char above[PATH_MAX];
    path_of(folder, above);
    snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX / 2, above, name);
  }
  return is_recorded(path);
}

static void put(const void *bytes, size_t count) {
  while (count > 0) {
    ssize_t done = syscall(SYS_write, record, bytes, count);
    if (done <= 0) abort();
    bytes = (const char *)bytes + done;
    count -= (size_t)done;
  }
}

static void note(char kind, const char *path, const char *second, uint64_t offset, const void *data, size_t count) {
  uint32_t lengths[3] = {(uint32_t)strlen(path), (uint32_t)strlen(second), (uint32_t)count};
  put(&kind, 1);
  put(lengths, sizeof lengths);
  put(&offset, sizeof offset);
  put(path, lengths[0]);
  put(second, lengths[1]);
  put(data, count);
}

#define LOCKED(type, call, is_noted, noting) \
  do { \
    pthread_mutex_lock(&lock); \
    type result = (call); \
    int error = errno; \
    if ((is_noted) && result >= 0) { noting; } \
    pthread_mutex_unlock(&lock); \
    errno = error; \
    return result; \
  } while (0)

static char kind_of_write(int descriptor) { return fcntl(descriptor, F_GETFL) & O_DSYNC ? SYNCED_WRITE : WRITE; }

/* Of opened files, record only those that are created or truncated. */
static int open_noted(int folder, const char *name, int flags, mode_t mode) {
  char path[PATH_MAX];
  int is_of_interest = flags & (O_CREAT | O_TRUNC) && (flags & O_TMPFILE) != O_TMPFILE && path_at(folder, name, path);
  struct stat status;
  pthread_mutex_lock(&lock);
  int is_new = is_of_interest && fstatat(folder, name, &status, 0) != 0;
  int result = (int)syscall(SYS_openat, folder, name, flags, mode);
  int error = errno;
  if (result >= 0 && is_new) note(CREATE, path, "", 0, "", 0);
  if (result >= 0 && is_of_interest && flags & O_TRUNC) note(TRUNCATE, path, "", 0, "", 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

#define OPENING(name, first, folder) \
  int name(first const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return open_noted(folder, path, flags, mode); \
  }
#define NOTHING
#define FOLDER_ARGUMENT int at,
OPENING(open, NOTHING, AT_FDCWD)
OPENING(open64, NOTHING, AT_FDCWD)
OPENING(openat, FOLDER_ARGUMENT, at)
OPENING(openat64, FOLDER_ARGUMENT, at)

ssize_t write(int file, const void *bytes, size_t count) {
  char path[PATH_MAX];
  if (record < 0 || !path_of(file, path)) return syscall(SYS_write, file, bytes, count);
  off_t offset = lseek(file, 0, SEEK_CUR);
  LOCKED(ssize_t, syscall(SYS_write, file, bytes, count), offset >= 0,
         note(kind_of_write(file), path, "", (uint64_t)offset, bytes, (size_t)result));
}

static ssize_t pwrite_noted(int file, const void *bytes, size_t count, off_t offset) {
  char path[PATH_MAX];
  int is_noted = record >= 0 && path_of(file, path);
  LOCKED(ssize_t, syscall(SYS_pwrite64, file, bytes, count, offset), is_noted,
         note(kind_of_write(file), path, "", (uint64_t)offset, bytes, (size_t)result));
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) { return pwrite_noted(file, bytes, count, offset); }
ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) { return pwrite_noted(file, bytes, count, offset); }

/* Records each piece as a separate write, since a power loss can tear them apart. */
ssize_t writev(int file, const struct iovec *pieces, int count) {
  ssize_t total = 0;
  for (int piece = 0; piece < count; piece++) {
    ssize_t done = write(file, pieces[piece].iov_base, pieces[piece].iov_len);
    if (done < 0) return total ? total : done;
    total += done;
    if ((size_t)done < pieces[piece].iov_len) break;
  }
  return total;
}

static ssize_t pwritev_noted(int file, const struct iovec *pieces, int count, off_t offset) {
  if (lseek(file, offset, SEEK_SET) < 0) return -1;
  return writev(file, pieces, count);
}
ssize_t pwritev(int file, const struct iovec *pieces, int count, off_t offset) { return pwritev_noted(file, pieces, count, offset); }
ssize_t pwritev64(int file, const struct iovec *pieces, int count, off_t offset) { return pwritev_noted(file, pieces, count, offset); }

static int ftruncate_noted(int file, off_t size) {
  char path[PATH_MAX];
  int is_noted = record >= 0 && path_of(file, path);
  LOCKED(int, (int)syscall(SYS_ftruncate, file, size), is_noted, note(TRUNCATE, path, "", (uint64_t)size, "", 0));
}
int ftruncate(int file, off_t size) { return ftruncate_noted(file, size); }
int ftruncate64(int file, off_t size) { return ftruncate_noted(file, size); }

int fsync(int file) {
  char path[PATH_MAX];
  int is_noted = record >= 0 && path_of(file, path);
  LOCKED(int, (int)syscall(SYS_fsync, file), is_noted, note(SYNC, path, "", 0, "", 0));
}

int fdatasync(int file) {
  char path[PATH_MAX];
  int is_noted = record >= 0 && path_of(file, path);
  LOCKED(int, (int)syscall(SYS_fdatasync, file), is_noted, note(SYNC, path, "", 0, "", 0));
}

int renameat(int from, const char *old, int to, const char *new) {
  char path[PATH_MAX], second[PATH_MAX];
  int is_noted = path_at(from, old, path) & path_at(to, new, second);
  LOCKED(int, (int)syscall(SYS_renameat, from, old, to, new), is_noted, note(RENAME, path, second, 0, "", 0));
}
int rename(const char *old, const char *new) { return renameat(AT_FDCWD, old, AT_FDCWD, new); }

int linkat(int from, const char *old, int to, const char *new, int flags) {
  char path[PATH_MAX], second[PATH_MAX];
  int is_noted = path_at(from, old, path) & path_at(to, new, second);
  LOCKED(int, (int)syscall(SYS_linkat, from, old, to, new, flags), is_noted, note(LINK, path, second, 0, "", 0));
}

int unlinkat(int folder, const char *name, int flags) {
  char path[PATH_MAX];
  int is_noted = path_at(folder, name, path);
  LOCKED(int, (int)syscall(SYS_unlinkat, folder, name, flags), is_noted, note(UNLINK, path, "", 0, "", 0));
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

int mkdirat(int folder, const char *name, mode_t mode) {
  char path[PATH_MAX];
  int is_noted = path_at(folder, name, path);
  LOCKED(int, (int)syscall(SYS_mkdirat, folder, name, mode), is_noted, note(FOLDER, path, "", 0, "", 0));
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }
