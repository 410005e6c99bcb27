#define _GNU_SOURCE
#include "CConfinement.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

bool worker_connect(int sockets[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0; }

int worker_spawn(const char *program, const char *argument, pid_t *process) {
  // A library that a test or a package needs is needed there, too.
  static const char *const kept[] = {"LD_LIBRARY_PATH", "LD_PRELOAD"};
  char *environment[3] = {NULL};
  for (size_t index = 0, count = 0; index < sizeof kept / sizeof *kept; index++) {
    const char *value = getenv(kept[index]);
    if (value != NULL && asprintf(&environment[count], "%s=%s", kept[index], value) >= 0) count++;
  }
  int sockets[2] = {-1, -1}, error = worker_connect(sockets) ? 0 : errno;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (error == 0) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_adddup2(&actions, sockets[1], 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    char *arguments[] = {"prewarm", (char *)argument, NULL};
    error = posix_spawn(process, program, &actions, &attributes, arguments, environment);
    close(sockets[1]);
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  free(environment[0]);
  free(environment[1]);
  if (error == 0) return sockets[0];
  if (sockets[0] >= 0) close(sockets[0]);
  errno = error;
  return -1;
}

typedef union {
  char bytes[CMSG_SPACE(sizeof(int))];
  struct cmsghdr aligned;
} OneDescriptor;

bool worker_send(int socket, const void *bytes, size_t count, int descriptor) {
  struct iovec part = {(void *)bytes, count};
  OneDescriptor control = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (descriptor >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do { sent = sendmsg(socket, &message, MSG_NOSIGNAL); } while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)count;
}

ssize_t worker_receive(int socket, void *bytes, size_t room, int *descriptor) {
  struct iovec part = {bytes, room};
  OneDescriptor control;
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (descriptor != NULL) {
    *descriptor = -1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
  }
  ssize_t received;
  do { received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC); } while (received < 0 && errno == EINTR);
  if (received < 0) return -1;
  struct cmsghdr *header = descriptor == NULL ? NULL : CMSG_FIRSTHDR(&message);
  if (header != NULL && header->cmsg_type == SCM_RIGHTS) memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
  return message.msg_flags & MSG_TRUNC ? 0 : received;
}

bool worker_write(int file, const void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t written = write(file, (const char *)bytes + done, count - done);
    if (written <= 0) return false;
    done += (size_t)written;
  }
  return true;
}

int worker_file(const void *bytes, size_t count) {
  int file = memfd_create("prewarm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  bool is_filled = bytes == NULL ? ftruncate(file, (off_t)count) == 0 : worker_write(file, bytes, count);
  int seals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL | (bytes == NULL ? 0 : F_SEAL_WRITE);
  if (is_filled && fcntl(file, F_ADD_SEALS, seals) == 0) return file;
  int error = errno;
  close(file);
  errno = error;
  return -1;
}

pid_t worker_fork(int socket) {
  pid_t process = fork();
  if (process != 0) return process;
  if (dup2(socket, 0) != 0 || syscall(SYS_close_range, 3, ~0u, 0) != 0) _exit(1);
  return 0;
}

// The bytes of addresses that this process uses (proc_pid_statm(5)).
static size_t mapped_bytes(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL) return 1ul << 30;
  if (fscanf(file, "%lu", &pages) != 1) pages = 1ul << 18;
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!write(file, text, strlen(text));
  close(file);
}

// Kills a process that reaches outside of itself. Other calls that aren't listed fail as in an older kernel, since a newer C library may
// try them.
static void filter_calls(void) {
#define CALL(name) SCMP_SYS(name)
  static const int allowed[] = {
    CALL(read), CALL(write), CALL(writev), CALL(recvmsg), CALL(sendmsg), CALL(close), CALL(munmap), CALL(mremap), CALL(madvise),
    CALL(brk), CALL(futex), CALL(lseek), CALL(exit), CALL(exit_group), CALL(rt_sigreturn), CALL(rt_sigprocmask), CALL(rt_sigaction),
    CALL(sigaltstack), CALL(clock_gettime), CALL(clock_getres), CALL(gettimeofday), CALL(getrandom), CALL(sched_yield),
    CALL(sched_getaffinity), CALL(sysinfo), CALL(gettid), CALL(getpid), CALL(restart_syscall),
  };
  static const int hostile[] = {
    CALL(open), CALL(openat), CALL(openat2), CALL(creat), CALL(unlink), CALL(unlinkat), CALL(rename), CALL(renameat), CALL(renameat2),
    CALL(mkdir), CALL(mkdirat), CALL(link), CALL(linkat), CALL(symlink), CALL(symlinkat), CALL(chmod), CALL(fchmodat), CALL(truncate),
    CALL(socket), CALL(socketpair), CALL(connect), CALL(bind), CALL(execve), CALL(execveat), CALL(fork), CALL(vfork), CALL(kill),
    CALL(tkill), CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(mount), CALL(unshare), CALL(bpf),
    CALL(io_uring_setup), CALL(keyctl), CALL(pidfd_open),
  };
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
  if (filter == NULL) return;
  for (size_t index = 0; index < sizeof allowed / sizeof *allowed; index++) seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[index], 0);
  for (size_t index = 0; index < sizeof hostile / sizeof *hostile; index++) {
    seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, hostile[index], 0);
  }
  const struct scmp_arg_cmp data_only = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC);
  const int maps[] = {CALL(mmap), CALL(mprotect)};
  for (size_t index = 0; index < 2; index++) {
    seccomp_rule_add(filter, SCMP_ACT_ALLOW, maps[index], 1, data_only);
    seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, maps[index], 1, code);
  }
  // Without threads, libraries do their work in one.
  seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, CALL(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  // abort(3) signals its own process.
  seccomp_rule_add(filter, SCMP_ACT_ALLOW, CALL(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
  seccomp_load(filter);
  seccomp_release(filter);
}

void worker_confine(size_t bytes) {
  const struct rlimit no_core = {0, 0}, few_files = {8, 8};
  const size_t most = mapped_bytes() + bytes;
  const struct rlimit memory = {most, most};
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // A handler, such as Swift's, would open files, so that its call seemed to be the crash.
  for (int number = 1; number < SIGRTMIN; number++) signal(number, SIG_DFL);
  // If memory runs out, one image is less than the run.
  write_text("/proc/self/oom_score_adj", "1000");
  // Memory of large images goes back to the system after each.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_NOFILE, &few_files);
  setrlimit(RLIMIT_AS, &memory);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  confinement_limit_files(NULL, 0);
  filter_calls();
}

int worker_end(pid_t process) {
  int status;
  // Nobody has waited for this child, so its number can't be another process's.
  kill(process, SIGKILL);
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

const char *worker_signal(int status, int *number) {
  *number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return *number > 0 ? sigabbrev_np(*number) : NULL;
}

#endif
