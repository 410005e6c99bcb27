import Base

/// URLs that are made from each URL of a list: a text with placeholders in braces, such as `{url}?w={w}`.
package struct URLTemplate: Sendable {
  /// A placeholder of the user's own, and the values that replace it.
  package struct Variable: Sendable, Hashable {
    package var name: String
    package var values: [String]

    package init(name: String, values: [String]) {
      self.name = name
      self.values = values
    }
  }

  private enum Part: Sendable {
    case text([UInt8])
    /// The URL of the list, or a part of it.
    case url, host, path, query, encodedURL, base64URL
    /// The position of the signature.
    case signature
    /// The variable at that index.
    case variable(Int)
  }

  /// The maximum number of URLs that are made from one.
  package static let maximumCombinations = 1000

  /// The names that variables can't have.
  private static let placeholders: [(name: String, part: Part)] = [
    ("url", .url), ("host", .host), ("path", .path), ("query", .query), ("url-encoded", .encodedURL),
    ("url-base64", .base64URL), ("signature", .signature),
  ]

  private let parts: [Part]
  private let values: [[[UInt8]]]
  /// The number of URLs that are made from one.
  package let combinations: Int
  /// What each combination states about its image; nil if that is nothing.
  let expectations: [ImageExpectation?]
  /// Whether the signature has a position of its own.
  package let hasSignature: Bool
  let hasBase64: Bool

  /// The URL of the list itself.
  static let identity: URLTemplate = {
    do throws(InvalidTemplate) { return try URLTemplate("{url}") } catch { fatalError("\(error)") }
  }()

  /// Parses a template, in which each of the variables must occur.
  package init(_ text: String, variables: [Variable] = []) throws(InvalidTemplate) {
    if let reserved = variables.first(where: { variable in Self.placeholders.contains { $0.name == variable.name } }) {
      throw .reservedName(reserved.name)
    }
    if let empty = variables.first(where: \.values.isEmpty) { throw .noValues(empty.name) }
    var parts: [Part] = []
    var rest = text.utf8[...]
    while let brace = rest.firstIndex(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) {
      if brace > rest.startIndex { parts.append(.text(Array(rest[..<brace]))) }
      guard rest[brace] == UInt8(ascii: "{") else { throw .unopenedBrace }
      let name = rest[rest.index(after: brace)...].prefix { $0 != UInt8(ascii: "}") && $0 != UInt8(ascii: "{") }
      guard name.endIndex < rest.endIndex, rest[name.endIndex] == UInt8(ascii: "}") else { throw .unclosedBrace }
      parts.append(try Self.part(String(decoding: name, as: UTF8.self), variables))
      rest = rest[rest.index(after: name.endIndex)...]
    }
    if !rest.isEmpty { parts.append(.text(Array(rest))) }
    let used = parts.compactMap { if case .variable(let index) = $0 { variables[index].name } else { nil } }
    if let unused = variables.first(where: { !used.contains($0.name) }) { throw .unusedVariable(unused.name) }
    combinations = variables.reduce(1) { count, variable in
      let (product, overflows) = count.multipliedReportingOverflow(by: variable.values.count)
      return overflows ? .max : product
    }
    guard combinations <= Self.maximumCombinations else { throw .tooManyCombinations(combinations) }
    self.parts = parts
    hasSignature = parts.contains { if case .signature = $0 { true } else { false } }
    hasBase64 = parts.contains { if case .base64URL = $0 { true } else { false } }
    values = variables.map { $0.values.map { Array($0.utf8) } }
    expectations = (0..<combinations).map { combination in
      let expectation = Self.expectation(of: combination, variables)
      return expectation.isEmpty ? nil : expectation
    }
  }

  private static func part(_ name: String, _ variables: [Variable]) throws(InvalidTemplate) -> Part {
    if let own = variables.firstIndex(where: { $0.name == name }) { return .variable(own) }
    guard let known = placeholders.first(where: { $0.name == name }) else { throw .unknownPlaceholder(name) }
    return known.part
  }

  /// The index of a variable's value in a combination: the first variable changes last.
  private static func valueIndex(of variable: Int, in combination: Int, _ counts: some RandomAccessCollection<Int>) -> Int {
    let faster = counts.dropFirst(variable + 1).reduce(1, *)
    return combination / faster % counts[counts.index(counts.startIndex, offsetBy: variable)]
  }

  /// Appends what a combination makes from `url`, which is in normal form.
  func append(_ combination: Int, of url: UnsafeRawBufferPointer, _ urlParts: URLParts, to bytes: inout [UInt8]) {
    for part in parts {
      switch part {
      case .text(let text): bytes += text
      case .url: bytes.append(contentsOf: url)
      case .host: bytes.append(contentsOf: url[urlParts.hostAndPort])
      case .path: bytes.append(contentsOf: url[urlParts.path].dropFirst())
      case .query: bytes.append(contentsOf: url[urlParts.query])
      case .encodedURL: appendPercentEncoded(url, to: &bytes)
      case .base64URL: bytes.append(base64URL: url)
      case .signature: URLSigner.placeholder.withUTF8Buffer { bytes.append(contentsOf: $0) }
      case .variable(let index):
        bytes += values[index][Self.valueIndex(of: index, in: combination, values.lazy.map(\.count))]
      }
    }
  }
}

// What the values of variables state about the image.
extension URLTemplate {
  /// Image services agree on few names; words such as `auto` state nothing.
  private static func expectation(of combination: Int, _ variables: [Variable]) -> ImageExpectation {
    var expectation = ImageExpectation()
    for (index, variable) in variables.enumerated() {
      let value = variable.values[valueIndex(of: index, in: combination, variables.lazy.map(\.values.count))]
      switch variable.name {
      case "w", "width": expectation.width = pixels(value)
      case "h", "height": expectation.height = pixels(value)
      case "fm", "format": expectation.format = ImageFormat(name: value.lowercased()) ?? ImageFormat(fileExtension: value)
      default: break
      }
    }
    return expectation
  }

  private static func pixels(_ text: String) -> UInt32? {
    guard text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), let number = UInt32(text), number > 0 else { return nil }
    return number
  }
}

/// The reason why a text and its variables aren't a template.
package enum InvalidTemplate: Error, Sendable, Hashable {
  case unclosedBrace
  /// A `}` without its `{`.
  case unopenedBrace
  case unknownPlaceholder(String)
  case unusedVariable(String)
  /// The name of a variable is that of a part of the URL.
  case reservedName(String)
  case noValues(String)
  case tooManyCombinations(Int)
}
