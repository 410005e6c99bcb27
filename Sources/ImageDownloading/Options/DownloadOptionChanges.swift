extension DownloadOptions {
  /// Changes of single options for one request; the others stay as its manager has them.
  ///
  /// ```
  /// request.options.timeout = .seconds(5)
  /// request.options.headers = [.init("Accept-Language", "de")]
  /// ```
  /// Each option of ``DownloadOptions`` can be set; reading one gives nil unless it was set. Headers are added to those of the manager,
  /// and replace those of the same name.
  @dynamicMemberLookup
  public struct Changes: Sendable, Hashable {
    private struct Change: Sendable, Hashable {
      let option: any PartialKeyPath<DownloadOptions> & Sendable
      let value: any Hashable & Sendable
      let apply: @Sendable (inout DownloadOptions) -> Void

      static func == (left: Change, right: Change) -> Bool {
        left.option as AnyKeyPath == right.option as AnyKeyPath && AnyHashable(left.value) == AnyHashable(right.value)
      }

      func hash(into hasher: inout Hasher) {
        hasher.combine(option as AnyKeyPath)
        hasher.combine(AnyHashable(value))
      }
    }

    /// One per changed option.
    private var changes: Set<Change> = []

    /// Creates no changes.
    public init() {}

    /// Creates changes by `change`.
    public init(_ change: (inout Changes) -> Void) {
      self.init()
      change(&self)
    }

    public subscript<Value: Hashable & Sendable>(
      dynamicMember option: any WritableKeyPath<DownloadOptions, Value> & Sendable
    ) -> Value? {
      get { value(of: option) }
      set { set(option, newValue) { $0[keyPath: option] = $1 } }
    }

    /// Headers that are added to the manager's, or replace those of the same name.
    public subscript(dynamicMember option: any WritableKeyPath<DownloadOptions, [HeaderField]> & Sendable) -> [HeaderField]? {
      get { value(of: option) }
      set {
        set(option, newValue) { options, headers in
          let isChanged = { (name: String) in headers.contains { $0.name.equalsIgnoringCase(name) } }
          options[keyPath: option] = options[keyPath: option].filter { !isChanged($0.name) } + headers
          options.removedHeaders.removeAll(where: isChanged)
        }
      }
    }

    private func value<Value>(of option: any WritableKeyPath<DownloadOptions, Value> & Sendable) -> Value? {
      changes.first { $0.option as AnyKeyPath == option }?.value as? Value
    }

    private mutating func set<Value: Hashable & Sendable>(
      _ option: any WritableKeyPath<DownloadOptions, Value> & Sendable,
      _ value: Value?,
      _ apply: @escaping @Sendable (inout DownloadOptions, Value) -> Void
    ) {
      changes = changes.filter { $0.option as AnyKeyPath != option }
      if let value { changes.insert(Change(option: option, value: value) { apply(&$0, value) }) }
    }

    /// What is wrong with the changed options; nil if they can be used.
    package var invalidReason: String? { changes.isEmpty ? nil : applied(to: DownloadOptions()).invalidReason }

    /// Applies the changes to `options`.
    public func applied(to options: DownloadOptions) -> DownloadOptions {
      changes.isEmpty ? options : options.with { options in for change in changes { change.apply(&options) } }
    }
  }
}
