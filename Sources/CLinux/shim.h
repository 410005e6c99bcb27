// Linux calls that the Glibc module map leaves out.
#include <linux/magic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/vfs.h>
#include <sys/prctl.h>

// prctl is variadic, which Swift cannot call. A name longer than 15 bytes is cut.
static inline void linux_set_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
