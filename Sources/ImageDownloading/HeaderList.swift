import CCurl

/// Headers as libcurl takes them.
final class HeaderList {
  private(set) var first: UnsafeMutablePointer<curl_slist>?

  /// Those headers; of those that libcurl would add itself, the ones in `removed` are left out.
  init(_ fields: [HeaderField], removing removed: [String]) {
    // libcurl drops a header whose value is empty, unless it ends in a semicolon instead of a colon; and its own for an empty
    // one.
    for field in fields { append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)") }
    for name in removed where !fields.contains(where: { $0.name.equalsIgnoringCase(name) }) { append("\(name):") }
  }

  deinit { curl_slist_free_all(first) }

  private func append(_ line: String) {
    guard let list = curl_slist_append(first, line) else { fatalError("libcurl could not keep a header: out of memory") }
    first = list
  }
}
