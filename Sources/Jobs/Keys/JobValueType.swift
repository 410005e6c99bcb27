internal import ImageDownloading
internal import Base
internal import Lists

/// The type of a key's value.
package indirect enum JobValueType: Sendable {
  /// Keys below it.
  case section
  /// A list of mappings with the keys at `path[]`; each has exactly one of the named keys.
  case entries(exactlyOneOf: [String], minimum: Int)
  case text(JobTextForm)
  case boolean
  /// A whole number.
  case integer(ClosedRange<Int>)
  /// Bytes, with a unit or plain.
  case size(ClosedRange<Int>)
  /// Pixels, such as `100MP`.
  case pixels(ClosedRange<Int>)
  /// A time with its unit, from `minimum` up to a hundred years.
  case duration(minimum: Duration)
  /// 0 to 100 %.
  case percentage
  /// A count, or a percentage.
  case countOrPercentage
  /// One of some words; `noun` names them with an article, such as `an order`.
  case choice(noun: String, words: [String])
  /// HTTP statuses and ranges of statuses, within bounds.
  case statuses(ClosedRange<Int>)
  /// Headers by name; variants may set headers that have keys of their own.
  case headers(ofVariant: Bool)
  /// A number per second, minute or hour.
  case rate
  /// A host and a port.
  case hostAndPort
  /// The server to connect to instead of a host and port.
  case connectTarget
  /// The name of an environment variable with a secret.
  case secretVariable
  /// Values by names that the user chooses.
  case mapping(of: JobValueType)
  /// Values by names of a fixed set; `noun` names them with an article.
  case limits(noun: String, names: [String], JobValueType)
  case list(of: JobValueType)
  /// A special word such as `none`, or a value.
  case either(word: String, JobValueType)
  /// One of some words, or a section such as `example`.
  case wordOrSection([String], example: String)
  /// A text, or a section such as `example`.
  case textOrSection(JobTextForm, example: String)

  /// The required form as the end of a sentence: `a whole number from 1 to 4096`.
  var expectation: String {
    switch self {
    case .section: "keys below it"
    case .entries(let keys, _): "a list of entries, each with one of \(keys.joined(separator: ", "))"
    case .text(let form): form.expectation
    case .boolean: "true or false"
    case .integer(let range) where range.lowerBound == range.upperBound: "\(range.lowerBound)"
    case .integer(let range) where range.upperBound == .max: "a whole number of at least \(range.lowerBound)"
    case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .size(let range): "a size\(range.lowerBound > 0 ? " above zero" : "") such as 64KiB, 500MB or plain bytes"
    case .pixels: "a number of pixels above zero such as 100MP"
    case .duration(let minimum): "a duration\(minimum > .zero ? " above zero" : "") such as 500ms, 15s, 30m, 2h or 7d"
    case .percentage: "a percentage from 0% to 100%"
    case .countOrPercentage: "a count, or a percentage such as 1%"
    case .choice(_, let words): Self.alternatives(words)
    case .statuses(let range): "a list of statuses from \(range.lowerBound) to \(range.upperBound) such as [400, 404-406]"
    case .headers: "headers such as {X-Token: value}"
    case .rate: "a rate above zero such as 200/s, 30/m or 100/h"
    case .hostAndPort: "a host and port such as edge.example.com:443 or [2001:db8::1]:443"
    case .connectTarget: "HOST:PORT:CONNECT-HOST:CONNECT-PORT, like curl's --connect-to"
    case .secretVariable: "the name of an environment variable"
    case .mapping(let type): "names, each with \(type.expectation)"
    case .limits(let noun, _, let type): "keys that are \(noun), each with \(type.expectation)"
    case .list(let type): "a list, each item \(type.expectation)"
    case .either(let word, let type): "\(type.expectation), or \(word)"
    case .wordOrSection(let words, let example): "\(words.joined(separator: ", ")), or keys below it such as \(example)"
    case .textOrSection(let form, let example): "\(form.expectation), or keys below it such as \(example)"
    }
  }

  /// The values in the list of keys: `fifo | lifo`, `none | SIZE`.
  var synopsis: String {
    switch self {
    case .section, .entries: ""
    case .text(let form): form.synopsis
    case .boolean: "true | false"
    case .integer(let range) where range.lowerBound == range.upperBound: "\(range.lowerBound)"
    case .integer(let range): range.upperBound == .max ? "COUNT" : "\(range.lowerBound)…\(range.upperBound)"
    case .size: "SIZE"
    case .pixels: "PIXELS"
    case .duration: "DURATION"
    case .percentage: "PERCENTAGE"
    case .countOrPercentage: "COUNT | PERCENTAGE"
    case .choice(_, let words): words.joined(separator: " | ")
    case .statuses: "[STATUS, FROM-TO]"
    case .headers: "{NAME: VALUE}"
    case .rate: "COUNT/s | COUNT/m | COUNT/h"
    case .hostAndPort: "HOST:PORT"
    case .connectTarget: "HOST:PORT:CONNECT-HOST:CONNECT-PORT"
    case .secretVariable: "VARIABLE"
    case .mapping(let type): "{NAME: \(type.synopsis)}"
    case .limits(let noun, let names, let type):
      "{\(names.count <= 4 ? names.joined(separator: " | ") : noun.hasSuffix("rule") ? "RULE" : "KIND"): \(type.synopsis)}"
    case .list(let type): "[\(type.synopsis)]"
    case .either(let word, let type): "\(word) | \(type.synopsis)"
    case .wordOrSection(let words, let example): (words + [example]).joined(separator: " | ")
    case .textOrSection(let form, let example): "\(form.synopsis) | \(example)"
    }
  }

  /// `a`, `a or b`, `a, b or c`.
  static func alternatives(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return "\(words.dropLast().joined(separator: ", ")) or \(last)"
  }
}

package enum JobTextForm: Sendable {
  /// Any text.
  case free
  case jobName, namespace, path
  /// An absolute http or https URL.
  case webURL
  case headerValue
  /// A glob over the URL's path, or `re:` and an expression over the URL.
  case pattern
  /// An entry of a list.
  case entry
  /// The name of a query parameter.
  case parameter
  case proxyURL
  /// A user name in Basic credentials (RFC 7617, section 2).
  case username

  /// The required form as the end of a sentence.
  var expectation: String {
    switch self {
    case .free, .entry: "text"
    case .jobName: "lowercase letters, digits and '-', starting with a letter or digit"
    case .namespace: "letters, digits, '.', '_' and '-', not starting with a dot"
    case .path: "a path"
    case .webURL: "an absolute http or https URL"
    case .headerValue: "text without control characters"
    case .pattern: "a glob over the URL's path, or re: and a regular expression"
    case .proxyURL: "a proxy such as http://proxy.example.com:3128 (http, https, socks4, socks4a, socks5 or socks5h)"
    case .username: "a user name without colons and control characters"
    case .parameter: "the name of a query parameter, such as utm_source"
    }
  }

  var synopsis: String {
    switch self {
    case .free, .headerValue, .jobName, .namespace, .username: "TEXT"
    case .parameter: "NAME"
    case .path: "PATH"
    case .webURL, .entry, .proxyURL: "URL"
    case .pattern: "GLOB or re:EXPRESSION"
    }
  }

  /// Whether `text` has this form.
  func accepts(_ text: String) -> Bool {
    let bytes = text.utf8
    switch self {
    // The types of these values check them.
    case .free, .entry, .webURL, .pattern: return true
    case .jobName:
      return !text.hasPrefix("-") && (1...100).contains(bytes.count)
        && bytes.allSatisfy { $0.isLowerCaseLetter || $0.isDigit || $0 == 0x2D }
    case .namespace:
      return !text.hasPrefix(".") && (1...100).contains(bytes.count)
        && bytes.allSatisfy { $0.isLetter || $0.isDigit || [0x2D, 0x2E, 0x5F].contains($0) }
    case .path: return !text.isEmpty && !bytes.contains(0)
    case .proxyURL: return HostRules.isProxy(text)
    case .username: return !text.isEmpty && !bytes.contains(0x3A) && HeaderRules.isValue(text)
    case .headerValue: return HeaderRules.isValue(text)
    // The characters of a query in normal form except `&` and `=` (RFC 3986, section 3.4); others are percent-encoded.
    case .parameter: return !text.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) && !"&=#\"<>".utf8.contains($0) }
    }
  }
}

extension UInt8 {
  var isDigit: Bool { (0x30...0x39).contains(self) }
  var isLowerCaseLetter: Bool { (0x61...0x7A).contains(self) }
  var isLetter: Bool { isLowerCaseLetter || (0x41...0x5A).contains(self) }
}

/// A value of a key, checked by its ``JobValueType``; a ``JobCodec`` converts it to an option.
indirect enum JobValue: Sendable {
  /// A choice, or a word with the meaning of a value.
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
  case headers([HeaderField])
  /// Per second.
  case rate(Double)
  case hostAndPort(host: String, port: Int)
  case connectTarget(DownloadOptions.ConnectTarget)
  case mapping([(name: String, value: JobValue)])
  /// The items, each with its line, counted from 1.
  case list([(value: JobValue, line: Int)])
}
