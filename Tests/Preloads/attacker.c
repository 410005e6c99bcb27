/* From each thread of the program that preloads it, and of its own name, tries what code in a broken library could do, once the first
   connection began. Appends a line "THREAD: DEED" to the file PREWARM_RECORD for each deed that works, and "THREAD: -" at the end.

   Files outside of the run are in the folder PREWARM_OUTSIDE. No deed lasts: those that could are done by a child, or without an effect. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int record = -1;
static const char *outside;
static atomic_int is_armed;
static __thread int has_attacked;

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("PREWARM_RECORD");
  outside = getenv("PREWARM_OUTSIDE");
  if (outside && path) record = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static int opens(const char *path, int flags) {
  int file = openat(AT_FDCWD, path, flags | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
  return file >= 0;
}

static int works_in_child(int flags, int (*deed)(void)) {
  int status = 1;
  // Not fork, whose handlers wait for locks of other threads.
  pid_t child = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(deed && !deed());
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int executes(void) {
  char *const arguments[] = {"true", NULL};
  execve("/bin/true", arguments, NULL);
  return 0;
}

static int is_traced(void) { return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0; }

static int mounts(void) { return unshare(CLONE_NEWNS) == 0 && mount("none", outside, "tmpfs", 0, NULL) == 0; }

// Whether the kernel looked at the arguments, which are wrong.
static int is_reached(long number) { return syscall(number, -1, -1, 0, 0, 0) >= 0 || errno != EPERM; }

static int reads_parent(void) {
  char byte;
  struct iovec own = {&byte, 1}, other = {&record, 1};
  return process_vm_readv(getppid(), &own, 1, &other, 1, 0) == 1 || errno == EFAULT;
}

static int listens(void) {
  int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int done = bind(server, (struct sockaddr *)&address, sizeof address) == 0;
  done = listen(server, 1) == 0 || done;
  close(server);
  return done;
}

static int has_socket(int family, int type, int protocol) {
  int descriptor = socket(family, type | SOCK_CLOEXEC, protocol);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

static void attack(void) {
  char thread[16], secret[4096], new[4096], line[64];
  prctl(PR_GET_NAME, thread);
  snprintf(secret, sizeof secret, "%s/secret", outside);
  snprintf(new, sizeof new, "%s/new-%d", outside, gettid());
#define TRY(name, deed) \
  if (deed) { \
    int length = snprintf(line, sizeof line, "%s: %s\n", thread, name); \
    if (write(record, line, (size_t)length) != length) abort(); \
  }
  TRY("reads a secret", opens(secret, O_RDONLY));
  TRY("reads /etc/shadow", opens("/etc/shadow", O_RDONLY));
  TRY("lists a folder", opens(outside, O_RDONLY | O_DIRECTORY));
  TRY("writes a file", opens(secret, O_WRONLY));
  TRY("makes a file", opens(new, O_WRONLY | O_CREAT));
  TRY("makes a file in /tmp", opens("/tmp", O_TMPFILE | O_WRONLY));
  TRY("removes a file", unlink(new) == 0);
  TRY("makes a folder", mkdir(new, 0700) == 0 && rmdir(new) == 0);
  TRY("cuts a file", truncate(secret, 6) == 0);
  TRY("changes a mode", chmod(secret, 0600) == 0);
  TRY("executes", works_in_child(0, executes));
  TRY("traces", works_in_child(0, is_traced));
  TRY("reads its parent", reads_parent());
  TRY("signals its parent", kill(getppid(), 0) == 0);
  TRY("unshares", unshare(0) == 0);
  TRY("makes a namespace", works_in_child(CLONE_NEWUTS, NULL));
  TRY("makes a namespace by clone3", is_reached(SYS_clone3) && errno != ENOSYS);
  TRY("mounts", works_in_child(0, mounts));
  TRY("clones a mount", opens("/", O_PATH) && syscall(SYS_open_tree, AT_FDCWD, "/", O_CLOEXEC) >= 0);
  TRY("loads BPF", is_reached(SYS_bpf));
  TRY("uses io_uring", is_reached(SYS_io_uring_setup));
  TRY("handles faults", is_reached(SYS_userfaultfd));
  TRY("watches the processor", is_reached(SYS_perf_event_open));
  TRY("has keys", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1) >= 0 || errno != EPERM);
  TRY("listens", listens());
  TRY("talks to services", has_socket(AF_UNIX, SOCK_STREAM, 0));
  TRY("talks to the firewall", has_socket(AF_NETLINK, SOCK_RAW, 12));
  TRY("sends packets", has_socket(AF_PACKET, SOCK_RAW, 0));
  TRY("-", 1);
#undef TRY
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
  if (record >= 0) is_armed = 1;
  return (int)syscall(SYS_connect, socket, address, length);
}

static void attack_once(void) {
  if (!is_armed || has_attacked) return;
  has_attacked = 1;
  int error = errno;
  attack();
  errno = error;
}

void __libc_free(void *);

/* Called by every thread that works. */
void free(void *memory) {
  attack_once();
  __libc_free(memory);
}

/* A thread that had no work may free nothing before its end. */
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
  static int (*_Atomic next)(pthread_cond_t *, pthread_mutex_t *);
  if (!next) next = dlsym(RTLD_NEXT, "pthread_cond_wait");
  int status = next(condition, mutex);
  attack_once();
  return status;
}
