import Glibc
import Base

/// Finds out whether this machine has no network, as long as no host has responded: then nothing is known about any URL.
struct NetworkFault {
  /// A look-up without a name server takes ten seconds or more, and a few show that none answers.
  private static let lookUpLimit = 3

  private var isNetworkUp = false
  /// Names that no name server could resolve, each looked up here once more, since libcurl doesn't say why it failed.
  private var unresolved: Set<String> = []

  /// A sentence on why no host can be reached; nil if one can be, or if that isn't known.
  private(set) var sentence: String?
  /// Whether that is certain, so that going on is pointless. Without name servers, a slow host may still respond.
  private(set) var isCertain = false

  @inline(__always)
  mutating func note(_ result: EntryResult) {
    if isNetworkUp || result.attempts == 0 || result.outcome == .cancelled { return }
    examine(result.failure)
  }

  private mutating func examine(_ failure: ImageFailure?) {
    guard let reason = failure?.unreachableReason?.direct else {
      // A time limit shows nothing: packets may be lost here or there.
      if failure?.kind != .connect, failure?.kind != .dns { (isNetworkUp, sentence) = (true, nil) }
      return
    }
    switch reason {
    case .unresolved(let name): examine(name: name)
    case .noConnection(_, let cause) where cause == errorSentence(ENETUNREACH): break
    default: (isNetworkUp, sentence) = (true, nil)
    }
    if !isNetworkUp, !Self.hasRoute {
      sentence = "this machine has no network: no route leads to other hosts; nothing is known about the images"
      isCertain = true
    }
  }

  private mutating func examine(name: String) {
    guard unresolved.count < Self.lookUpLimit, !unresolved.contains(name) else { return }
    guard Self.isUnanswered(name) else {
      (isNetworkUp, sentence) = (true, nil)
      return
    }
    unresolved.insert(name)
    sentence = "no name could be resolved, such as \(name); check the name servers of this machine (/etc/resolv.conf)"
  }

  /// Whether no name server gave an answer, rather than the one that the name doesn't exist.
  private static func isUnanswered(_ name: String) -> Bool {
    // RFC 6761, section 6.4: such names never exist.
    if name.hasSuffix(".invalid") { return false }
    var list: UnsafeMutablePointer<addrinfo>?
    defer { if let list { freeaddrinfo(list) } }
    return [EAI_AGAIN, EAI_FAIL].contains(getaddrinfo(name, nil, nil, &list))
  }

  /// Whether there is a route to hosts elsewhere. Connecting a datagram socket looks the route up, and sends nothing.
  private static var hasRoute: Bool {
    // RFC 5737 and RFC 3849: addresses for documentation, which only a default route leads to; 9 is the port that discards.
    ["192.0.2.1", "2001:db8::1"].contains { address in
      var (hints, list): (addrinfo, UnsafeMutablePointer<addrinfo>?) = (addrinfo(), nil)
      (hints.ai_flags, hints.ai_socktype) = (AI_NUMERICHOST, Int32(SOCK_DGRAM.rawValue))
      guard getaddrinfo(address, "9", &hints, &list) == 0, let found = list?.pointee else { return false }
      defer { freeaddrinfo(list) }
      let descriptor = socket(found.ai_family, found.ai_socktype, 0)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      return connect(descriptor, found.ai_addr, found.ai_addrlen) == 0
    }
  }
}

extension FailureReason {
  /// The reason without the advice about a proxy.
  fileprivate var direct: FailureReason? {
    if case .unusedProxy(_, let failure) = self { failure.unreachableReason } else { self }
  }
}
