import TestOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct GateTests {
  @Test func `held responses wait for their gate`() async throws {
    let origin = try Origin(fallback: .body(bytes("x")))
    let gate = origin.holdAll()
    let clients = try (0..<3).map { _ in try RawClient(port: origin.port) }
    for client in clients { client.request("/", headers: "Connection: close\r\n") }
    try await gate.waitForWaiting(3)
    #expect(origin.inFlight == 3)
    gate.open()
    for client in clients { #expect(client.readAll().text.hasSuffix("x")) }
    #expect(origin.peakInFlight == 3)
    try await origin.waitForInFlight(0)
  }

  @Test func `a held path doesn't hold others`() async throws {
    let origin = try Origin(fallback: .status(200))
    let gate = origin.hold("/a")
    let client = try RawClient(port: origin.port)
    client.request("/a")
    try await origin.waitForRequests(1, of: "/a")
    #expect(try status("/b", origin) == 200)
    #expect(gate.waiting == 1)
    gate.open()
    #expect(try client.readHead().hasPrefix("HTTP/1.1 200"))
  }

  @Test func `a slow body takes one step per byte`() throws {
    let gate = Gate()
    let origin = try Origin(["/": .slow(bytes("hello"), gate)])
    let client = try RawClient(port: origin.port)
    client.request("/")
    #expect(try client.readHead() == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    for letter in ["h", "e"] {
      try gate.waitForWaiting(1)
      gate.step()
      #expect(try client.read(1) == letter)
    }
    gate.open()
    #expect(try client.read(3) == "llo")
  }

  @Test func `steps release responses in order and skip departed clients`() async throws {
    let gate = Gate()
    let origin = try Origin(fallback: .held(gate, then: .status(200)))
    var clients: [RawClient?] = []
    for count in 1...3 {
      let client = try RawClient(port: origin.port)
      client.request("/\(count)", headers: "Connection: close\r\n")
      clients.append(client)
      try await gate.waitForWaiting(count)
    }
    clients[0] = nil
    try await origin.waitForInFlight(2)
    gate.step()
    #expect(clients[1]?.readAll().text.hasPrefix("HTTP/1.1 200") == true)
    #expect(gate.waiting == 1)
  }

  @Test func `a timeout fails with a message`() async throws {
    let origin = try Origin()
    await #expect {
      try await origin.waitForRequests(1, timeout: .milliseconds(1))
    } throws: {
      "\($0)" == "timed out after 0.001 seconds waiting for 1 requests"
    }
    #expect {
      try Gate().waitForWaiting(1, timeout: .milliseconds(1))
    } throws: {
      "\($0)" == "timed out after 0.001 seconds waiting for 1 before the gate"
    }
  }
}
