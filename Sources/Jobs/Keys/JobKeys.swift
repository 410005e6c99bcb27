internal import ImageDownloading
internal import Base

/// One key of the job file.
///
///     JobKey("request.timeout", "limit the time of a transfer, redirects included")
///       .value(.timeLimit, \.request.download.timeout)
package struct JobKey: Sendable {
  /// What is true of few keys.
  struct Facts: OptionSet {
    let rawValue: UInt8
    static let required = Facts(rawValue: 1)
    /// Few jobs need the key; references list it last.
    static let advanced = Facts(rawValue: 2)
    /// The key affects which entries a job has or whether they are good, so it is part of the job's digest.
    static let inDigest = Facts(rawValue: 4)
  }

  package enum Kind: Sendable {
    case section
    /// A list of mappings with the keys at `path[]`; each has exactly one of the named keys.
    case entries(exactlyOneOf: [String], minimum: Int)
    /// A mapping whose values are sections with the keys at `path[]`; the form is that of names.
    case named(JobForm)
    case value, valueOrSection
  }

  /// The dotted path; `[]` means each item of a list, as in `manifests[].path`.
  package let path: String
  /// The key as written in its section: the last part of the path.
  package let name: String
  /// A sentence without full stop.
  package let summary: String
  package private(set) var kind = Kind.section
  package private(set) var form = JobForm.section
  /// The default as YAML; nil if there is none.
  package private(set) var defaultText: String?
  /// The value in examples, for keys without a default.
  package private(set) var example: String?
  private(set) var facts: Facts
  /// Sets the option to the value of a node; false after an error, or if the value sets nothing.
  private(set) var set: @Sendable (inout Job, YAMLNode, JobValueReader) -> Bool = { _, _, _ in
    fatalError("a section has no value")
  }
  /// Creates the optional part of a job that the keys below set.
  private(set) var open: @Sendable (inout Job) -> Void = { _ in }
  private(set) var clear: @Sendable (inout Job) -> Void = { _ in }
  /// Adds an item with a name, and returns the name in normal form; nil if it is invalid.
  private(set) var add: @Sendable (inout Job, String) -> String? = { _, _ in nil }
  /// Returns the value as YAML without secrets; keys of list items read the last item.
  private(set) var text: @Sendable (Job) -> String = { _ in "" }

  /// Creates a section, unless ``value(_:_:_:example:opens:)`` or ``entries(exactlyOneOf:minimum:_:_:text:)`` follows.
  init(_ path: String, _ summary: String, _ facts: Facts = []) {
    (self.path, self.summary, self.facts) = (path, summary, facts)
    // Once: the reader compares it with each key of a job.
    name = path.keyName
  }

  /// The key with a value that sets `option`.
  ///
  /// - Parameter opens: creates the part of a job that keys below set if they are written instead of a value.
  func value<Value>(
    _ codec: JobCodec<Value>,
    _ option: any WritableKeyPath<Job, Value> & Sendable,
    _ facts: Facts = [],
    example: String? = nil,
    opens: (@Sendable (inout Job) -> Void)? = nil
  ) -> JobKey {
    var key = self
    (key.kind, key.form, key.facts, key.example) = (opens == nil ? .value : .valueOrSection, codec.form, facts, example)
    key.set = { job, node, reader in
      guard let value = codec.value(node, reader) else { return false }
      job[keyPath: option] = value
      return true
    }
    if let opens { key.open = opens }
    key.text = { codec.text($0[keyPath: option]) }
    let defaults = opens == nil ? Self.openJob : Self.closedJob
    key.defaultText = example == nil && !facts.contains(.required) ? key.text(defaults) : nil
    return key
  }

  /// The section, which changes the job before the keys below it do.
  func opening(_ open: @escaping @Sendable (inout Job) -> Void) -> JobKey {
    var key = self
    key.open = open
    return key
  }

  /// The key of a list of mappings, each with exactly one of the named keys; the keys at `path[]` set parts of a new item.
  ///
  /// - Parameter text: writes a default item as YAML; nil if there is no default.
  func entries<Item: Sendable>(
    exactlyOneOf names: [String],
    minimum: Int = 0,
    _ items: any WritableKeyPath<Job, [Item]> & Sendable,
    _ item: Item,
    text: ((Item) -> String)? = nil
  ) -> JobKey {
    var key = self
    key.kind = .entries(exactlyOneOf: names, minimum: minimum)
    let expectation = "a list of entries, each with one of \(names.joined(separator: ", "))"
    key.form = JobForm(expectation: expectation, synopsis: "")
    key.facts = minimum > 0 ? .required : []
    key.defaultText = text.map { "[\(Job()[keyPath: items].map($0).joined(separator: ", "))]" }
    key.open = { $0[keyPath: items].append(item) }
    key.clear = { $0[keyPath: items] = [] }
    return key
  }

  /// The key of a mapping whose values are sections; the keys at `path[]` set parts of the last item.
  ///
  /// - Parameters:
  ///   - names: what a name may be.
  ///   - example: the value in messages and examples.
  ///   - add: adds an item with a name, and returns the name in normal form; nil if it is invalid.
  ///   - text: the YAML of the items, for the digest.
  func named(
    _ names: JobForm,
    _ facts: Facts,
    example: String,
    add: @escaping @Sendable (inout Job, String) -> String?,
    text: @escaping @Sendable (Job) -> String
  ) -> JobKey {
    var key = self
    (key.kind, key.facts, key.example, key.add, key.text) = (.named(names), facts, example, add, text)
    key.form = JobForm(expectation: "keys below it such as \(example)", synopsis: names.synopsis)
    return key
  }

  /// A job with a list, a host and a notification, and without optional parts.
  private static let closedJob: Job = {
    var job = Job()
    job.manifests = [Job.List([])]
    job.hosts = HostPattern("img.example.com").map { [Job.HostRule($0)] } ?? []
    job.notifications = [Job.Notification()]
    return job
  }()

  /// A job with every optional part.
  private static let openJob: Job = {
    var job = closedJob
    job.request.auth = Credential(user: "", password: "")
    job.cache.memory = Job.Cache.Memory()
    job.transform = Job.Transform()
    return job
  }()

  package var isRequired: Bool { facts.contains(.required) }
  package var isAdvanced: Bool { facts.contains(.advanced) }

  var parent: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }

  var defaultNode: YAMLNode? { defaultText.map { JobKeys.node($0, of: path) } }
}

/// Every key of the job file, described once: the reader, validation, references, the JSON Schema and digests use this table.
package enum JobKeys {
  package static let all: [JobKey] =
    job + manifests + listFilters + prefetch + request + connection + hosts + cache + verify + transform + blacklist + report
    + notify
    + lint + failOn

  /// The keys of each section by its path, which is empty for the job itself.
  static let bySection = Dictionary(grouping: all, by: \.parent)

  package static func key(at path: String) -> JobKey? { all.first { $0.path == path } }

  static func node(_ text: String, of path: String) -> YAMLNode {
    do {
      return try YAMLDocument(parsing: Array(text.utf8), name: "the description of \(path)").root
    } catch {
      fatalError("\(error)")
    }
  }
}

/// A list of keys; the compiler checks each separately, which is faster than an array literal.
@resultBuilder enum JobKeyList {
  static func buildExpression(_ key: JobKey) -> [JobKey] { [key] }
  static func buildArray(_ keys: [[JobKey]]) -> [JobKey] { keys.flatMap(\.self) }
  static func buildBlock(_ keys: [JobKey]...) -> [JobKey] { keys.flatMap(\.self) }
}
