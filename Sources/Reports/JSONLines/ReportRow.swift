import ImagePrimitives

/// A row of a JSON Lines report, valid as long as its line.
struct ReportRow {
  let value: JSONValue

  init(_ value: JSONValue) { self.value = value }

  /// The URL's bytes.
  func url() throws(JSONError) -> UnsafeRawBufferPointer { try value.required("url").bytes() }

  /// The bytes of the manifest's path; empty where it is not told.
  func manifest() throws(JSONError) -> UnsafeRawBufferPointer {
    try value.value("manifest")?.bytes() ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// The line in the manifest; 0 where it has none.
  func line() throws(JSONError) -> UInt64 { try value.count("line") }

  func priority() throws(JSONError) -> Priority { try value.named("priority") { Priority(name: $0) } ?? .normal }

  /// The way in which it was asked for.
  func variant() throws(JSONError) -> ReportedVariant {
    ReportedVariant(name: try value.string("variant"), edge: try value.string("edge"))
  }

  func outcome() throws(JSONError) -> Outcome {
    guard let outcome = try value.named("outcome", { Outcome.byName[$0] }) else { throw JSONError("the row has no outcome") }
    return outcome
  }

  /// Why it failed, for `failed` and `blacklisted`; nil where the row does not say.
  func failure(_ outcome: Outcome) throws(JSONError) -> Failure? {
    guard outcome == .failed || outcome == .blacklisted, let kind = try value.named("kind", { FailureKind(name: $0) }) else {
      return nil
    }
    var failure = Failure(kind, status: try value.status(), message: try value.string("message") ?? "")
    failure.isTransient = outcome == .failed && failure.mayHeal
    return failure
  }

  /// All that the row tells of how the entry ended.
  func result() throws(JSONError) -> EntryResult {
    let outcome = try outcome()
    var result = EntryResult(outcome)
    result.format = try value.named("format") { ImageFormat(name: $0) }
    result.isShared = try value.boolean("shared") ?? false
    result.remoteCache = try value.named("remote_cache") { RemoteCacheStatus(rawValue: $0) }
    result.attempts = UInt32(clamping: try value.count("attempts"))
    result.width = UInt32(clamping: try value.count("width"))
    result.height = UInt32(clamping: try value.count("height"))
    result.bytes = try value.count("bytes")
    result.storedBytes = try value.value("stored_bytes")?.count()
    // Rows do not tell what came over the network; of what was fetched whole in one go it is the body.
    if outcome == .downloaded || outcome == .checked, result.attempts > 0 { result.receivedBytes = result.bytes }
    if let milliseconds = try value.value("duration_ms")?.number() {
      // Rows tell microseconds; no transfer takes as long as a month.
      result.durationNanoseconds = UInt64((min(milliseconds, 2.5e9) * 1000).rounded()) * 1000
    }
    result.checksum = try checksum()
    result.details = try details(outcome)
    return result
  }

  /// The hash of the body.
  func checksum() throws(JSONError) -> Checksum? {
    guard let value = try value.value("body_hash") else { return nil }
    guard let checksum = Checksum(hexadecimal: try value.bytes()) else { throw value.problem("is no hash of 32 digits") }
    return checksum
  }

  private func details(_ outcome: Outcome) throws(JSONError) -> EntryResult.Details? {
    let failure = try failure(outcome)
    let finalURL = try value.string("final_url")
    let contentType = try value.string("content_type")
    var warnings: [String] = []
    for warning in try value.elements("warnings") { warnings.append(try warning.string()) }
    if failure == nil, finalURL == nil, contentType == nil, warnings.isEmpty { return nil }
    return EntryResult.Details(
      failure: failure,
      isBlacklisted: outcome == .blacklisted,
      finalURL: finalURL,
      contentType: contentType,
      warnings: warnings
    )
  }
}

extension Outcome {
  fileprivate static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
}

extension Failure {
  /// Whether a failure of that kind and status may heal by itself, which rows do not tell: the contract's table. What TLS refused
  /// counts as lasting, since a certificate does not heal.
  fileprivate var mayHeal: Bool {
    switch kind {
    case .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown: true
    case .httpStatus:
      switch status ?? 0 {
      case 408, 425, 429, 500...599: true
      default: false
      }
    default: false
    }
  }
}
