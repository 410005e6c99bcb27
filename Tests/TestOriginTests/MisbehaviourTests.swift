import Glibc
import TestOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MisbehaviourTests {
  @Test func `a truncated body ends early and cleanly`() throws {
    let origin = try Origin(["/": .cut(afterBytes: 3, declared: 5, of: bytes("hello"))])
    let (text, ending) = try all("/", origin)
    #expect(text == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
    #expect(ending == .closed)
    try origin.waitForInFlight(0)
  }

  @Test func `a wrong length sends the whole body`() throws {
    let origin = try Origin(["/": .wrongLength(declared: 3, actual: bytes("hello"))])
    #expect(try all("/", origin).text == "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhello")
  }

  @Test func `a reset breaks the connection`() throws {
    let origin = try Origin(["/at-once": .reset, "/later": .reset(afterBytes: 6, declared: 9, of: bytes("hello"))])
    let (nothing, first) = try all("/at-once", origin)
    #expect(nothing == "")
    #expect(first == .failed(ECONNRESET))
    let (text, second) = try all("/later", origin)
    #expect(text == "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello\0")
    #expect(second == .failed(ECONNRESET))
  }

  @Test func `a closed connection sends nothing`() throws {
    let origin = try Origin(["/": .close])
    let (text, ending) = try all("/", origin)
    #expect(text == "")
    #expect(ending == .closed)
  }

  @Test func `a stalled response stays in flight until the client leaves`() throws {
    let origin = try Origin(["/": .stall(afterBytes: 2, declared: 5, of: bytes("hello"))])
    var client: RawClient? = try RawClient(port: origin.port)
    client?.request("/")
    #expect(try client?.readHead() == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    #expect(try client?.read(2) == "he")
    #expect(origin.inFlight == 1)
    client = nil
    try origin.waitForInFlight(0)
    try origin.waitForOpenConnections(0)
  }

  @Test func `raw bytes are sent unchanged`() throws {
    let origin = try Origin(["/": .raw("HTTP/9.9 what\nno colon\n\n")])
    #expect(try all("/", origin).text == "HTTP/9.9 what\nno colon\n\n")
  }

  @Test func `a refused port refuses connections`() throws {
    let refused = RefusedPort()
    #expect(throws: SystemFailure(code: ECONNREFUSED)) { try RawClient(port: refused.port) }
  }

  @Test func `a black hole never connects`() throws {
    let hole = BlackHole()
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(hole.port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    #expect(result == -1)
    #expect(errno == EINPROGRESS)
    var connected = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    #expect(poll(&connected, 1, 50) == 0)
  }
}
