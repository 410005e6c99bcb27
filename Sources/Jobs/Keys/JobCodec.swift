import ImageDownloading
import Base
import Lists
import Reports

/// How a job file writes options of one type: what it may be, how it is read, and how it is written.
struct JobCodec<Value>: Sendable {
  let form: JobForm
  /// Returns the option for a node; nil after it has added an error, or for a value that sets nothing.
  private let read: @Sendable (JobValueReader, YAMLNode) -> Value?
  /// The YAML of a default, and part of a job's digest: it contains no secrets and is the same on every machine.
  let text: @Sendable (Value) -> String

  init(
    _ form: JobForm,
    _ read: @escaping @Sendable (JobValueReader, YAMLNode) -> Value?,
    text: @escaping @Sendable (Value) -> String
  ) {
    (self.form, self.read, self.text) = (form, read, text)
  }

  /// A codec of single values; an error follows if `parse` returns nil.
  static func scalar(
    _ form: JobForm,
    _ parse: @escaping @Sendable (JobValueReader.Scalar) -> Value?,
    text: @escaping @Sendable (Value) -> String
  ) -> JobCodec {
    JobCodec(form, { reader, node in reader.scalar(node).flatMap { parse($0) ?? reader.refuse(node) } }, text: text)
  }

  func value(_ node: YAMLNode, _ reader: JobValueReader) -> Value? {
    guard let tag = node.tag else { return read(reader, node) }
    reader.errors.add("unsupported tag '\(tag)'; remove it", at: node)
    return nil
  }

  func map<Other>(_ to: @escaping @Sendable (Value) -> Other, from: @escaping @Sendable (Other) -> Value) -> JobCodec<Other> {
    JobCodec<Other>(form, { value($1, $0).map(to) }, text: { text(from($0)) })
  }
}

// MARK: Numbers

extension JobCodec<Bool> {
  static var boolean: JobCodec {
    var form = JobForm.scalar("true or false", "true | false", ["boolean", "string"], pattern: nil)
    form.words = ["true", "false"]
    return scalar(form) {
      $0.isPlain ? ["true": true, "false": false][$0.text] : nil
    } text: {
      "\($0)"
    }
  }
}

/// A number with at most six decimals.
private let decimals = #"[0-9]+(?:\.[0-9]{1,6})?"#

private func aboveZero(_ isRequired: Bool) -> String { isRequired ? "(?=[0-9.]*[1-9])" : "" }

extension JobCodec<Int> {
  static func integer(_ range: ClosedRange<Int>) -> JobCodec {
    scalar(.integer(range)) {
      $0.isPlain ? Quantities.count($0.text).within(range) : nil
    } text: {
      "\($0)"
    }
  }

  /// Bytes, with a unit or plain.
  static func size(_ range: ClosedRange<Int>) -> JobCodec {
    let isPositive = range.lowerBound > 0
    let form = JobForm.scalar(
      "a size\(isPositive ? " above zero" : "") such as 64KiB, 500MB or plain bytes",
      "SIZE",
      ["number", "string"],
      bounds: range,
      pattern: aboveZero(isPositive) + decimals + "(?:B|[kKMGT]B|[KMGT]iB)?"
    )
    return scalar(form, { Quantities.size($0.text).within(range) }, text: Quantities.text(size:))
  }

  /// Pixels, such as `100MP`.
  static func pixels(_ range: ClosedRange<Int>) -> JobCodec {
    let form = JobForm.scalar(
      "a number of pixels above zero such as 100MP",
      "PIXELS",
      ["number", "string"],
      bounds: range,
      pattern: aboveZero(range.lowerBound > 0) + decimals + "(?:[KMG]P)?"
    )
    return scalar(form, { Quantities.pixels($0.text).within(range) }, text: Quantities.text(pixels:))
  }
}

extension Int? {
  fileprivate func within(_ range: ClosedRange<Int>) -> Int? { flatMap { range.contains($0) ? $0 : nil } }
}

extension JobCodec<Duration> {
  /// A time with its unit, from `minimum` up to a hundred years.
  static func duration(minimum: Duration) -> JobCodec {
    let isPositive = minimum > .zero
    let expectation = "a duration\(isPositive ? " above zero" : "") such as 500ms, 15s, 30m, 2h or 7d"
    let form = JobForm.scalar(expectation, "DURATION", pattern: aboveZero(isPositive) + decimals + "(?:ms|s|m|h|d)")
    return scalar(
      form,
      { Quantities.duration($0.text).flatMap { $0 < minimum ? nil : $0 } },
      text: Quantities.text(duration:)
    )
  }
}

extension JobCodec<Double> {
  static let percentagePattern = #"0*(?:100(?:\.0{1,6})?|[0-9]{1,2}(?:\.[0-9]{1,6})?)%"#

  /// 0 to 1.
  static var percentage: JobCodec {
    let form = JobForm.scalar("a percentage from 0% to 100%", "PERCENTAGE", pattern: percentagePattern)
    return scalar(form, { Quantities.percentage($0.text) }, text: Quantities.text(fraction:))
  }

  /// Per second.
  static var rate: JobCodec {
    let expectation = "a rate above zero such as 200/s, 30/m or 100/h"
    let form = JobForm.scalar(expectation, "COUNT/s | COUNT/m | COUNT/h", pattern: aboveZero(true) + decimals + "/[smh]")
    return scalar(form) {
      Quantities.rate($0.text)
    } text: {
      "\($0)/s"
    }
  }
}

// MARK: Texts

extension JobCodec<String> {
  static func text(_ text: JobTextForm) -> JobCodec {
    scalar(text.form, { text.accepts($0.text) ? $0.text : nil }, text: quotedUnlessWord)
  }

  /// A template of URLs, whose text may have a user name and a password.
  static var template: JobCodec {
    scalar(JobTextForm.free.form) {
      $0.text
    } text: {
      quotedUnlessWord(maskingCredentials($0))
    }
  }

  /// The value of the environment variable with that name; no message shows it.
  static var secretVariable: JobCodec {
    JobCodec(.scalar("the name of an environment variable", "VARIABLE", pattern: "[A-Za-z0-9_]+")) { reader, node in
      guard let name = reader.scalar(node)?.text else { return nil }
      guard !name.isEmpty, name.utf8.allSatisfy({ $0.isLetter || $0.isDigit || $0 == 0x5F }) else {
        return reader.fail(node, ", not the secret itself")
      }
      let value = reader.environment[name]
      if let value, HeaderRules.isValue(value) { return value }
      reader.errors.add(
        value == nil
          ? "environment variable not set; set it to the secret"
          : "the value of this environment variable contains control characters; remove them",
        at: node
      )
      return nil
    } text: { _ in
      "***"
    }
  }
}

extension JobCodec<JobPath> {
  /// Its text is the relative path, or the last part of an absolute path, which is the same on every machine.
  static var path: JobCodec {
    JobCodec(JobTextForm.path.form) { reader, node in
      JobCodec<String>.text(.path).value(node, reader).map { JobPath($0, in: reader.folder(of: node)) }
    } text: { path in
      quotedUnlessWord(path.written.hasPrefix("/") ? String(path.written.split(separator: "/").last ?? "") : path.written)
    }
  }
}

extension JobCodec<BaseURL> {
  static var webURL: JobCodec {
    JobCodec(JobTextForm.webURL.form) { reader, node in
      guard let text = reader.scalar(node)?.text else { return nil }
      do throws(InvalidURL) {
        return try BaseURL(text)
      } catch {
        return reader.fail(node, [.empty, .relative, .scheme].contains(error.reason) ? "" : ": \(error.message)")
      }
    } text: {
      quotedUnlessWord($0.shown)
    }
  }
}

extension JobCodec<URLPattern> {
  static var pattern: JobCodec {
    JobCodec(JobTextForm.pattern.form) { reader, node in
      guard let scalar = reader.scalar(node) else { return nil }
      do throws(InvalidPattern) {
        return try URLPattern(scalar.text)
      } catch {
        // The message of the library may contain values of variables.
        let reason = scalar.hasVariables ? "" : ": \(error.message)"
        return reader.fail(node, requires: JobTextForm.pattern.form.expectation, reason)
      }
    } text: {
      quotedUnlessWord($0.written)
    }
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
    scalar(.choice(noun, words.map(\.0))) { read in
      words.first { $0.0 == read.text }?.1
    } text: { value in
      words.first { $0.1 == value }?.0 ?? ""
    }
  }

  /// A value, or a word with the meaning of one.
  static func word(_ word: String, means meaning: Value, or other: JobCodec) -> JobCodec {
    JobCodec(
      other.form.or(word),
      { reader, node in reader.isWord(word, node) ? meaning : other.value(node, reader) },
      text: { $0 == meaning ? word : other.text($0) }
    )
  }
}

extension JobCodec {
  static func or<Wrapped>(_ word: String, _ other: JobCodec<Wrapped>) -> JobCodec where Value == Wrapped? {
    JobCodec(
      other.form.or(word),
      { reader, node in reader.isWord(word, node) ? .some(nil) : other.value(node, reader).map { $0 } },
      text: { $0.map(other.text) ?? word }
    )
  }

  static func orNone<Wrapped>(_ other: JobCodec<Wrapped>) -> JobCodec where Value == Wrapped? { or("none", other) }

  /// A value that is nil if its key is missing.
  static func given<Wrapped>(_ other: JobCodec<Wrapped>) -> JobCodec where Value == Wrapped? {
    JobCodec(other.form, { other.value($1, $0).map { $0 } }, text: { $0.map(other.text) ?? "" })
  }

  /// A word for none, or a section such as `example`.
  static func section<Wrapped>(or word: String, example: String) -> JobCodec where Value == Wrapped? {
    scalar(.wordOrSection([word], example: example)) {
      $0.text == word ? .some(nil) : nil
    } text: {
      $0 == nil ? word : example
    }
  }
}

// MARK: Several values

extension JobCodec {
  static func list<Item>(of item: JobCodec<Item>, _ form: JobForm? = nil) -> JobCodec where Value == [Item] {
    JobCodec(
      form ?? item.form.list,
      { reader, node in node.sequence?.compactMap { item.value($0, reader) } ?? reader.refuse(node, isList: true) },
      text: { "[\($0.map(item.text).joined(separator: ", "))]" }
    )
  }

  /// Values by names that the user chooses.
  ///
  /// - Parameter isNamed: whether messages about a value name its name instead of the key.
  static func mapping<Content, Item>(
    of content: JobCodec<Content>,
    isNamed: Bool = false,
    _ item: @escaping @Sendable (String, Content) -> Item,
    parts: @escaping @Sendable (Item) -> (name: String, content: Content)
  ) -> JobCodec where Value == [Item] {
    let names = JobTextForm.namespace.form.expectation
    return JobCodec(
      content.form.mapping("names", names: "NAME", [("pattern", .string("^\(JobTextForm.namespacePattern)$"))]),
      { reader, node in
        let values = reader.values(node, content, isNamed: isNamed) { key in
          if let name = key.scalar?.text, JobTextForm.namespace.accepts(name) { return name }
          return reader.fail(key, of: "a name in '\(reader.name)'", requires: names)
        }
        return values?.map(item)
      },
      text: { items in
        let written = items.map(parts).map { "\($0.name): \(content.text($0.content))" }
        return "{\(written.joined(separator: ", "))}"
      }
    )
  }

  /// Values by names of a fixed set; `noun` names them with an article.
  static func limits<Key, Limit>(
    _ noun: String,
    _ keys: [Key],
    _ name: (Key) -> String,
    _ limit: JobCodec<Limit>
  ) -> JobCodec where Value == [Key: Limit], Key: Sendable {
    let named = keys.map { (name: name($0), key: $0) }
    let names = named.map(\.name)
    let title = names.count <= 4 ? names.joined(separator: " | ") : noun.hasSuffix("rule") ? "RULE" : "KIND"
    return JobCodec(
      limit.form.mapping("keys that are \(noun)", names: title, [("enum", .strings(names))]),
      { reader, node in
        let values = reader.values(node, limit, isNamed: true) { key in
          if let name = key.scalar?.text, names.contains(name) { return name }
          let written = key.scalar.map { reader.errors.shown($0.text, of: key) } ?? key.kindPhrase
          let nearest = key.scalar.flatMap { Suggestions.nearest(to: $0.text, among: names) }
          let advice = nearest.map { "did you mean '\($0)'?" } ?? "use \(JobForm.alternatives(names))"
          reader.errors.add("\(written) isn't \(noun); \(advice)", at: key)
          return nil
        }
        return values?.reduce(into: [:]) { limits, pair in
          if let key = named.first(where: { $0.name == pair.name })?.key { limits[key] = pair.value }
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
  /// HTTP statuses and ranges of statuses, such as `404` and `404-406`.
  static func statuses(_ bounds: ClosedRange<Int>) -> JobCodec {
    let expectation = "a list of statuses from \(bounds.lowerBound) to \(bounds.upperBound) such as [400, 404-406]"
    let pattern = "0*[\(bounds.lowerBound / 100)-\(bounds.upperBound / 100)][0-9]{2}"
    let form = JobForm.scalar(expectation, "", ["integer", "string"], bounds: bounds, pattern: "\(pattern)(-\(pattern))?")
    let item = JobCodec<ClosedRange<Int>>.scalar(form) { scalar in
      let ends = scalar.text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        .map { Quantities.count(String($0)).within(bounds) }
      guard let first = ends[0], let last = ends[ends.count - 1], first <= last else { return nil }
      return first...last
    } text: {
      $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
    }
    return list(of: item, form.list.with(expectation, "[STATUS, FROM-TO]", form.list.schemas))
  }
}

extension JobCodec<[HeaderField]> {
  /// Headers by name; variants may set those that have keys of their own. The text has no values.
  static func headers(ofVariant: Bool = false) -> JobCodec {
    let refused = HeaderRules.refusedNames(ofVariant: ofVariant).map { name in
      name.map { $0.isLetter ? "[\($0.uppercased())\($0)]" : String($0) }.joined()
    }
    let pattern = "^(?!(?:\(refused.joined(separator: "|")))$)[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
    let schema = JobTextForm.headerValue.form.mapping("", names: "", [("pattern", .string(pattern))]).schemas
    return JobCodec(
      JobTextForm.headerValue.form.with("headers such as {X-Token: value}", "{NAME: VALUE}", schema),
      { $0.headers($1, ofVariant: ofVariant) },
      text: { headers in "{\(headers.map { "\($0.name): ***" }.joined(separator: ", "))}" }
    )
  }
}

extension JobCodec<[URLTemplate.Variable]> {
  static var variables: JobCodec {
    // The error of a list shows how to write it.
    mapping(of: .list(of: .text(.free)), isNamed: true) {
      .init(name: $0, values: $1)
    } parts: {
      ($0.name, $0.values)
    }
  }
}

extension JobCodec<[URLList.InlineEntry]> {
  /// Entries with their lines.
  static var entries: JobCodec {
    list(
      of: JobCodec<URLList.InlineEntry>(JobTextForm.entry.form) { reader, node in
        reader.scalar(node).map { .init(text: $0.text, line: UInt64(clamping: node.location.range.start.line)) }
      } text: {
        JobOverride.quoted(maskingCredentials($0.text))
      }
    )
  }
}

/// The text as YAML, in quotes if it has other characters than letters, digits and harmless marks.
func quotedUnlessWord(_ text: String) -> String {
  let isWord = !text.isEmpty && text.utf8.allSatisfy { $0.isLetter || $0.isDigit || ".%/-_".utf8.contains($0) }
  return isWord ? text : JobOverride.quoted(text)
}
