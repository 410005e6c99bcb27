internal import ImageDownloading
internal import Base
internal import Lists

/// How a job file writes options of one type.
///
/// The ``type`` reads and describes values; the codec converts them to options, and options to text. The text is the YAML of a default
/// and part of a job's digest: it contains no secrets and is the same on every machine.
struct JobCodec<Value>: Sendable {
  let type: JobValueType
  /// Returns the option for a value; nil for a value of another type.
  let value: @Sendable (JobValue) -> Value?
  let text: @Sendable (Value) -> String

  init(_ type: JobValueType, _ value: @escaping @Sendable (JobValue) -> Value?, text: @escaping @Sendable (Value) -> String) {
    (self.type, self.value, self.text) = (type, value, text)
  }

  /// Returns a codec of another type.
  func map<Other>(_ to: @escaping @Sendable (Value) -> Other, from: @escaping @Sendable (Other) -> Value) -> JobCodec<Other> {
    JobCodec<Other>(type, { value($0).map(to) }, text: { text(from($0)) })
  }
}

// MARK: Single values

extension JobCodec<Bool> {
  static var boolean: JobCodec {
    JobCodec(.boolean, { if case .boolean(let value) = $0 { value } else { nil } }, text: { "\($0)" })
  }
}

extension JobCodec<Int> {
  static func integer(_ range: ClosedRange<Int>) -> JobCodec { number(.integer(range)) { "\($0)" } }

  /// Bytes.
  static func size(_ range: ClosedRange<Int>) -> JobCodec { number(.size(range), Quantities.text(size:)) }

  static func pixels(_ range: ClosedRange<Int>) -> JobCodec { number(.pixels(range), Quantities.text(pixels:)) }

  private static func number(_ type: JobValueType, _ text: @escaping @Sendable (Int) -> String) -> JobCodec {
    JobCodec(type, { if case .integer(let value) = $0 { value } else { nil } }, text: text)
  }
}

extension JobCodec<Duration> {
  static func duration(minimum: Duration) -> JobCodec {
    JobCodec(
      .duration(minimum: minimum),
      { if case .duration(let value) = $0 { value } else { nil } },
      text: Quantities.text(duration:)
    )
  }
}

extension JobCodec<Double> {
  /// 0 to 1.
  static var percentage: JobCodec {
    JobCodec(.percentage, { if case .fraction(let value) = $0 { value } else { nil } }, text: Quantities.text(fraction:))
  }

  /// Per second.
  static var rate: JobCodec {
    JobCodec(.rate, { if case .rate(let value) = $0 { value } else { nil } }, text: { "\($0)/s" })
  }
}

extension JobCodec<String> {
  static func text(_ form: JobTextForm) -> JobCodec {
    JobCodec(.text(form), { if case .text(let text) = $0 { text } else { nil } }, text: quotedUnlessWord)
  }

  /// A template of URLs, whose text may have a user name and a password.
  static var template: JobCodec {
    JobCodec(
      .text(.free),
      { if case .text(let text) = $0 { text } else { nil } },
      text: { quotedUnlessWord(maskingCredentials($0)) }
    )
  }

  /// A secret in an environment variable.
  static var secretVariable: JobCodec {
    JobCodec(.secretVariable, { if case .text(let text) = $0 { text } else { nil } }, text: { _ in "***" })
  }
}

extension JobCodec<JobPath> {
  /// Its text is the relative path, or the last part of an absolute path, which is the same on every machine.
  static var path: JobCodec {
    JobCodec(
      .text(.path),
      { if case .path(let path) = $0 { path } else { nil } },
      text: { path in
        let name = path.written.hasPrefix("/") ? String(path.written.split(separator: "/").last ?? "") : path.written
        return quotedUnlessWord(name)
      }
    )
  }
}

extension JobCodec<BaseURL> {
  static var webURL: JobCodec {
    JobCodec(.text(.webURL), { if case .webURL(let url) = $0 { url } else { nil } }, text: { quotedUnlessWord($0.shown) })
  }
}

extension JobCodec<URLPattern> {
  static var pattern: JobCodec {
    JobCodec(
      .text(.pattern),
      { if case .pattern(let pattern) = $0 { pattern } else { nil } },
      text: { quotedUnlessWord($0.written) }
    )
  }
}

extension JobCodec<DownloadOptions.ConnectTarget> {
  static var connectTarget: JobCodec {
    JobCodec(
      .connectTarget,
      { if case .connectTarget(let target) = $0 { target } else { nil } },
      text: { quotedUnlessWord($0.text) }
    )
  }
}

// MARK: Words

extension JobCodec where Value: Equatable & Sendable {
  /// One of some words, in this order; `noun` names them with an article, such as `an order`.
  static func words(_ noun: String, _ words: KeyValuePairs<String, Value>) -> JobCodec { choice(noun, words.map { ($0, $1) }) }

  /// One of `values`, by their names.
  static func choice(_ noun: String, _ values: [Value], _ name: (Value) -> String) -> JobCodec {
    choice(noun, values.map { (name($0), $0) })
  }

  static func choice(_ noun: String) -> JobCodec where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    choice(noun, Array(Value.allCases), \.rawValue)
  }

  private static func choice(_ noun: String, _ words: [(String, Value)]) -> JobCodec {
    JobCodec(
      .choice(noun: noun, words: words.map(\.0)),
      { read in if case .word(let word) = read { words.first { $0.0 == word }?.1 } else { nil } },
      text: { value in words.first { $0.1 == value }?.0 ?? "" }
    )
  }

  /// A value, or a word with the meaning of one.
  static func word(_ word: String, means meaning: Value, or other: JobCodec) -> JobCodec {
    JobCodec(
      .either(word: word, other.type),
      { if case .word(word) = $0 { meaning } else { other.value($0) } },
      text: { $0 == meaning ? word : other.text($0) }
    )
  }
}

extension JobCodec {
  /// A value, or a word for none.
  static func or<Wrapped>(_ word: String, _ other: JobCodec<Wrapped>) -> JobCodec where Value == Wrapped? {
    JobCodec(
      .either(word: word, other.type),
      { if case .word(word) = $0 { .some(nil) } else { other.value($0).map { $0 } } },
      text: { $0.map(other.text) ?? word }
    )
  }

  static func orNone<Wrapped>(_ other: JobCodec<Wrapped>) -> JobCodec where Value == Wrapped? { or("none", other) }

  /// A value that is nil if its key is missing.
  static func given<Wrapped>(_ other: JobCodec<Wrapped>) -> JobCodec where Value == Wrapped? {
    JobCodec(other.type, { other.value($0).map { $0 } }, text: { $0.map(other.text) ?? "" })
  }

  /// A word for none, or a section such as `example`.
  static func section<Wrapped>(or word: String, example: String) -> JobCodec where Value == Wrapped? {
    JobCodec(.wordOrSection([word], example: example), { _ in .some(nil) }, text: { $0 == nil ? word : example })
  }
}

// MARK: Several values

extension JobCodec {
  static func list<Item>(of item: JobCodec<Item>) -> JobCodec where Value == [Item] {
    JobCodec(
      .list(of: item.type),
      { if case .list(let items) = $0 { items.compactMap { item.value($0.value) } } else { nil } },
      text: { "[\($0.map(item.text).joined(separator: ", "))]" }
    )
  }

  /// Values by names that the user chooses; `pair` reads one, and `text` writes one.
  static func mapping<Item>(
    of type: JobValueType,
    _ pair: @escaping @Sendable (String, JobValue) -> Item?,
    text: @escaping @Sendable (Item) -> String
  ) -> JobCodec where Value == [Item] {
    JobCodec(
      .mapping(of: type),
      { if case .mapping(let pairs) = $0 { pairs.compactMap { pair($0.name, $0.value) } } else { nil } },
      text: { "{\($0.map(text).joined(separator: ", "))}" }
    )
  }

  /// Values by names of a fixed set; `noun` names them with an article.
  static func limits<Key, Limit>(
    _ noun: String,
    _ keys: [Key],
    _ name: (Key) -> String,
    _ limit: JobCodec<Limit>
  ) -> JobCodec where Value == [Key: Limit], Key: Sendable {
    let named = keys.map { (name($0), $0) }
    return JobCodec(
      .limits(noun: noun, names: named.map(\.0), limit.type),
      { read in
        guard case .mapping(let pairs) = read else { return nil }
        return pairs.reduce(into: [:]) { limits, pair in
          guard let key = named.first(where: { $0.0 == pair.name })?.1 else { return }
          limits[key] = limit.value(pair.value)
        }
      },
      text: { limits in
        let written = named.compactMap { name, key in limits[key].map { "\(name): \(limit.text($0))" } }
        return "{\(written.joined(separator: ", "))}"
      }
    )
  }
}

extension JobCodec<[ClosedRange<Int>]> {
  static func statuses(_ range: ClosedRange<Int>) -> JobCodec {
    JobCodec(
      .statuses(range),
      { if case .ranges(let ranges) = $0 { ranges } else { nil } },
      text: { ranges in
        let written = ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
        return "[\(written.joined(separator: ", "))]"
      }
    )
  }
}

extension JobCodec<[HeaderField]> {
  static var headers: JobCodec {
    JobCodec(.headers(ofVariant: false), { if case .headers(let headers) = $0 { headers } else { nil } }, text: names)
  }

  /// The names of headers without their values.
  fileprivate static func names(_ headers: [HeaderField]) -> String {
    "{\(headers.map { "\($0.name): ***" }.joined(separator: ", "))}"
  }
}

extension JobCodec<[Job.Request.Variant]> {
  static var variants: JobCodec {
    mapping(of: .headers(ofVariant: true)) { name, value in
      if case .headers(let headers) = value { Job.Request.Variant(name: name, headers: headers) } else { nil }
    } text: {
      "\($0.name): \(JobCodec<[HeaderField]>.names($0.headers))"
    }
  }
}

extension JobCodec<[Job.Request.Edge]> {
  static var edges: JobCodec {
    mapping(of: .hostAndPort) { name, value in
      if case .hostAndPort(let host, let port) = value { Job.Request.Edge(name: name, host: host, port: port) } else { nil }
    } text: {
      "\($0.name): \($0.host):\($0.port)"
    }
  }
}

extension JobCodec<[URLTemplate.Variable]> {
  static var variables: JobCodec {
    mapping(of: .list(of: .text(.free))) { name, value in
      guard case .list(let items) = value else { return nil }
      let values = items.compactMap { item -> String? in if case .text(let text) = item.value { text } else { nil } }
      return URLTemplate.Variable(name: name, values: values)
    } text: {
      "\($0.name): [\($0.values.map(quotedUnlessWord).joined(separator: ", "))]"
    }
  }
}

extension JobCodec<[URLList.InlineEntry]> {
  /// Entries with their lines.
  static var entries: JobCodec {
    JobCodec(
      .list(of: .text(.entry)),
      { read in
        guard case .list(let items) = read else { return nil }
        return items.compactMap { item in
          guard case .text(let text) = item.value else { return nil }
          return URLList.InlineEntry(text: text, line: UInt64(clamping: item.line))
        }
      },
      text: { "[\($0.map { JobOverride.quoted(maskingCredentials($0.text)) }.joined(separator: ", "))]" }
    )
  }
}

/// The text as YAML, in quotes if it has other characters than letters, digits and harmless marks.
private func quotedUnlessWord(_ text: String) -> String {
  let isWord = !text.isEmpty && text.utf8.allSatisfy { $0.isLetter || $0.isDigit || ".%/-_".utf8.contains($0) }
  return isWord ? text : JobOverride.quoted(text)
}
