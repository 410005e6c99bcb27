import Reports

/// What a value may be, in the words of messages, of the list of keys, of shells and of the schema.
package struct JobForm: Sendable {
  /// The end of a sentence: `a whole number from 1 to 4096`.
  let expectation: String
  /// The values in the list of keys: `fifo | lifo`, `none | SIZE`.
  package let synopsis: String
  /// Whether the list of keys shows the synopsis: where the default doesn't say what else is possible.
  var isShown = false
  /// The words that shells offer.
  var words: [String] = []
  /// What a message says of a word that isn't one of a choice: `isn't an order; use fifo or lifo`.
  var correction: String?
  /// Whether a whole number in quotes is the most likely error.
  var isInteger = false
  /// The JSON schemas of which one must match; only `schema` reads them, and building all takes 0.5 ms of each start.
  private(set) var schemas: @Sendable () -> [Schema] = { [] }

  typealias Schema = [JSONTree.Member]

  static let section = JobForm(expectation: "keys below it", synopsis: "")

  /// A single value, or a variable with it.
  ///
  /// - Parameters:
  ///   - types: how JSON may write it.
  ///   - bounds: the bounds of numbers; `Int.max` means none.
  ///   - pattern: a regular expression (ECMA-262, as in JSON Schema) for whole texts without variables: empty for any, nil if all text
  ///     must be a variable. It accepts more than the reader where the exact rule isn't regular, such as for hosts in Unicode.
  static func scalar(
    _ expectation: String,
    _ synopsis: String,
    _ types: [String] = ["string"],
    bounds: ClosedRange<Int>? = nil,
    pattern: String?
  ) -> JobForm {
    JobForm(expectation: expectation, synopsis: synopsis) {
      var schema: Schema = [("type", types.count == 1 ? .string(types[0]) : .strings(types))]
      if let bounds {
        schema.append(("minimum", .number("\(bounds.lowerBound)")))
        if bounds.upperBound < .max { schema.append(("maximum", .number("\(bounds.upperBound)"))) }
      }
      if pattern != "" {
        schema.append(("pattern", .string(pattern.map { "^(?:\($0))$|\(variable)" } ?? variable)))
      }
      schema.append(("errorMessage", .string("requires \(expectation)")))
      return [schema]
    }
  }

  static func integer(_ range: ClosedRange<Int>) -> JobForm {
    let (low, high) = (range.lowerBound, range.upperBound)
    let (expectation, synopsis) =
      low == high
      ? ("\(low)", "\(low)")
      : high == .max
        ? ("a whole number of at least \(low)", "COUNT") : ("a whole number from \(low) to \(high)", "\(low)…\(high)")
    var form = scalar(expectation, synopsis, ["integer", "string"], bounds: range, pattern: nil)
    (form.isShown, form.isInteger) = (low < high, true)
    return form
  }

  /// One of some words, in this order; `noun` names them with an article, such as `an order`.
  static func choice(_ noun: String, _ words: [String]) -> JobForm {
    var form = JobForm(expectation: alternatives(words), synopsis: words.joined(separator: " | "), isShown: true, words: words)
    form.correction = "isn't \(noun); use \(form.expectation)"
    form.schemas = { [[("enum", .array(words.flatMap(written)))], [("$ref", .string("#/$defs/variable"))]] }
    return form
  }

  /// One of some words, or a section such as `example`, whose schema is that of its keys.
  static func wordOrSection(_ words: [String], example: String) -> JobForm {
    var form = JobForm(
      expectation: "\(words.joined(separator: ", ")), or keys below it such as \(example)",
      synopsis: (words + [example]).joined(separator: " | ")
    )
    (form.isShown, form.words, form.schemas) = (true, words, choice("", words).schemas)
    return form
  }

  /// A value of this form, or a section such as `example`.
  func orSection(example: String) -> JobForm {
    JobForm(
      expectation: "\(expectation), or keys below it such as \(example)",
      synopsis: "\(synopsis) | \(example)",
      isShown: true,
      schemas: schemas
    )
  }

  /// A special word such as `none`, or a value of this form.
  func or(_ word: String) -> JobForm {
    var form = self.with("\(expectation), or \(word)", "\(word) | \(synopsis)") { [[("const", .string(word))]] + schemas() }
    (form.isShown, form.words) = (true, [word] + words)
    return form
  }

  var list: JobForm {
    with("a list, each item \(expectation)", "[\(synopsis)]") {
      [[("type", .string("array")), ("items", .object(schema))]]
    }
  }

  /// Values of this form by names, with the schema of these.
  func mapping(_ expectation: String, names: String, _ schemaOfNames: Schema) -> JobForm {
    let synopsis = "{\(names): \(synopsis)}"
    var form = with("\(expectation), each with \(self.expectation)", synopsis) {
      [
        [("type", .string("object")), ("propertyNames", .object(schemaOfNames)), ("additionalProperties", .object(schema))]
      ]
    }
    form.isShown = true
    return form
  }

  /// A form with other descriptions of the same kind of single values.
  func with(_ expectation: String, _ synopsis: String, _ schemas: @escaping @Sendable () -> [Schema]) -> JobForm {
    JobForm(
      expectation: expectation,
      synopsis: synopsis,
      correction: correction,
      isInteger: isInteger,
      schemas: schemas
    )
  }

  var schema: Schema {
    let schemas = schemas()
    return schemas.count == 1 ? schemas[0] : [("anyOf", .array(schemas.map { .object($0) }))]
  }

  /// `a`, `a or b`, `a, b or c`.
  package static func alternatives(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return "\(words.dropLast().joined(separator: ", ")) or \(last)"
  }

  /// The start of a variable in a text: `${NAME` after an even number of dollars.
  static let variable = #"(?:^|[^$])(?:\$\$)*\$\{[A-Za-z_]"#

  /// A word as text, and also as a number if YAML reads it as one.
  private static func written(_ word: String) -> [JSONTree] {
    let isNumber = Double(word) != nil && word.utf8.allSatisfy { $0.isDigit || $0 == 0x2E }
    return isNumber ? [.string(word), .number(word)] : [.string(word)]
  }
}

struct JobTextForm: Sendable {
  let form: JobForm
  let accepts: @Sendable (String) -> Bool

  private init(
    _ expectation: String,
    _ synopsis: String = "TEXT",
    pattern: String = "",
    isAddress: Bool = false,
    accepts: @escaping @Sendable (String) -> Bool = { _ in true }
  ) {
    // A number is never a URL.
    form = .scalar(expectation, synopsis, isAddress ? ["string"] : ["string", "number", "boolean"], pattern: pattern)
    self.accepts = accepts
  }

  static let free = JobTextForm("text")
  static let jobName = JobTextForm(
    "lowercase letters, digits and '-', starting with a letter or digit",
    pattern: "[a-z0-9][a-z0-9-]{0,99}"
  ) {
    !$0.hasPrefix("-") && (1...100).contains($0.utf8.count)
      && $0.utf8.allSatisfy { $0.isLowerCaseLetter || $0.isDigit || $0 == 0x2D }
  }
  static let namespace = JobTextForm("letters, digits, '.', '_' and '-', not starting with a dot", pattern: namespacePattern) {
    !$0.hasPrefix(".") && (1...100).contains($0.utf8.count)
      && $0.utf8.allSatisfy { $0.isLetter || $0.isDigit || [0x2D, 0x2E, 0x5F].contains($0) }
  }
  static let namespacePattern = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
  static let path = JobTextForm("a path", "PATH", pattern: #"[^\x00]+"#) { !$0.isEmpty && !$0.utf8.contains(0) }
  /// An absolute http or https URL.
  static let webURL = JobTextForm(
    "an absolute http or https URL",
    "URL",
    pattern: #"\s*[Hh][Tt][Tt][Pp][Ss]?:[/\\]*[^/\\?#].*"#,
    isAddress: true
  )
  /// Any character except control characters; tabs are allowed.
  static let headerValue = JobTextForm(
    "text without control characters",
    pattern: #"[^\x00-\x08\x0A-\x1F\x7F]*"#,
    accepts: HeaderRules.isValue
  )
  /// A glob over the URL's path, or `re:` and an expression over the URL.
  static let pattern = JobTextForm("a glob over the URL's path, or re: and a regular expression", "GLOB or re:EXPRESSION")
  static let entry = JobTextForm("text", "URL")
  /// The name of a query parameter: the characters of a query in normal form except `&` and `=` (RFC 3986, section 3.4); others are
  /// percent-encoded.
  static let parameter = JobTextForm(
    "the name of a query parameter, such as utm_source",
    "NAME",
    pattern: "[!$-%'-;?-~]+"
  ) {
    !$0.isEmpty && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"&=#\"<>".utf8.contains($0) }
  }
  static let proxyURL = JobTextForm(
    "a proxy such as http://proxy.example.com:3128 (http, https, socks4, socks4a, socks5 or socks5h)",
    "URL",
    pattern: #"(?:[A-Za-z][A-Za-z0-9]*://)?[!-.0-~]+/?"#,
    isAddress: true,
    accepts: ConnectionRules.isProxy
  )
  /// A mail server, with an optional name for EHLO as its path.
  static let mailServer = JobTextForm(
    "a mail server such as smtps://mail.example.com or smtp://mail.example.com:587",
    "URL",
    pattern: #"smtps?://(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\\[\]]+)(?::0*[1-9][0-9]{0,4})?(?:/[A-Za-z0-9.-]*)?"#,
    isAddress: true,
    accepts: ConnectionRules.isMailServer
  )
  /// The usual addresses (RFC 5321, section 4.1.2, without quotes and literals).
  static let mailAddress = JobTextForm(
    "an address such as ops@example.com",
    "ADDRESS",
    pattern: "[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+",
    isAddress: true
  ) {
    let parts = $0.utf8.split(separator: 0x40, omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
      && parts[0].allSatisfy { $0.isLetter || $0.isDigit || ".!#$%&'*+/=?^_`{|}~-".utf8.contains($0) }
      && parts[1].allSatisfy { $0.isLetter || $0.isDigit || ".-".utf8.contains($0) }
  }
  /// A user name in Basic credentials (RFC 7617, section 2).
  static let username = JobTextForm(
    "a user name without colons and control characters",
    pattern: #"[^:\x00-\x08\x0A-\x1F\x7F]+"#
  ) {
    !$0.isEmpty && !$0.utf8.contains(0x3A) && HeaderRules.isValue($0)
  }
}

extension UInt8 {
  var isDigit: Bool { (0x30...0x39).contains(self) }
  var isLowerCaseLetter: Bool { (0x61...0x7A).contains(self) }
  var isLetter: Bool { isLowerCaseLetter || (0x41...0x5A).contains(self) }
}
