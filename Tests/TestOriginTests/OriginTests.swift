import Glibc
import TestOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OriginTests {
  @Test func `the origin serves its routes and records requests`() throws {
    let origin = try Origin(["/a.jpg": .body(bytes("hello"), type: "image/jpeg", headers: ["ETag": "\"1\""])])
    let client = try RawClient(port: origin.port)

    client.request("/a.jpg?width=1", headers: "X-Two: 1\r\nx-two: 2\r\n")
    let head = try client.readHead()
    #expect(head == "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: 5\r\nETag: \"1\"\r\n\r\n")
    #expect(try client.read(5) == "hello")
    client.request("/missing", headers: "Connection: close\r\n")
    let (rest, ending) = client.readAll()
    #expect(rest == "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    #expect(ending == .closed)

    #expect(origin.requests.map(\.target) == ["/a.jpg?width=1", "/missing"])
    #expect(origin.requests.map(\.sequence) == [1, 2])
    #expect(origin.requests.map(\.connection) == [1, 1])
    #expect(origin.requests[0].headers.all("X-TWO") == ["1", "2"])
    #expect(origin.count(of: "/a.jpg") == 1)
    #expect(origin.count(of: "/a.jpg?width=2") == 0)
    #expect(origin.connectionsOpened == 1)
  }

  @Test func `a HEAD request gets no body`() throws {
    let origin = try Origin(["/a": .body(bytes("hello"))])
    let client = try RawClient(port: origin.port)
    client.request("/a", method: "HEAD", headers: "Connection: close\r\n")
    #expect(client.readAll().text == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
  }

  @Test func `a sequence counts by path and repeats its last behaviour`() throws {
    let origin = try Origin(fallback: .sequence([.status(503), .status(200)]))
    #expect(try ["/a", "/a", "/b", "/a"].map { try status($0, origin) } == [503, 200, 503, 200])
    origin.set("/a", .sequence([.status(500), .status(204)]))
    #expect(try ["/a", "/a"].map { try status($0, origin) } == [500, 204])
  }

  @Test func `a route with a query takes precedence over its path`() throws {
    let origin = try Origin(["/a": .status(201), "/a?b": .status(202)])
    origin.setFallback { .status($0.method == "GET" ? 410 : 405) }
    #expect(try ["/a?b", "/a?c", "/a", "/c"].map { try status($0, origin) } == [202, 201, 201, 410])
  }

  @Test func `chunked bodies and those without a length arrive whole`() throws {
    let origin = try Origin(["/chunked": .chunked([bytes("hel"), bytes("lo")]), "/endless": .noLength(bytes("hello"))])
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(try all("/chunked", origin, headers: "Connection: close\r\n").text == head + "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")
    let (text, ending) = try all("/endless", origin)
    #expect(text == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
    #expect(ending == .closed)
  }

  @Test func `requests of one connection are served in order`() throws {
    let origin = try Origin(["/b": .body(bytes("b"))])
    let gate = Gate()
    origin.set("/a", .held(gate, then: .body(bytes("a"))))
    let client = try RawClient(port: origin.port)
    client.request("/a")
    client.request("/b")
    try origin.waitForRequests(2)
    gate.open()
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
    #expect(try client.read(2 * head.utf8.count + 2) == head + "a" + head + "b")
  }

  @Test func `every host listens`() throws {
    let origin = try Origin(fallback: .computed { .body(bytes("\($0.port)")) }, addresses: [.ipv4, .ipv4, .ipv6])
    #expect(Set(origin.ports).count == 3)
    for (host, port) in origin.ports.enumerated() {
      let client = try RawClient(port: port, ipv6: host == 2)
      client.request("/", headers: "Connection: close\r\n")
      #expect(client.readAll().text.hasSuffix("\r\n\r\n\(port)"))
      #expect(origin.peakInFlight(host: host) == 1)
    }
    #expect(origin.url("/x", host: 2) == "http://[::1]:\(origin.ports[2])/x")
    #expect(origin.peakInFlight == 1)
  }

  @Test func `a stopped origin is gone`() throws {
    let origin = try Origin(fallback: .stall)
    let client = try RawClient(port: origin.port)
    client.request("/")
    try origin.waitForInFlight(1)
    origin.stop()
    #expect(client.readAll().ending == .closed)
    #expect(throws: SystemFailure(code: ECONNREFUSED)) { try RawClient(port: origin.port) }
    origin.stop()
  }

  @Test func `a released origin is gone`() throws {
    var origin: Origin? = try Origin(fallback: .stall)
    let client = try RawClient(port: try #require(origin?.port))
    client.request("/")
    try origin?.waitForInFlight(1)
    origin = nil
    #expect(client.readAll().ending == .closed)
  }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The whole response to a request on a new connection.
func all(_ path: String, _ origin: Origin, headers: String = "") throws -> (text: String, ending: RawClient.Ending) {
  let client = try RawClient(port: origin.port)
  client.request(path, headers: headers)
  return client.readAll()
}

/// The status of the response to a request.
func status(_ path: String, _ origin: Origin) throws -> Int? {
  Int(try all(path, origin, headers: "Connection: close\r\n").text.split(separator: " ")[1])
}
