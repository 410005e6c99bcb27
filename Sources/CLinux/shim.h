// Linux calls that the Glibc module map leaves out, or that only GNU's headers declare.
#include <linux/magic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/vfs.h>
#include <sys/prctl.h>

// prctl is variadic, which Swift cannot call. A name longer than 15 bytes is cut.
static inline void linux_set_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// sync_file_range(2): starts to write a file's dirty pages and does not wait for them. Declared here, since _GNU_SOURCE would give
// types of the C library another shape than they have in the Glibc module.
int sync_file_range(int, off_t, off_t, unsigned int);
static inline int linux_start_writing_back(int file) { return sync_file_range(file, 0, 0, 2 /* SYNC_FILE_RANGE_WRITE */); }

// memmem(3), likewise: linear, whatever is searched for.
void *memmem(const void *, size_t, const void *, size_t);
static inline const void *linux_find(const void *bytes, size_t count, const void *part, size_t part_count) {
  return memmem(bytes, count, part, part_count);
}
