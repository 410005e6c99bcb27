import Base
import ImageDownloading
import Testing

/// Changes of single options for one request.
struct OptionChangesTests {
  typealias Changes = DownloadOptions.Changes

  /// An option: set by a change, read back, and as applied.
  private struct Row: Sendable {
    let name: String
    let set: @Sendable (inout Changes) -> Void
    let isReadBack: @Sendable (Changes) -> Bool
    let isApplied: @Sendable (DownloadOptions) -> Bool

    init<Value: Hashable & Sendable>(
      _ option: any KeyPath<DownloadOptions, Value> & Sendable,
      _ value: Value,
      _ set: @escaping @Sendable (inout Changes, Value) -> Void
    ) {
      name = "\(option)"
      self.set = { set(&$0, value) }
      isReadBack = { $0.value(of: option) == .some(value) }
      isApplied = { $0[keyPath: option] == value }
    }
  }

  private static let rows: [Row] = [
    Row(\.accept, "image/png") { $0.accept = $1 }, Row(\.accept, nil) { $0.accept = $1 },
    Row(\.userAgent, "x") { $0.userAgent = $1 },
    Row(\.credentials, nil) { $0.credentials = $1 },
    Row(\.credentials, .fixed(Credential(user: "a", password: "b"))) { $0.credentials = $1 },
    Row(\.handlesCookies, true) { $0.handlesCookies = $1 },
    Row(\.allowsInvalidTLSCertificates, false) { $0.allowsInvalidTLSCertificates = $1 },
    Row(\.timeout, .seconds(1)) { $0.timeout = $1 }, Row(\.connectTimeout, .seconds(2)) { $0.connectTimeout = $1 },
    Row(\.stallTimeout, .seconds(3)) { $0.stallTimeout = $1 }, Row(\.retries, 4) { $0.retries = $1 },
    Row(\.backoff, Backoff(initial: .seconds(1), maximum: .seconds(5))) { $0.backoff = $1 },
    Row(\.patience, .long) { $0.patience = $1 }, Row(\.retryAfterMaximum, .seconds(6)) { $0.retryAfterMaximum = $1 },
    Row(\.redirects, 7) { $0.redirects = $1 }, Row(\.acceptStatus, [200, 203]) { $0.acceptStatus = $1 },
    Row(\.acceptContentTypes, nil) { $0.acceptContentTypes = $1 },
    Row(\.acceptContentTypes, ["image/png"]) { $0.acceptContentTypes = $1 }, Row(\.maxBytes, 8) { $0.maxBytes = $1 },
    Row(\.streamAbove, 9) { $0.streamAbove = $1 }, Row(\.chunkBytes, 10) { $0.chunkBytes = $1 },
    Row(\.respectsRobots, true) { $0.respectsRobots = $1 },
    Row(\.requestModifier, nil) { $0.requestModifier = $1 }, Row(\.responseModifier, nil) { $0.responseModifier = $1 },
    Row(\.decryptor, nil) { $0.decryptor = $1 }, Row(\.decryptor, .not) { $0.decryptor = $1 },
    Row(\.connection.httpVersion, .http1) { $0.connection.httpVersion = $1 },
    Row(\.connection.proxy, .environment) { $0.connection.proxy = $1 },
    Row(\.connection.addresses, .publicOnly) { $0.connection.addresses = $1 },
    Row(\.connection.addresses, .any) { $0.connection.addresses = $1 },
    Row(\.connection.tls.caFile, "ca") { $0.connection.tls.caFile = $1 },
    Row(\.connection.tls.caFile, nil) { $0.connection.tls.caFile = $1 },
    Row(\.connection.tls.clientCertificate, "c") { $0.connection.tls.clientCertificate = $1 },
    Row(\.connection.tls.clientKey, "k") { $0.connection.tls.clientKey = $1 },
  ]

  /// Options that differ from each row's value and from the defaults.
  private static let manager = DownloadOptions {
    ($0.accept, $0.userAgent, $0.credentials) = ("image/gif", "m", .fixed(Credential(user: "m", password: "m")))
    ($0.handlesCookies, $0.allowsInvalidTLSCertificates, $0.respectsRobots) = (false, true, false)
    ($0.timeout, $0.connectTimeout, $0.stallTimeout) = (.seconds(91), .seconds(92), .seconds(93))
    ($0.retries, $0.retryAfterMaximum, $0.redirects) = (94, .seconds(96), 97)
    $0.backoff = Backoff(initial: .seconds(2), maximum: .seconds(9))
    ($0.acceptStatus, $0.acceptContentTypes, $0.maxBytes, $0.streamAbove, $0.chunkBytes) = ([299], ["image/gif"], 98, 99, 100)
    $0.requestModifier = RequestModifier(name: "m") { $0 }
    $0.responseModifier = ResponseModifier(name: "m") { $0 }
    $0.decryptor = Decryptor(name: "m") { $0 }
    ($0.connection.httpVersion, $0.connection.proxy) = (.http2, .url("http://m"))
    ($0.connection.tls.caFile, $0.connection.tls.clientCertificate, $0.connection.tls.clientKey) = ("m", "m", "m")
  }

  @Test func `each option is set alone, read back, and applied`() {
    for row in Self.rows {
      let manager = Self.manager.with { if row.name.hasSuffix("addresses") { $0.connection.addresses = .publicOnly } }
      let changes = Changes(row.set)
      #expect(row.isReadBack(changes) && !row.isReadBack(Changes()), "\(row.name)")
      let applied = changes.applied(to: manager)
      #expect(row.isApplied(applied), "\(row.name)")
      // The others stay, which a second row shows in either order.
      for other in Self.rows where other.name != row.name {
        var both = changes
        other.set(&both)
        #expect(other.isApplied(both.applied(to: manager)) && row.isApplied(both.applied(to: manager)))
        #expect(other.isApplied(applied) == other.isApplied(manager), "\(row.name) changes \(other.name)")
      }
    }
    #expect(Changes().applied(to: Self.manager) == Self.manager)
  }

  @Test func `equal changes are equal in any order, and the last one of an option counts`() {
    for row in Self.rows {
      for other in Self.rows where other.name != row.name {
        let changes = Changes {
          row.set(&$0)
          other.set(&$0)
        }
        let turned = Changes {
          other.set(&$0)
          row.set(&$0)
        }
        #expect(changes == turned && changes.hashValue == turned.hashValue && changes != Changes(row.set))
      }
    }
    let twice = Changes {
      $0.retries = 1
      $0.retries = 2
    }
    #expect(twice == Changes { $0.retries = 2 } && twice != Changes { $0.retries = 1 })
  }

  @Test func `headers are added to the manager's and replace those of the same name, and removed ones aren't sent`() {
    let manager = DownloadOptions {
      $0.headers = [.init("A", "1"), .init("B", "1"), .init("B", "2")]
      $0.removedHeaders = ["C", "D"]
    }
    var changes = Changes()
    changes.headers.append(.init("b", "3"))
    changes.headers.append(.init("c", "4"))
    changes.removedHeaders.append("A")
    #expect(changes.headers.count == 2)
    let applied = changes.applied(to: manager)
    #expect(applied.headers == [.init("A", "1"), .init("b", "3"), .init("c", "4")] && applied.removedHeaders == ["D", "A"])
    #expect(applied.requestValue(ofHeader: "A") == nil && applied.requestValue(ofHeader: "C") == "4")
    #expect(changes != Changes() && Set([changes, changes]).count == 1)
  }
}
