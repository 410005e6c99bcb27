import Base

// scripts/house: OptionChanges are the type Changes of the options.
extension DownloadOptions {
  /// Changes of single options for one request; the others stay as its manager has them.
  ///
  /// ```
  /// request.options.timeout = .seconds(5)
  /// request.options.connection.addresses = .publicOnly
  /// request.options.credentials = nil
  /// request.options.headers.append(HeaderField("Accept-Language", "de"))
  /// ```
  /// Each option of ``DownloadOptions`` can be set, nil included where an option may be nil: then the request has none. Options can't be
  /// read or changed in place, since the manager's value isn't known here; ``value(of:)`` returns one that was set. Those of a connection
  /// are set one by one.
  @dynamicMemberLookup
  public struct Changes: Sendable, Hashable {
    /// Headers that are added to the manager's, or replace those of the same name; none by default.
    public var headers: [HeaderField] = []
    /// The names of headers that aren't sent, besides those that the manager removes; none by default.
    public var removedHeaders: [String] = []
    /// Whether nobody waits for the request; a value of its own, since prefetchers set it for each request.
    package var isForBatch = false
    private var changes: [Option: Change] = [:]

    /// Creates no changes.
    public init() {}

    /// Creates changes by `change`.
    public init(_ change: (inout Changes) -> Void) {
      self.init()
      change(&self)
    }

    public subscript<Value: Hashable & Sendable>(
      dynamicMember option: any WritableKeyPath<DownloadOptions, Value> & Sendable
    ) -> Value {
      @available(*, unavailable, message: "an option of a request can only be set; value(of:) returns a value that was set")
      get { preconditionFailure("an option of a request can only be set") }
      set { set(option, newValue) { $0[keyPath: option] = $1 } }
    }

    /// The options of connections.
    public var connection: Group<Connection> {
      get { Group(changes: self, path: \.connection) }
      set { self = newValue.changes }
    }

    /// The value that was set for an option, such as `\.timeout` or `\.connection.proxy`; nil if it is the manager's. Headers are
    /// ``headers`` and ``removedHeaders``.
    public func value<Value>(of option: KeyPath<DownloadOptions, Value>) -> Value? {
      // Nil would be a value of an option that may be nil.
      guard let change = changes[Option(path: option)] else { return nil }
      return change.value as? Value
    }

    fileprivate mutating func set<Value: Hashable & Sendable>(
      _ option: WritableKeyPath<DownloadOptions, Value>,
      _ value: Value,
      _ apply: @escaping @Sendable (inout DownloadOptions, Value) -> Void
    ) {
      changes[Option(path: option)] = Change(value: value) { apply(&$0, value) }
    }

    /// Whether no option is changed, except for the patience of batches.
    package var isEmpty: Bool { changes.isEmpty && headers.isEmpty && removedHeaders.isEmpty }

    /// Applies the changes to `options`.
    public func applied(to options: DownloadOptions) -> DownloadOptions {
      options.with { options in
        for change in changes.values { change.apply(&options) }
        if isForBatch { options.patience = .long }
        let isChanged = { (name: String) in headers.contains { $0.name.equalsIgnoringCase(name) } }
        options.headers = options.headers.filter { !isChanged($0.name) } + headers
        options.removedHeaders = options.removedHeaders.filter { !isChanged($0) } + removedHeaders
      }
    }

    /// The changes of options that belong together; see ``DownloadOptions/Changes/connection``.
    @dynamicMemberLookup
    public struct Group<Options: Sendable>: Sendable {
      fileprivate var changes: Changes
      fileprivate let path: any WritableKeyPath<DownloadOptions, Options> & Sendable

      public subscript<Value: Hashable & Sendable>(
        dynamicMember option: any WritableKeyPath<Options, Value> & Sendable
      ) -> Value {
        @available(*, unavailable, message: "an option of a request can only be set; value(of:) returns a value that was set")
        get { preconditionFailure("an option of a request can only be set") }
        set {
          let (group, part): (WritableKeyPath<DownloadOptions, Options>, WritableKeyPath<Options, Value>) = (path, option)
          changes.set(group.appending(path: part), newValue) { [path] in $0[keyPath: path][keyPath: option] = $1 }
        }
      }
    }

    private struct Option: @unchecked Sendable, Hashable {
      // Sendable because its parts are: appending two paths forgets that.
      let path: PartialKeyPath<DownloadOptions>
    }

    private struct Change: Sendable, Hashable {
      let value: any Hashable & Sendable
      let apply: @Sendable (inout DownloadOptions) -> Void

      static func == (left: Change, right: Change) -> Bool { AnyHashable(left.value) == AnyHashable(right.value) }
      func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(value)) }
    }
  }
}

extension DownloadOptions.Changes.Group<DownloadOptions.Connection> {
  /// The options of TLS.
  public var tls: DownloadOptions.Changes.Group<DownloadOptions.TLS> {
    get { .init(changes: changes, path: \.connection.tls) }
    set { changes = newValue.changes }
  }
}
