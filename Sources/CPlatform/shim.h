// System calls that differ between Linux and macOS, and those that the C library's Swift module lacks, or that only GNU's headers
// declare. Nothing else in the library depends on the system. On macOS it is not tested.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// What a poller watches a descriptor for.
enum { SYSTEM_READABLE = 1, SYSTEM_WRITABLE = 2 };

// A watched descriptor with events; errors and hang-ups count as readable.
struct system_event {
  int descriptor;
  int what;
};

#ifdef __linux__

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/vfs.h>

// These are declared here, since _GNU_SOURCE would change types of the C library to differ from those in its Swift module.
int sync_file_range(int, off_t, off_t, unsigned int);
int fallocate(int, int, off_t, off_t);
int mincore(void *, size_t, unsigned char *);
void *memmem(const void *, size_t, const void *, size_t);

// A poller: epoll(7). Returns its descriptor, or -1 with errno.
static inline int system_poller(void) { return epoll_create1(EPOLL_CLOEXEC); }

// Watches a descriptor for those events, in place of earlier ones; 0: no longer. Returns 0, or -1 with errno: ENOENT if one that isn't
// watched is to be removed, EBADF if it is closed.
static inline int system_watch(int poller, int descriptor, int what) {
  struct epoll_event event = {0};
  event.data.fd = descriptor;
  if (what & SYSTEM_READABLE) event.events |= EPOLLIN;
  if (what & SYSTEM_WRITABLE) event.events |= EPOLLOUT;
  if (what == 0) return epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, &event);
  if (epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &event) == 0) return 0;
  return errno == ENOENT ? epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) : -1;
}

// Waits for events, below 0 without limit. Returns their number, at most `limit` and 256, or -1 with errno.
static inline int system_wait(int poller, struct system_event *events, int limit, int milliseconds) {
  struct epoll_event ready[256];
  int count = epoll_wait(poller, ready, limit < 256 ? limit : 256, milliseconds);
  for (int index = 0; index < count; index++) {
    events[index].descriptor = ready[index].data.fd;
    events[index].what = (ready[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? SYSTEM_READABLE : 0)
                       | (ready[index].events & EPOLLOUT ? SYSTEM_WRITABLE : 0);
  }
  return count;
}

// A descriptor that a poller sees as readable from a signal until a reset: eventfd(2). Returns -1 with errno if there is none left.
static inline int system_wake_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline void system_wake_signal(int descriptor) {
  uint64_t one = 1;
  // A lost signal would block a thread forever. EAGAIN means that the counter is full, so the thread is awake already.
  while (write(descriptor, &one, sizeof one) < 0 && errno != EAGAIN && errno != EBADF) {}
}

static inline void system_wake_reset(int descriptor) {
  uint64_t count;
  // If the read fails, the thread merely wakes once more.
  (void)!read(descriptor, &count, sizeof count);
}

// Opens a socket that programs started by this one don't inherit.
static inline int system_socket(int family, int type, int protocol) { return socket(family, type | SOCK_CLOEXEC, protocol); }

// Closes a connection whose sent bytes aren't acknowledged for that time.
static inline void system_limit_silence(int socket, unsigned int milliseconds) {
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

// Names the calling thread; longer names than 15 bytes are truncated.
static inline void system_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// Kills this process when the thread ends that started it (prctl(2), PR_SET_PDEATHSIG).
static inline void system_end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

// Starts writing a file's dirty pages without waiting.
static inline void system_start_writing_back(int file) { sync_file_range(file, 0, 0, 2 /* SYNC_FILE_RANGE_WRITE */); }

// Writes a file's data durably. Returns 0, or -1 with errno.
static inline int system_sync_data(int file) { return fdatasync(file); }

// Frees the disk space of a range of a file, which then reads as zeros. Returns 0, or -1 with errno.
static inline int system_punch_hole(int file, off_t offset, off_t count) {
  return fallocate(file, 3 /* FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE */, offset, count);
}

// Starts reading a range of a file.
static inline void system_will_need(int file, off_t offset, off_t count) {
  posix_fadvise(file, offset, count, POSIX_FADV_WILLNEED);
}

// When a file was last modified.
static inline struct timespec system_modified(const struct stat *status) { return status->st_mtim; }

// The magic number of an open file's file system (statfs(2)); 0 if it is unknown.
static inline uint32_t system_file_system(int file) {
  struct statfs status;
  return fstatfs(file, &status) == 0 ? (uint32_t)status.f_type : 0;
}

// Maps zeros that take no memory until they are written; NULL if there are no addresses for them.
static inline void *system_map_zeros(size_t size) {
  void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return NULL;
  // With huge pages, each written part would take 2 MiB.
  madvise(start, size, MADV_NOHUGEPAGE);
  return start;
}

#else

#include <stdlib.h>
#include <string.h>
#include <sys/event.h>
#include <sys/mount.h>
#include <sys/param.h>

static inline int system_poller(void) { return kqueue(); }

static inline int system_watch(int poller, int descriptor, int what) {
  struct kevent changes[2];
  EV_SET(&changes[0], descriptor, EVFILT_READ, what & SYSTEM_READABLE ? EV_ADD : EV_DELETE, 0, 0, NULL);
  EV_SET(&changes[1], descriptor, EVFILT_WRITE, what & SYSTEM_WRITABLE ? EV_ADD : EV_DELETE, 0, 0, NULL);
  for (int index = 0; index < 2; index++) {
    // A filter that isn't set can't be deleted, which is as wanted.
    if (kevent(poller, &changes[index], 1, NULL, 0, NULL) < 0 && (changes[index].flags & EV_ADD || errno != ENOENT)) return -1;
  }
  return 0;
}

static inline int system_wait(int poller, struct system_event *events, int limit, int milliseconds) {
  struct kevent ready[256];
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  int count = kevent(poller, NULL, 0, ready, limit < 256 ? limit : 256, milliseconds < 0 ? NULL : &time);
  for (int index = 0; index < count; index++) {
    events[index].descriptor = (int)ready[index].ident;
    events[index].what = ready[index].filter == EVFILT_WRITE ? SYSTEM_WRITABLE : SYSTEM_READABLE;
  }
  return count;
}

// A queue with one event of its own, which other queues can watch.
static inline int system_wake_create(void) {
  int queue = kqueue();
  struct kevent event;
  EV_SET(&event, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
  if (queue >= 0) kevent(queue, &event, 1, NULL, 0, NULL);
  return queue;
}

static inline void system_wake_signal(int descriptor) {
  struct kevent event;
  EV_SET(&event, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
  kevent(descriptor, &event, 1, NULL, 0, NULL);
}

static inline void system_wake_reset(int descriptor) {
  struct kevent event;
  struct timespec none = {0, 0};
  kevent(descriptor, NULL, 0, &event, 1, &none);
}

static inline int system_socket(int family, int type, int protocol) {
  int descriptor = socket(family, type, protocol);
  if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

static inline void system_limit_silence(int socket, unsigned int milliseconds) {
  int seconds = (int)(milliseconds / 1000) + 1;
  setsockopt(socket, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, &seconds, sizeof seconds);
}

static inline void system_name_thread(const char *name) { pthread_setname_np(name); }

static inline void system_end_with_parent(void) {}

static inline void system_start_writing_back(int file) { (void)file; }

static inline int system_sync_data(int file) { return fcntl(file, F_FULLFSYNC); }

static inline int system_punch_hole(int file, off_t offset, off_t count) {
  struct fpunchhole hole = {0, 0, offset, count};
  return fcntl(file, F_PUNCHHOLE, &hole);
}

static inline void system_will_need(int file, off_t offset, off_t count) {
  struct radvisory advice = {offset, (int)count};
  fcntl(file, F_RDADVISE, &advice);
}

static inline struct timespec system_modified(const struct stat *status) { return status->st_mtimespec; }

// Any network file system has the number of NFS.
static inline uint32_t system_file_system(int file) {
  struct statfs status;
  return fstatfs(file, &status) == 0 && !(status.f_flags & MNT_LOCAL) ? 0x6969 : 0;
}

static inline void *system_map_zeros(size_t size) {
  void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  return start == MAP_FAILED ? NULL : start;
}

#endif

// Whether a page of a file is in memory.
static inline int system_is_resident(int file, off_t offset, size_t size) {
  void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, file, offset);
  if (page == MAP_FAILED) return 0;
  // Some systems declare it as signed.
  unsigned char state = 0;
  int status = mincore(page, size, (void *)&state);
  munmap(page, size);
  return status == 0 && (state & 1);
}

// The first place of a part in bytes, in linear time for any part; NULL if there is none.
static inline const void *system_find(const void *bytes, size_t count, const void *part, size_t part_count) {
  return memmem(bytes, count, part, part_count);
}
