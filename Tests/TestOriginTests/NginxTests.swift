import TestOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct NginxTests {
  @Test func `nginx serves a folder and counts requests`() async throws {
    let folder = TemporaryDirectory()
    let paths = SampleImages.writeTree(3, in: folder)
    let nginx = try await Nginx(serving: folder.path)
    let client = try RawClient(port: nginx.port)
    client.request("/\(paths[2])", headers: "Connection: close\r\n")
    let (text, _) = client.readAll()
    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(text.contains("Content-Type: image/jpeg"))
    try await nginx.waitForRequests(1)
    #expect(nginx.requests == ["GET /000/000002.jpg 200"])
  }

  @Test func `nginx reloads with other directives`() async throws {
    let nginx = try await Nginx(serving: TemporaryDirectory().path)
    try await nginx.reload(directives: "location = /gone { return 410; }")
    let client = try RawClient(port: nginx.port)
    client.request("/gone", headers: "Connection: close\r\n")
    #expect(client.readAll().text.hasPrefix("HTTP/1.1 410 Gone\r\n"))
    nginx.stop()
    #expect(throws: SystemFailure.self) { try RawClient(port: nginx.port) }
  }
}
