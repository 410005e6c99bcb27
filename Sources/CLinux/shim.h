// Linux functions that the Glibc module map lacks, or that only GNU's headers declare.
#include <linux/magic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/vfs.h>
#include <sys/prctl.h>

// prctl is variadic, which Swift can't call. Names longer than 15 bytes are truncated.
static inline void linux_set_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// sync_file_range(2): starts writing a file's dirty pages without waiting. Declared here, since _GNU_SOURCE would change types of
// the C library to differ from those in the Glibc module.
int sync_file_range(int, off_t, off_t, unsigned int);
static inline int linux_start_writing_back(int file) { return sync_file_range(file, 0, 0, 2 /* SYNC_FILE_RANGE_WRITE */); }

// fallocate(2), likewise: frees the disk space of a range of a file, which then reads as zeros. Returns 0 or -1 with errno.
int fallocate(int, int, off_t, off_t);
static inline int linux_punch_hole(int file, off_t offset, off_t count) {
  return fallocate(file, 3 /* FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE */, offset, count);
}

// memmem(3), likewise: takes linear time for any pattern.
void *memmem(const void *, size_t, const void *, size_t);
static inline const void *linux_find(const void *bytes, size_t count, const void *part, size_t part_count) {
  return memmem(bytes, count, part, part_count);
}
