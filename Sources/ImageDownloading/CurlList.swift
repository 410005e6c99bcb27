import CCurl

/// A list of texts as libcurl takes them, which has to live for as long as a handle may use it.
final class CurlList {
  private(set) var first: UnsafeMutablePointer<curl_slist>?

  init(_ lines: some Sequence<String>) {
    for line in lines { append(line) }
  }

  /// Those headers; of those that libcurl would add itself, the ones in `removed` are left out.
  init(headers fields: [HeaderField], removing removed: [String]) {
    // libcurl drops a header whose value is empty, unless it ends in a semicolon instead of a colon; and its own for an empty
    // one.
    for field in fields { append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)") }
    for name in removed where !fields.contains(where: { $0.name.equalsIgnoringCase(name) }) { append("\(name):") }
  }

  deinit { curl_slist_free_all(first) }

  private func append(_ line: String) {
    guard let list = curl_slist_append(first, line) else { fatalError("libcurl could not keep a text: out of memory") }
    first = list
  }
}
