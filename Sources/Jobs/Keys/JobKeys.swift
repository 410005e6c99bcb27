internal import ImageDownloading

/// One key of the job file.
package struct JobKey: Sendable {
  /// The dotted path; `[]` means each item of a list, as in `manifests[].path`.
  package let path: String
  package let type: JobValueType
  /// The default as YAML; nil if there is none.
  package let defaultText: String?
  /// The value in examples, for keys without a default.
  package let example: String?
  /// Whether a job must have the key.
  package let isRequired: Bool
  /// Whether few jobs need the key; references list it last.
  package let isAdvanced: Bool
  /// A sentence without full stop.
  package let summary: String
  /// Whether the key affects which entries a job has or whether they are good; if so, it is part of the job's digest.
  let isInDigest: Bool
  /// Sets the value that was read.
  let set: @Sendable (inout Job, JobValue) -> Void
  /// Creates the optional part of a job that the keys below set.
  let open: @Sendable (inout Job) -> Void
  /// Removes all items from a list of mappings.
  let clear: @Sendable (inout Job) -> Void
  /// Returns the value as YAML without secrets; keys of list items read the last item.
  let text: @Sendable (Job) -> String

  /// Creates a key whose value sets `option`.
  ///
  /// - Parameter opens: creates the part of a job that keys below set if they are written instead of a value.
  init<Value>(
    _ path: String,
    _ codec: JobCodec<Value>,
    _ option: any WritableKeyPath<Job, Value> & Sendable,
    example: String? = nil,
    isRequired: Bool = false,
    isAdvanced: Bool = false,
    isInDigest: Bool = false,
    opens: (@Sendable (inout Job) -> Void)? = nil,
    _ summary: String
  ) {
    self.path = path
    self.type = codec.type
    self.example = example
    self.isRequired = isRequired
    self.isAdvanced = isAdvanced
    self.isInDigest = isInDigest
    self.summary = summary
    set = { job, read in
      guard let value = codec.value(read) else { fatalError("the codec of '\(path)' doesn't match its type") }
      job[keyPath: option] = value
    }
    open = opens ?? { _ in }
    clear = { _ in }
    text = { codec.text($0[keyPath: option]) }
    let defaults = opens == nil ? Self.openJob : Self.closedJob
    defaultText = example == nil && !isRequired ? text(defaults) : nil
  }

  /// Creates a section.
  init(_ path: String, isAdvanced: Bool = false, _ summary: String) {
    self.init(path, .section, defaultText: nil, isAdvanced: isAdvanced, summary)
  }

  /// Creates a list of mappings, each with exactly one of the named keys; the keys at `path[]` set parts of a new item.
  ///
  /// - Parameter text: writes a default item as YAML; nil if there is no default.
  init<Item: Sendable>(
    _ path: String,
    exactlyOneOf names: [String],
    minimum: Int = 0,
    _ items: any WritableKeyPath<Job, [Item]> & Sendable,
    _ item: Item,
    text: ((Item) -> String)? = nil,
    _ summary: String
  ) {
    self.init(
      path,
      .entries(exactlyOneOf: names, minimum: minimum),
      defaultText: text.map { "[\(Job()[keyPath: items].map($0).joined(separator: ", "))]" },
      isRequired: minimum > 0,
      summary,
      open: { $0[keyPath: items].append(item) },
      clear: { $0[keyPath: items] = [] }
    )
  }

  private init(
    _ path: String,
    _ type: JobValueType,
    defaultText: String?,
    isRequired: Bool = false,
    isAdvanced: Bool = false,
    _ summary: String,
    open: @escaping @Sendable (inout Job) -> Void = { _ in },
    clear: @escaping @Sendable (inout Job) -> Void = { _ in }
  ) {
    self.path = path
    self.type = type
    self.defaultText = defaultText
    self.isRequired = isRequired
    self.isAdvanced = isAdvanced
    self.summary = summary
    self.open = open
    self.clear = clear
    (example, isInDigest) = (nil, false)
    set = { _, _ in fatalError("'\(path)' has no value") }
    text = { _ in "" }
  }

  /// A job with a manifest and without optional parts.
  private static let closedJob: Job = {
    var job = Job()
    job.manifests = [Job.Manifest([])]
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

  /// The key as written in its section: the last part of the path.
  package var name: String { path.lastIndex(of: ".").map { String(path[path.index(after: $0)...]) } ?? path }

  /// The path of the section; empty for the job itself.
  var parent: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }

  /// The default as a node; nil if there is none.
  var defaultNode: YAMLNode? { defaultText.map { JobKeys.node($0, of: path) } }
}

/// Every key of the job file, described once: the reader, validation, references, the JSON Schema and digests use this table.
package enum JobKeys {
  /// All keys, in the order of the key reference.
  package static let all: [JobKey] =
    job + manifests + prefetch + request + cache + verify + transform + blacklist + report + lint + failOn

  /// The keys of each section by its path, which is empty for the job itself.
  static let bySection = Dictionary(grouping: all, by: \.parent)

  package static func key(at path: String) -> JobKey? { all.first { $0.path == path } }

  /// Parses YAML from the description of the key at `path`.
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
  static func buildBlock(_ keys: JobKey...) -> [JobKey] { keys }
}
