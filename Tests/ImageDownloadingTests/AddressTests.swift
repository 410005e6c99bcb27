import CTestResolver
import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Which addresses are public, and that the `publicOnly` rule rejects all others.
struct AddressTests {
  @Test(
    arguments: [
      "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255",
      "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.8", "192.0.0.11", "192.0.0.170",
      "192.0.0.255", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.7",
      "203.0.113.255", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255", "::", "::1", "::8.8.8.8",
      "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:0:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::192.168.1.1", "64:ff9b:1::808:808",
      "64:ff9b:0:1::1", "100::1", "100:0:0:1::1", "2001::1", "2001:1::4", "2001:2::1", "2001:10::1", "2001:1ff:ffff::1",
      "2001:db8::1", "2002:7f00:1::1", "2002:c0a8:101::1", "3fff::1", "3fff:fff:ffff::1", "5f00::1", "fc00::1", "fdff::1",
      "fe80::1", "febf::1", "fec0::1", "ff02::1", "4000::1", "e000::1", "1::1",
    ]
  )
  func `every block of IANA's special-purpose registries is not public, from first to last address`(text: String) {
    #expect(!IPAddressRules.isPublic(text))
  }

  @Test(
    arguments: [
      "1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
      "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.0.9", "192.0.0.10", "192.0.1.0",
      "192.0.3.0", "192.31.196.1", "192.52.193.1", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
      "192.175.48.1", "198.17.255.255", "198.20.0.0", "203.0.114.0", "223.255.255.255", "2606:4700::1111", "::ffff:8.8.8.8",
      "64:ff9b::808:808", "2001:1::1", "2001:1::2", "2001:1::3", "2001:3::1", "2001:4:112::1", "2001:20::1", "2001:2f:ffff::1",
      "2001:30::1", "2001:200::1", "2002:808:808::1", "2620:4f:8000::1", "3ffe::1", "2000::1",
    ]
  )
  func `addresses next to those blocks, or exempt within them, are public`(text: String) {
    #expect(IPAddressRules.isPublic(text))
  }

  private let publicOnly = DownloadOptions.forTests(connection: .with(addresses: .publicOnly), retries: 2)

  @Test(
    arguments: [
      ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"),
      ("0x7f.1", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("[::1]", "::1"), ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
      ("[0:0:0:0:0:ffff:7f00:1]", "::ffff:127.0.0.1"), ("localhost", nil), ("0", "0.0.0.0"),
    ] as [(String, String?)]
  )
  func `a loopback address is rejected in any notation`(host: String, address: String?) async throws {
    let origin = try Origin(fallback: .body([1]))
    let written = "http://\(host):\(origin.port)/a"
    let end = try await Fetcher().fetch(String(decoding: normalized(written), as: UTF8.self), options: publicOnly)
    let failure = try #require(end.failure)
    #expect(failure.kind == .refusedAddress && !failure.isTransient && end.summary.attempts == 1)
    if let address {
      #expect(failure.message.contains(" \(address)"))
      expectGolden(failure.message, for: host)
    }
    #expect(origin.connectionsOpened == 0)
  }

  @Test func `each redirect hop is checked`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    test_resolver_set("hop.test", "11.1.1.1")
    origin.set("/a", .redirect(to: origin.url("/b", host: 1)))
    let end = try await Fetcher().fetch("http://hop.test:\(origin.port)/a", options: publicOnly)
    #expect(end.failure?.kind == .refusedAddress)
    #expect(origin.requests.map(\.path) == ["/a"])
  }

  @Test func `a name that resolves to a public and later to a loopback address is rejected`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    test_resolver_set("rebind.test", "11.1.1.1;127.0.0.1")
    let urls = origin.ports.map { "http://rebind.test:\($0)/a" }
    let ends = try await Fetcher().fetchInTurn(urls.map { ($0, publicOnly) })
    #expect(ends[0].failure == nil && ends[0].image?.body == [1] && ends[0].metrics?.remoteAddress == "11.1.1.1")
    expectGolden(ends[1].failure?.message)
    #expect(origin.requests.map(\.port) == [origin.ports[0]] && origin.connectionsOpened == 1)
  }

  @Test(arguments: ["127.0.0.1,11.1.1.1", "::1,11.1.1.1,10.0.0.1"])
  func `only the public addresses of a name are tried`(addresses: String) async throws {
    let origin = try Origin(fallback: .body([1]))
    let name = "mixed\(addresses.count).test"
    test_resolver_set(name, addresses)
    let end = try await Fetcher().fetchInTurn([("http://\(name):\(origin.port)/a", publicOnly)])[0]
    #expect(end.image?.body == [1] && end.metrics?.remoteAddress == "11.1.1.1")
  }

  @Test func `a name whose public address doesn't respond fails as connect`() async throws {
    let refused = RefusedPort()
    test_resolver_set("gone.test", "127.0.0.1,11.1.1.1")
    let end = try await Fetcher().fetch(
      "http://gone.test:\(refused.port)/a",
      options: .forTests(connection: publicOnly.connection)
    )
    #expect(end.failure?.kind == .connect && end.failure?.isTransient == true)
  }

  @Test func `a connection opened under another rule is rejected before use`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let url = origin.url("/a")
    let ends = try await Fetcher().fetchInTurn([(url, .forTests()), (url, publicOnly), (url, .forTests())])
    #expect(ends.map { $0.failure?.kind } == [nil, .refusedAddress, nil])
    #expect(origin.requests.count == 2)
  }

  @Test func `a connect-to target of a public host is checked too`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let target = DownloadOptions.ConnectTarget(targetHost: "127.0.0.1", targetPort: origin.port)
    let options = DownloadOptions.forTests(connection: .with(connectTo: [target], addresses: .publicOnly))
    #expect(try await Fetcher().fetch("http://public.test/a", options: options).failure?.kind == .refusedAddress)
    #expect(origin.connectionsOpened == 0)
  }

  @Test func `a public name is fetched under the rule, over kept connections too`() async throws {
    let origin = try Origin(fallback: .body([1]))
    test_resolver_set("public.test", "11.1.1.1")
    let url = "http://public.test:\(origin.port)/a"
    let ends = try await Fetcher().fetchInTurn([(url, publicOnly), (url, publicOnly)])
    #expect(ends.allSatisfy { $0.image != nil } && origin.connectionsOpened == 1)
  }

  @Test(arguments: [.environment, .url("http://h:1")] as [DownloadOptions.Proxy])
  func `a proxy cannot be limited to public addresses`(proxy: DownloadOptions.Proxy) {
    #expect(DownloadOptions.Connection.with(proxy: proxy, addresses: .publicOnly).invalidReason?.hasPrefix("addresses: ") == true)
  }
}
