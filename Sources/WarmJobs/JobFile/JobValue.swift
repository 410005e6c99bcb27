internal import ImageDownloading
internal import ImageURLs
internal import Manifests
internal import YAMLDocuments

/// The value of a key, read and checked by its type.
indirect enum JobValue: Sendable {
  /// A choice, or a word that stands for a value.
  case word(String)
  case text(String)
  case path(JobPath)
  case webURL(BaseURL)
  case pattern(URLPattern)
  case boolean(Bool)
  /// A count, bytes or pixels.
  case integer(Int)
  case duration(Duration)
  /// 0 to 1.
  case fraction(Double)
  case ranges([ClosedRange<Int>])
  case headers([Job.Request.Header])
  /// A second.
  case rate(Double)
  case hostAndPort(host: String, port: Int)
  case connectTarget(DownloadOptions.ConnectTarget)
  case mapping([(name: String, value: JobValue)])
  case list([(value: JobValue, node: YAMLNode)])
  case section(JobSection)
  case entries([JobSection])
}

/// The values of a section's keys, defaults included.
///
/// The accessors trap where ``JobKeys`` describes the key otherwise: the two are written together.
struct JobSection: Sendable {
  private(set) var values: [String: JobValue] = [:]
  /// Where the values stand that were given.
  private(set) var nodes: [String: YAMLNode] = [:]

  mutating func set(_ name: String, to value: JobValue, at node: YAMLNode?) {
    values[name] = value
    nodes[name] = node
  }

  /// Whether the key was given, beside its default.
  func isGiven(_ name: String) -> Bool { nodes[name] != nil }

  func section(_ name: String) -> JobSection {
    if case .section(let section) = values[name] { section } else { mismatch(name) }
  }

  func entries(_ name: String) -> [JobSection] {
    if case .entries(let entries) = values[name] { entries } else { mismatch(name) }
  }

  func list(_ name: String) -> [(value: JobValue, node: YAMLNode)] {
    if case .list(let items) = values[name] { items } else { mismatch(name) }
  }

  func text(_ name: String) -> String {
    if case .text(let text) = values[name] { text } else { mismatch(name) }
  }

  func texts(_ name: String) -> [String] {
    list(name).map { if case .text(let text) = $0.value { text } else { mismatch(name) } }
  }

  func path(_ name: String) -> JobPath {
    if case .path(let path) = values[name] { path } else { mismatch(name) }
  }

  func paths(_ name: String) -> [JobPath] {
    list(name).map { if case .path(let path) = $0.value { path } else { mismatch(name) } }
  }

  func webURL(_ name: String) -> BaseURL {
    if case .webURL(let url) = values[name] { url } else { mismatch(name) }
  }

  func patterns(_ name: String) -> [URLPattern] {
    list(name).map { if case .pattern(let pattern) = $0.value { pattern } else { mismatch(name) } }
  }

  func word(_ name: String) -> String {
    if case .word(let word) = values[name] { word } else { mismatch(name) }
  }

  func choice<Words: RawRepresentable<String>>(_ name: String, _: Words.Type = Words.self) -> Words {
    guard let choice = Words(rawValue: word(name)) else { mismatch(name) }
    return choice
  }

  func boolean(_ name: String) -> Bool {
    if case .boolean(let boolean) = values[name] { boolean } else { mismatch(name) }
  }

  func integer(_ name: String) -> Int {
    if case .integer(let integer) = values[name] { integer } else { mismatch(name) }
  }

  func duration(_ name: String) -> Duration {
    if case .duration(let duration) = values[name] { duration } else { mismatch(name) }
  }

  func fraction(_ name: String) -> Double {
    if case .fraction(let fraction) = values[name] { fraction } else { mismatch(name) }
  }

  func ranges(_ name: String) -> [ClosedRange<Int>] {
    if case .ranges(let ranges) = values[name] { ranges } else { mismatch(name) }
  }

  func headers(_ name: String) -> [Job.Request.Header] {
    if case .headers(let headers) = values[name] { headers } else { mismatch(name) }
  }

  func rate(_ name: String) -> Double {
    if case .rate(let rate) = values[name] { rate } else { mismatch(name) }
  }

  func mapping(_ name: String) -> [(name: String, value: JobValue)] {
    if case .mapping(let pairs) = values[name] { pairs } else { mismatch(name) }
  }

  /// Whether it is a word that stands for a value, such as `none`.
  func isWord(_ name: String) -> Bool {
    if case .word = values[name] { true } else { false }
  }

  /// nil where it is a word that stands for a value, else the value.
  func unlessWord<Value>(_ name: String, _ value: (String) -> Value) -> Value? { isWord(name) ? nil : value(name) }

  private func mismatch(_ name: String) -> Never { fatalError("'\(name)' is described otherwise in JobKeys") }
}
