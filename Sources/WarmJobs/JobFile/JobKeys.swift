internal import ImageDownloading
internal import YAMLDocuments

/// One key of the job file.
public struct JobKey: Sendable {
  /// The dotted path; `[]` stands for each item of a list, as in `manifests[].path`.
  public let path: String
  public let type: JobValueType
  /// The value by default, as YAML; nil if there is none.
  public let defaultText: String?
  /// What to write in an example where there is no default.
  public let example: String?
  /// Whether a job must have it.
  public let isRequired: Bool
  /// One sentence.
  public let summary: String
  /// Whether it decides which entries a job has or how they are judged, and so is part of the job's digest.
  let isInDigest: Bool
  /// Sets what was read.
  let set: @Sendable (inout Job, JobValue) -> Void
  /// Makes place for the keys below it: they set parts of something that is not there by default.
  let open: @Sendable (inout Job) -> Void
  /// Removes all items of a list of mappings.
  let clear: @Sendable (inout Job) -> Void
  /// Returns the value as YAML, without secrets; items of lists are those of the job's last one.
  let text: @Sendable (Job) -> String

  /// A key with a value, which sets `option`.
  ///
  /// - Parameter opens: what happens to a job where keys below it are written in place of a value.
  init<Value>(
    _ path: String,
    _ codec: JobCodec<Value>,
    _ option: any WritableKeyPath<Job, Value> & Sendable,
    example: String? = nil,
    isRequired: Bool = false,
    isInDigest: Bool = false,
    opens: (@Sendable (inout Job) -> Void)? = nil,
    _ summary: String
  ) {
    self.path = path
    self.type = codec.type
    self.example = example
    self.isRequired = isRequired
    self.isInDigest = isInDigest
    self.summary = summary
    set = { job, read in
      guard let value = codec.value(read) else { fatalError("'\(path)' is not read as its codec describes it") }
      job[keyPath: option] = value
    }
    open = opens ?? { _ in }
    clear = { _ in }
    text = { codec.text($0[keyPath: option]) }
    let defaults = opens == nil ? Self.openJob : Job()
    defaultText = example == nil && !isRequired ? text(defaults) : nil
  }

  /// A section.
  init(_ path: String, _ summary: String) {
    self.init(path, .section, defaultText: nil, summary)
  }

  /// A list of mappings whose keys are described below `path[]`; each has exactly one of the named keys. They set parts of a new item.
  ///
  /// - Parameter text: writes an item of the default as YAML; nil if there is no default.
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
    _ summary: String,
    open: @escaping @Sendable (inout Job) -> Void = { _ in },
    clear: @escaping @Sendable (inout Job) -> Void = { _ in }
  ) {
    self.path = path
    self.type = type
    self.defaultText = defaultText
    self.isRequired = isRequired
    self.summary = summary
    self.open = open
    self.clear = clear
    (example, isInDigest) = (nil, false)
    set = { _, _ in fatalError("'\(path)' has no value of its own") }
    text = { _ in "" }
  }

  /// A job with every part that keys may set.
  private static let openJob: Job = {
    var job = Job()
    job.manifests = [Job.Manifest([])]
    job.request.auth = Credential(user: "", password: "")
    job.cache.memory = Job.Cache.Memory()
    job.transform = Job.Transform()
    return job
  }()

  /// The last part of the path: the key as it is written.
  public var name: String { path.lastIndex(of: ".").map { String(path[path.index(after: $0)...]) } ?? path }

  /// The path of the section that it stands in; empty for the job itself.
  var parent: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }

  /// The default as a node; nil if there is none.
  var defaultNode: YAMLNode? { defaultText.map { JobKeys.node($0, of: path) } }
}

/// Every key of the job file, described once: reading, validation, the list of keys in help and README, schemas and digests come from
/// here.
public enum JobKeys {
  /// All keys, in the order of the key reference.
  public static let all: [JobKey] =
    job + manifests + prefetch + request + cache + verify + transform + blacklist + report + failOn

  /// The keys of each section, by the section's path; the job's own by the empty one.
  static let bySection = Dictionary(grouping: all, by: \.parent)

  public static func key(at path: String) -> JobKey? { all.first { $0.path == path } }

  /// What the description of the key at `path` writes as YAML.
  static func node(_ text: String, of path: String) -> YAMLNode {
    do {
      return try YAMLDocument(parsing: Array(text.utf8), name: "the description of \(path)").root
    } catch {
      fatalError("\(error)")
    }
  }
}

/// A list of keys, each of which is checked by itself.
@resultBuilder enum JobKeyList {
  static func buildBlock(_ keys: JobKey...) -> [JobKey] { keys }
}
