#define _GNU_SOURCE
#include "CConfinement.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Landlock's numbers and structures (man 7 landlock, man 2 landlock_create_ruleset), since the headers of Debian 12 lack those of later
// versions, and glibc has no functions for the calls. The numbers are the same on all machines.
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };
enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum {
  WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3, REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5, MAKE_DIR = 1 << 7,
  MAKE_REG = 1 << 8,
  // Version 2
  REFER = 1 << 13,
  // Version 3
  TRUNCATE = 1 << 14,
  // Version 5
  IOCTL_DEV = 1 << 15,
};
// Version 4
enum { BIND_TCP = 1 };
// Version 6
enum { SCOPE_ABSTRACT_UNIX_SOCKET = 1, SCOPE_SIGNAL = 2 };

struct ruleset {
  uint64_t files, ports, scopes;
};

struct path_rule {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

int confinement_landlock_version(void) {
  long version = syscall(CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
  // Version 1 forbids every move between folders, by which the cache stores large bodies.
  return version < 2 ? 0 : (int)version;
}

static uint64_t rights(int uses, bool is_folder) {
  uint64_t rights = 0;
  if (uses & CONFINEMENT_READ) rights |= READ_FILE | READ_DIR;
  if (uses & CONFINEMENT_WRITE) rights |= WRITE_FILE | TRUNCATE;
  if (uses & CONFINEMENT_NAME) rights |= MAKE_REG | REMOVE_FILE;
  if (uses & CONFINEMENT_ARRANGE) rights |= MAKE_DIR | REMOVE_DIR | REFER;
  if (uses & CONFINEMENT_REMOVE_FOLDER) rights |= REMOVE_DIR;
  return is_folder ? rights : rights & (READ_FILE | WRITE_FILE | TRUNCATE);
}

// Paths that can't be opened, or are of a file system inside the kernel, such as a pipe, are left out: nothing is allowed by that.
static void add_rule(int ruleset, struct confinement_path path, uint64_t handled) {
  int file = open(path.path, O_PATH | O_CLOEXEC);
  struct stat status;
  if (file < 0) return;
  if (fstat(file, &status) == 0) {
    struct path_rule rule = {rights(path.uses, S_ISDIR(status.st_mode)) & handled, file};
    syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0);
  }
  // A rule is about an inode, and /proc makes new ones unless the folder stays open.
  if (strncmp(path.path, "/proc/", 6) != 0) close(file);
}

int confinement_limit_files(const struct confinement_path *paths, size_t count) {
  int version = confinement_landlock_version();
  if (version == 0) return ENOSYS;
  int rights = version < 3 ? 14 : version < 5 ? 15 : 16;
  struct ruleset handled = {(1 << rights) - 1, BIND_TCP, SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL};
  // Connections aren't limited to ports, since URLs and redirects may have any. Older kernels know a shorter structure.
  size_t size = version < 4 ? 8 : version < 6 ? 16 : 24;
  int ruleset = (int)syscall(CREATE_RULESET, &handled, size, 0);
  if (ruleset < 0) return errno;
  for (size_t index = 0; index < count; index++) add_rule(ruleset, paths[index], handled.files);
  int code = 0;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(RESTRICT_SELF, ruleset, 0) != 0) code = errno;
  close(ruleset);
  return code;
}

// By what they would be used for: other programs; other processes; other file systems, namespaces and modes of files, which Landlock
// doesn't limit; the kernel's own parts, and interfaces that often had holes; incoming connections.
static const char *const forbidden[] = {
  "execve", "execveat", "uselib",
  "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp", "personality",
  "mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "pivot_root",
  "chroot", "setns", "unshare", "open_by_handle_at", "mknod", "mknodat", "truncate", "truncate64", "chmod", "fchmod", "fchmodat", "chown",
  "fchown", "lchown", "fchownat", "chown32", "fchown32", "lchown32", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
  "fremovexattr", "quotactl", "quotactl_fd", "swapon", "swapoff", "acct", "fanotify_init",
  "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "add_key", "request_key", "keyctl",
  "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "syslog", "sethostname", "setdomainname",
  "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm", "modify_ldt", "vhangup", "nfsservctl", "lookup_dcookie",
  "listen", "accept", "accept4",
};

static int add_rules(scmp_filter_ctx filter, bool local_sockets) {
  // Otherwise kernels before 5.16 turn off speculation in all filtered processes, which slows down decoding.
  seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
  // System calls of another machine, such as 32-bit ones, would pass by.
  seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  int code = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
#define FORBID(error, call, ...) \
  if (code == 0) code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), call, __VA_ARGS__)
  for (size_t index = 0; index < sizeof forbidden / sizeof *forbidden; index++) {
    int call = seccomp_syscall_resolve_name(forbidden[index]);
    if (call != __NR_SCMP_ERROR) FORBID(EPERM, call, 0);
  }
  // Forks and threads are allowed, new namespaces aren't. A filter can't see the flags of clone3; without it, glibc uses clone.
  static const uint64_t namespaces[] = {
    CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
  };
  FORBID(ENOSYS, SCMP_SYS(clone3), 0);
  for (size_t index = 0; index < sizeof namespaces / sizeof *namespaces; index++) {
    FORBID(EPERM, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[index], namespaces[index]));
  }
  // These would type into the shell behind the terminal. The kernel ignores the upper half of the number.
  FORBID(EPERM, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSTI));
  FORBID(EPERM, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCLINUX));
  // Landlock doesn't limit local sockets by path, and D-Bus or Docker would start programs. The resolver asks for addresses by netlink.
  for (int family = 0; family < AF_NETLINK; family++) {
    if (family == AF_INET || family == AF_INET6 || (family == AF_UNIX && local_sockets)) continue;
    FORBID(EAFNOSUPPORT, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, (uint64_t)family));
  }
  FORBID(EAFNOSUPPORT, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
  FORBID(EAFNOSUPPORT, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_NE, 0));
#undef FORBID
  return code;
}

int confinement_limit_calls(bool local_sockets) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == NULL) return ENOMEM;
  int code = add_rules(filter, local_sockets);
  if (code == 0) code = seccomp_load(filter);
  seccomp_release(filter);
  // A core dump would have the secrets of jobs.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return -code;
}

void confinement_try(bool *files, bool *calls) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    bool is_limited = confinement_limit_files(NULL, 0) == 0 && open("/", O_RDONLY) < 0;
    bool is_filtered = confinement_limit_calls(false) == 0 && unshare(0) != 0;
    _exit(is_limited | is_filtered << 1);
  }
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  int found = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  *files = found & 1;
  *calls = found & 2;
}
