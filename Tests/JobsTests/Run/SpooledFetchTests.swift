import Glibc
import Testing

@testable import Jobs

@Suite struct SpooledFetchTests {
  @Test func `without a free descriptor a fetch fails with a message`() async {
    // In its own process, since the limit applies to the whole process.
    await #expect(processExitsWith: .success) {
      var limit = rlimit(rlim_cur: 0, rlim_max: 0)
      precondition(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      limit.rlim_cur = 0
      precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      do {
        _ = try SpooledFetch(spoolDirectory: "/") {}
        exit(1)
      } catch {
        exit(String(describing: error).contains("ulimit -n") ? 0 : 2)
      }
    }
  }
}
